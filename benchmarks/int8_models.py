"""Make int8 .tflite models with given layer shapes and random weights.

Scales are chosen so that activations are seldom clamped and every channel influences the output. A PAD precedes a
convolution whose padding is not TFLite's SAME.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from models import Affine, Net, Pair
from numpy.typing import NDArray

SCALE = 0.05
WEIGHT_SPREAD = 127 / math.sqrt(3)
"""Standard deviation of random weights, which are uniform from -127 to 127."""


class Builder(Net):
    """The methods take and return indices of tensors. The outputs of all layers with weights have the same scale and
    zero point, so that they can be concatenated.
    """

    def same(
        self, x: int, channels: int, kernel: int | Pair = 1, stride: int | Pair = 1, *, depthwise: bool = False
    ) -> int:
        return self._convolution(x, channels, _pair(kernel), _pair(stride), "SAME", depthwise=depthwise)

    def padded(
        self, x: int, channels: int, kernel: Pair, stride: Pair, pad: Pair, out: Pair, *, depthwise: bool = False
    ) -> int:
        """The argument `pad` is the padding at the top and at the left. The argument `out` has the rows and columns of
        the output.
        """
        size = self.shape(x)[1:3]
        after = [max(0, (o - 1) * s + k - p - n) for o, s, k, p, n in zip(out, stride, kernel, pad, size, strict=True)]
        if any((*pad, *after)):
            x = self.pad(x, [(0, 0), *zip(pad, after, strict=True), (0, 0)])
        return self._convolution(x, channels, kernel, stride, "VALID", depthwise=depthwise)

    def _convolution(self, x: int, channels: int, kernel: Pair, stride: Pair, padding: str, *, depthwise: bool) -> int:
        if depthwise:
            return self.depthwise_conv2d(x, kernel=kernel, stride=stride, padding=padding)
        return self.conv2d(x, channels, kernel=kernel, stride=stride, padding=padding)

    def dense(self, x: int, units: int) -> int:
        return self.fully_connected(x, units, per_channel=True)

    def _filter(self, x: int, shape: Sequence[int], axis: int, per_channel: bool) -> tuple[int, NDArray[np.float32]]:
        """Return a filter with scales that make the outputs vary as much as the inputs."""
        taps = math.prod(shape) / shape[axis]
        spread = self.rng.uniform(0.7, 1.4, shape[axis]).astype(np.float32)
        product = spread * np.float32(SCALE / (WEIGHT_SPREAD * math.sqrt(taps)))
        scales = (product / np.float32(self.affine(x)[0])).tolist()
        return self.tensor(shape, data=self.rng.integers(-127, 128, shape), scales=scales, axis=axis), product

    def _sum_output(self, shape: Sequence[int], product: NDArray[np.float32], taps: int, out: Affine | None) -> int:
        return self.tensor(shape, affine=(SCALE, 0))


def _pair(sizes: int | Pair) -> Pair:
    return (sizes, sizes) if isinstance(sizes, int) else sizes


def from_layers(layers: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a model with the layers of a list, as in msf-CNN's JSON files.

    A layer is an object with the keys "name", "type", "k", "s", "p", "h", "w", "cin", "ho", "wo" and "cout". Kernel
    "k", stride "s" and padding "p" are [rows, columns]. A layer of the type "add" adds the input of an earlier layer,
    whose index is the key "skip".
    """
    net, first = Builder(), layers[0]
    read = [net.input((1, first["h"], first["w"], first["cin"]))]
    for layer in layers:
        read.append(_layer(net, layer, read))
    return net.model(read[-1])


def _layer(net: Builder, layer: Mapping[str, Any], read: Sequence[int]) -> int:
    x = read[-1]
    match layer["type"]:
        case "conv" | "pw" | "dw" as kind:
            geometry = layer["cout"], layer["k"], layer["s"], layer["p"], (layer["ho"], layer["wo"])
            return net.padded(x, *geometry, depthwise=kind == "dw")
        case "add":
            return net.add(x, read[layer["skip"]])
        case "gap":
            return net.mean(x, (1, 2), keep=False)
        case "avgpool":
            return net.pool(x, kernel=layer["k"], stride=layer["k"])
        case "fc":
            return net.dense(x, layer["cout"])
    raise ValueError(f"layer '{layer['name']}' has the unknown type '{layer['type']}'")
