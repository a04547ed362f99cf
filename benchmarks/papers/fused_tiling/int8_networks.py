"""Plan the networks of Table 5.1 of Stahl's thesis as int8 models on ten devices, or execute them with smaller images.

The networks have random weights, and devices.py lists their layers. The first layers are split by rows, and all later
layers by channels. As in the thesis, an integer program chooses the first layer that is split by channels. Each figure
is the size of a device's arena and model file, in MB. The thesis counts float32 values, without the weights of dense
layers.
"""

from collections.abc import Sequence
from typing import Any

from int8_models import Builder
from papers.fused_tiling import devices
from papers.fused_tiling.split_networks import optimized, verified
from papers.joint_memory.classifiers import SameZeroPoint

from tflm_memopt.convert.request import request
from tflm_memopt.devices.choice import shared_layers
from tflm_memopt.devices.network import Network

SIDES = {"YOLOv2": 96, "AlexNet": 99, "VGG-16": 64, "GoogLeNet": 64}


def model(name: str, side: int) -> bytes:
    net = SameZeroPoint()
    x = net.input((1, side, side, 3))
    made: list[int] = []
    for line in devices.NETWORKS[name].lines:
        x = _layer(net, line, x, made)
        made.append(x)
    return net.model(x)


def _layer(net: Builder, line: devices.Line, x: int, made: Sequence[int]) -> int:
    match line.kind:
        case "conv":
            out = (net.shape(x)[1] + 2 * line.pad - line.kernel) // line.stride + 1
            same = line.stride == 1 and line.pad == line.kernel // 2
            each = ((n, n) for n in (line.kernel, line.stride, line.pad, out))
            return net.conv(x, line.channels, *each, depthwise=False, same=same)
        case "pool":
            return net.pool(x, line.kernel, line.stride, average=False, same=line.kernel == 2)
        case "dense":
            return net.dense(x, line.channels)
        case "average":
            return net.mean(x)
        case "softmax":
            return net.softmax(x)
        case "reorg":
            return net.space_to_depth(x, 2)
        case "route":
            return net.concatenation([made[i] for i in line.of]) if len(line.of) > 1 else made[line.of[0]]
    return x


def row(name: str, *, execute: bool = False) -> dict[str, Any]:
    """If `execute` is set, the outputs are compared with the original's."""
    side = SIDES[name] if execute else devices.NETWORKS[name].side
    data = model(name, side)
    network = Network(data, name, request({}), optimized)
    shared = shared_layers(network, devices.DEVICES)
    report, alone = shared.report, network.alone.report
    original = report.original_arena.total + report.original_flash
    largest = max(d.arena.total + d.flash for d in report.devices)
    found = {"TFLM": original, "one": alone.arena.total + alone.flash, "ten": largest}
    return found | (verified(data, shared) if execute else {})
