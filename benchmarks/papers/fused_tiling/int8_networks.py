"""Plan the networks of Table 5.1 of Stahl's thesis as int8 models on ten devices.

The networks have darknet's layers and random weights. The first layers are split by rows, and all later layers by
channels. As in the thesis, an integer program chooses the first layer that is split by channels. For one device, the
script adds the bytes of the arena and of the model file (1 MB is 10^6 bytes). The sizes in the thesis are bytes of
float32 values, and do not include the weights of dense layers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from int8_models import Builder
from moving import concatenation, space_to_depth
from papers.fused_tiling.split_networks import optimized

from tflm_memopt.convert.request import request
from tflm_memopt.devices.choice import shared_layers
from tflm_memopt.devices.network import Network

DEVICES = 10
Layer = Callable[[Builder, Sequence[int]], int]
"""Function that adds a layer to a network and returns the layer's output."""


def conv(channels: int, kernel: int, stride: int = 1, pad: int | None = None) -> Layer:
    margin = kernel // 2 if pad is None else pad

    def add(net: Builder, made: Sequence[int]) -> int:
        if stride == 1 and margin == kernel // 2:
            return net.same(made[-1], channels, kernel)
        out = (net.shape(made[-1])[1] + 2 * margin - kernel) // stride + 1
        return net.padded(made[-1], channels, *((n, n) for n in (kernel, stride, margin, out)))

    return add


def pool(kernel: int = 2) -> Layer:
    padding = "SAME" if kernel == 2 else "VALID"
    return lambda net, made: net.pool(made[-1], kind="MAX_POOL_2D", kernel=(kernel, kernel), padding=padding)


def dense(units: int) -> Layer:
    return lambda net, made: net.dense(made[-1], units)


def route(*layers: int) -> Layer:
    """Concatenate the outputs of layers. The argument `layers` lists the layers by their numbers in darknet, where the
    first layer has the number 0.
    """
    return lambda net, made: concatenation(net, [made[1 + n] for n in layers], 3)


def nothing(_: Builder, made: Sequence[int]) -> int:
    """A layer such as dropout computes nothing in an inference, so the model has no operator for the layer."""
    return made[-1]


def bottleneck(*channels: int) -> list[Layer]:
    return [conv(c, 3 if c == max(channels) else 1) for c in channels]


CLASSIFIER = [dense(4096), nothing, dense(4096), nothing, dense(1000), lambda net, made: net.softmax(made[-1])]
YOLO = [
    conv(32, 3), pool(), conv(64, 3), pool(), *bottleneck(128, 64, 128), pool(), *bottleneck(256, 128, 256), pool(),
    *bottleneck(512, 256, 512, 256, 512), pool(), *bottleneck(1024, 512, 1024, 512, 1024), conv(1024, 3),
    conv(1024, 3), lambda _, made: made[17], conv(64, 1), lambda net, made: space_to_depth(net, made[-1], 2),
    route(27, 24), conv(1024, 3), conv(425, 1),
]  # fmt: skip
ALEX = [
    conv(96, 11, 4, 0), pool(3), conv(256, 5), pool(3), conv(384, 3), conv(384, 3), conv(256, 3), pool(3), *CLASSIFIER,
]  # fmt: skip
VGG = [
    *(conv(64, 3),) * 2, pool(), *(conv(128, 3),) * 2, pool(), *(conv(256, 3),) * 3, pool(),
    *(conv(512, 3),) * 3, pool(), *(conv(512, 3),) * 3, pool(), *CLASSIFIER,
]  # fmt: skip
GOOGLE = [
    conv(64, 7, 2), pool(), conv(192, 3), pool(), *bottleneck(128, 256), *bottleneck(256, 512), pool(),
    *bottleneck(256, 512) * 4, *bottleneck(512, 1024), pool(), *bottleneck(512, 1024) * 2, conv(1000, 1),
    lambda net, made: net.mean(made[-1], (1, 2), keep=False), lambda net, made: net.softmax(made[-1]),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Published:
    layers: Sequence[Layer]
    side: int
    single: float
    each: float
    """Megabytes on each device in Table 5.1, which has ten devices."""


NETWORKS: Mapping[str, Published] = {
    "YOLOv2": Published(YOLO, 608, 256, 28.4),
    "AlexNet": Published(ALEX, 227, 16.8, 2.65),
    "VGG-16": Published(VGG, 224, 84.5, 13.2),
    "GoogLeNet": Published(GOOGLE, 224, 97.5, 12.2),
}


def row(name: str) -> dict[str, int]:
    """Return the size in bytes of the original model, of the rewritten model on one device, and of the largest part on
    ten devices.
    """
    net = Builder()
    made = [net.input((1, NETWORKS[name].side, NETWORKS[name].side, 3))]
    for layer in NETWORKS[name].layers:
        made.append(layer(net, made))
    network = Network(net.model(made[-1]), name, request({}), optimized)
    report, alone = shared_layers(network, DEVICES).report, network.alone.report
    largest = max(d.arena.total + d.flash for d in report.devices)
    original = report.original_arena.total + report.original_flash
    return {"TFLM": original, "one": alone.arena.total + alone.flash, "ten": largest}
