"""Compute the example and Table 5.1 of chapter 5 of Stahl's thesis, which divides an inference among several devices.

Table 5.1 has float32 networks from darknet's layer lists, in MB of 10^6 bytes. Like the thesis, the script counts no
weights of dense layers, and no buffers of layers without weights. The script lacks Table 5.2, because no choice of
layers gave its figures.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from papers.fused_tiling.splits import LayerSplit, SplitLayer, plans, sent

from tflm_memopt.devices.switch import footprint, least_memory

FDTO, FDTI, FDT1, FDT2 = LayerSplit
FLOAT, MB = 4, 1e6


EXAMPLE = tuple(SplitLayer(m, k, m * k) for m, k in ((4, 8), (8, 16), (16, 4), (4, 4)))
PLANS: Mapping[str, tuple[LayerSplit, ...]] = {
    "FDTO": (FDTO,) * 4, "FDTI": (FDTI,) * 4, "FDT twice": (FDT1, FDT2) * 2, "OWP": (FDTO, FDT1, FDT2, FDTO),
}  # fmt: skip
"""Ways to split the thesis' example of four layers between two devices."""


def example() -> dict[str, int]:
    return {name: int(sent(EXAMPLE, plan, 2)) for name, plan in PLANS.items()} | {"least": int(plans(EXAMPLE, 2)[0][0])}


@dataclass(frozen=True, slots=True)
class Line:
    kind: str
    channels: int = 0
    kernel: int = 1
    stride: int = 1
    pad: int = 0
    of: tuple[int, ...] = ()


def conv(channels: int, kernel: int, stride: int = 1, pad: int | None = None) -> Line:
    return Line("conv", channels, kernel, stride, kernel // 2 if pad is None else pad)


def pool(kernel: int = 2) -> Line:
    return Line("pool", kernel=kernel, stride=2)


def dense(units: int) -> Line:
    return Line("dense", units)


def bottleneck(*channels: int) -> list[Line]:
    return [conv(c, 3 if c == max(channels) else 1) for c in channels]


DROP, SOFTMAX = Line("dropout"), Line("softmax")
YOLO = [
    conv(32, 3), pool(), conv(64, 3), pool(), *bottleneck(128, 64, 128), pool(), *bottleneck(256, 128, 256), pool(),
    *bottleneck(512, 256, 512, 256, 512), pool(), *bottleneck(1024, 512, 1024, 512, 1024), conv(1024, 3),
    conv(1024, 3), Line("route", of=(16,)), conv(64, 1), Line("reorg"), Line("route", of=(27, 24)), conv(1024, 3),
    conv(425, 1), Line("region"),
]  # fmt: skip
ALEX = [
    conv(96, 11, 4, 0), pool(3), conv(256, 5), pool(3), conv(384, 3), conv(384, 3), conv(256, 3), pool(3),
    dense(4096), DROP, dense(4096), DROP, dense(1000), SOFTMAX,
]  # fmt: skip
VGG = [
    Line("crop"), *(conv(64, 3),) * 2, pool(), *(conv(128, 3),) * 2, pool(), *(conv(256, 3),) * 3, pool(),
    *(conv(512, 3),) * 3, pool(), *(conv(512, 3),) * 3, pool(), dense(4096), DROP, dense(4096), DROP, dense(1000),
    SOFTMAX,
]  # fmt: skip
GOOGLE = [
    conv(64, 7, 2), pool(), conv(192, 3), pool(), *bottleneck(128, 256), *bottleneck(256, 512), pool(),
    *bottleneck(256, 512) * 4, *bottleneck(512, 1024), pool(), *bottleneck(512, 1024) * 2, conv(1000, 1),
    Line("average"), SOFTMAX,
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Network:
    lines: Sequence[Line]
    side: int
    single: float
    """In Table 5.1, `single` is the megabytes of one device, and `full` the megabytes of each of ten devices."""
    full: float


NETWORKS: Mapping[str, Network] = {
    "YOLOv2": Network(YOLO, 608, 256, 28.4),
    "AlexNet": Network(ALEX, 227, 16.8, 2.65),
    "VGG-16": Network(VGG, 224, 84.5, 13.2),
    "GoogLeNet": Network(GOOGLE, 224, 97.5, 12.2),
}
DEVICES = 10


def layers(network: Network) -> tuple[SplitLayer, ...]:
    shapes: list[tuple[int, int]] = []
    side, channels = network.side, 3
    found = []
    for line in network.lines:
        read, deep = side * side * channels, channels
        match line.kind:
            case "conv":
                side, channels = (side + 2 * line.pad - line.kernel) // line.stride + 1, line.channels
            case "pool":
                side = math.ceil((side - line.kernel) / line.stride) + 1
            case "dense":
                side, channels = 1, line.channels
            case "average":
                side = 1
            case "reorg":
                side, channels = side // 2, 4 * channels
            case "route":
                side, channels = shapes[line.of[0]][0], sum(shapes[i][1] for i in line.of)
        shapes.append((side, channels))
        weights = line.kernel**2 * deep * channels if line.kind == "conv" else 0
        held = (read, side * side * channels) if line.kind in ("conv", "dense") else (0, 0)
        found.append(SplitLayer(*held, weights))
    return tuple(found)


def megabytes(elements: Fraction | int) -> float:
    return round(FLOAT * float(elements) / MB, 4)


def table(name: str) -> tuple[float, float]:
    of = layers(NETWORKS[name])
    return megabytes(footprint(of, 0, 1)), megabytes(footprint(of, least_memory(of, DEVICES), DEVICES))
