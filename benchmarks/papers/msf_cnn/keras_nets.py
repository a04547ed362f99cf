"""Make layer lists of Keras' MobileNetV2 for int8_models.from_layers()."""

from typing import Any

STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Blocks of MobileNetV2: expansion, channels, number of blocks, stride of the first block (Sandler et al., Table 2)."""
LAST = 1280
"""Number of channels of the last convolution if the width is at most 1."""


def mobilenet_v2(size: int, width: float, classes: int = 1000) -> list[dict[str, Any]]:
    """Return the layers of keras.applications.MobileNetV2(input_shape=(size, size, 3), alpha=width) without its
    softmax. Keras rounds channels to multiples of 8. The first block has no expansion. With a stride of 2, Keras pads
    an even map only at the end.
    """
    net = _Net(size)
    net.conv("conv", 3, 2, rounded(32 * width))
    for expansion, channels, blocks, stride in STAGES:
        for block in range(blocks):
            start, source = len(net.layers), net.channels
            step, out = stride if block == 0 else 1, rounded(channels * width)
            if expansion > 1:
                net.conv("pw", 1, 1, expansion * source)
            net.conv("dw", 3, step, net.channels)
            net.conv("pw", 1, 1, out)
            if step == 1 and source == out:
                net.layer("add", 1, 1, 0, net.size, out, skip=start)
    net.conv("pw", 1, 1, LAST)
    net.layer("gap", net.size, 1, 0, 1, LAST)
    net.layer("fc", 1, 1, 0, 1, classes)
    return net.layers


def rounded(channels: float, to: int = 8) -> int:
    """Round to the nearest multiple of 8 that is at most a tenth smaller.

    >>> rounded(0.35 * 96), rounded(0.35 * 24)
    (32, 8)
    """
    nearest = max(to, int(channels + to / 2) // to * to)
    return nearest + to if nearest < 0.9 * channels else nearest


class _Net:
    def __init__(self, size: int) -> None:
        self.layers: list[dict[str, Any]] = []
        self.size, self.channels = size, 3

    def conv(self, kind: str, kernel: int, stride: int, channels: int) -> None:
        pad = kernel // 2 if stride == 1 or self.size % 2 else 0
        self.layer(kind, kernel, stride, pad, -(-self.size // stride), channels)

    def layer(self, kind: str, kernel: int, stride: int, pad: int, out: int, channels: int, **more: int) -> None:
        window = {"k": [kernel, kernel], "s": [stride, stride], "p": [pad, pad]}
        source = {"h": self.size, "w": self.size, "cin": self.channels}
        result = {"ho": out, "wo": out, "cout": channels}
        self.layers.append({"name": f"{kind}{len(self.layers)}", "type": kind, **window, **source, **result, **more})
        self.size, self.channels = out, channels
