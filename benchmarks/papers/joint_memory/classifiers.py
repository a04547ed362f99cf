"""Build the image classifiers of Table 6.6 of Minakova's thesis as int8 models with random weights.

The networks have the layers of the published networks. A network is a list of functions that add layers, so that the
network can be cut into partitions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from int8_models import SCALE, Builder

SIDE, CLASSES = 224, 1000
Stage = Callable[[Builder, int], int]
MOBILENET_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Rows of Sandler et al., Table 2: expansion, channels, number of blocks, and stride of the first block."""


def conv(channels: int, kernel: int = 1, stride: int = 1) -> Stage:
    return lambda net, x: net.same(x, channels, kernel, stride)


def classify(net: Builder, x: int) -> int:
    return net.dense(net.mean(x, (1, 2), keep=False), CLASSES)


def separable(channels: int, stride: int) -> Stage:
    return lambda net, x: net.same(net.same(x, net.shape(x)[3], 3, stride, depthwise=True), channels)


def inverted(channels: int, stride: int, expand: int, kernel: int = 3, *, squeeze: bool = False) -> Stage:
    """Add an inverted bottleneck, with a residual if the shapes allow one."""

    def stage(net: Builder, x: int) -> int:
        deep = net.shape(x)[3]
        wide = net.same(x, expand * deep) if expand > 1 else x
        y = net.same(wide, expand * deep, kernel, stride, depthwise=True)
        if squeeze:
            gate = net.same(net.same(net.mean(y, (1, 2)), max(1, deep // 4)), expand * deep)
            y = net.binary("MUL", y, gate, out=(3 * SCALE, 0))
        y = net.same(y, channels)
        return net.add(y, x) if stride == 1 and channels == deep else y

    return stage


def added(net: Builder, x: int, stages: Iterable[Stage]) -> int:
    for stage in stages:
        x = stage(net, x)
    return x


def mobilenet_v1(width: float) -> Iterator[Stage]:
    yield conv(int(32 * width), 3, 2)
    for channels, stride in (
        (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1),
    ):  # fmt: skip
        yield separable(int(channels * width), stride)
    yield classify


def rounded(channels: float, to: int = 8) -> int:
    """Round to the nearest multiple of `to`, or up if the nearest multiple is below 90 % of `channels`.

    >>> rounded(0.35 * 96), rounded(0.35 * 24)
    (32, 8)
    """
    nearest = max(to, int(channels + to / 2) // to * to)
    return nearest + to if nearest < 0.9 * channels else nearest


def mobilenet_v2(width: float = 1.0) -> Iterator[Stage]:
    """Return the layers of Keras' network, whose numbers of channels are multiples of 8."""
    yield conv(rounded(32 * width), 3, 2)
    for expand, channels, count, stride in MOBILENET_V2:
        for i in range(count):
            yield inverted(rounded(channels * width), 1 if i else stride, expand)
    yield conv(1280)
    yield classify


def efficientnet_b0() -> Iterator[Stage]:
    yield conv(32, 3, 2)
    for expand, channels, count, stride, kernel in (
        (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ):  # fmt: skip
        for i in range(count):
            yield inverted(channels, 1 if i else stride, expand, kernel, squeeze=True)
    yield conv(1280)
    yield classify


NETWORKS: Mapping[str, Callable[[], Iterator[Stage]]] = {
    "MobileNet V2 1.0": mobilenet_v2,
    "EfficientNet B0": efficientnet_b0,
}


def partitions(name: str, count: int = 1) -> list[bytes]:
    stages = list(NETWORKS[name]())
    ends = [len(stages) * (i + 1) // count for i in range(count)]
    shape: Sequence[int] = (1, SIDE, SIDE, 3)
    found = []
    for first, end in zip([0, *ends], ends, strict=False):
        net = Builder()
        x = added(net, net.input(shape), stages[first:end])
        shape = net.shape(x)
        found.append(net.model(x))
    return found
