"""Repeat published splits of MobileNetV2 over microcontrollers.

The authors of arXiv 2507.16594 use ESP32-S3 boards, and cut MobileNetV2 after block_16_project_BN. According to the
abstract, the first board sends a tensor of 5.66 kB. MobileNetV2 of width 0.35 at 224 x 224 pixels has a tensor of 7 x 7
x 112 = 5488 bytes.

The authors of arXiv 2605.09357 use Teensy 4.1 boards, and split the kernels of MobileNetV2 1.0 at 224 x 224 pixels. The
paper's repository (shashsuresh/split-inference-on-MCUs at a87238b, MCU_code/Lines) lists the bytes that each of three
devices reads and computes in each layer. For each layer, the script adds the input bytes and the output bytes of a
device, and takes the largest sum as the device's RAM. tflm-memopt splits all layers by channels.

Weights are random, because the number of sent bytes does not depend on the weights. Each device is simulated by a
process that runs TFLM. The processes communicate over loopback.
"""

import tempfile
from pathlib import Path
from typing import Any

from int8_models import Builder
from papers.joint_memory.classifiers import added, mobilenet_v2

import tflm_memopt
from tflm_memopt.api import optimize_planned
from tflm_memopt.cli.devices import device_files
from tflm_memopt.convert.request import request
from tflm_memopt.devices.network import Network, cut
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned

SIDE = 224
ESP32_SENT = 5660
TEENSY_READS = (4_259_662, 4_259_863, 4_259_487)
TEENSY_MAPS = 602_113


def verified(model: bytes, shared: tflm_memopt.OptimizedDevices) -> dict[str, Any]:
    report = shared.report
    with tempfile.TemporaryDirectory() as name:
        for number, one in enumerate(shared.models):
            path = Path(name) / f"device{number}" / "model.tflite"
            path.parent.mkdir()
            path.write_bytes(one.model)
        found = tflm_memopt.verify_devices(model, device_files(Path(name)), runs=1)
    said = [(found.runs * d.sent, found.runs * d.received) for d in report.devices]
    return {
        "bit_exact": found.bit_exact,
        "as_predicted": [(d.sent, d.received) for d in found.devices] == said,
        "arena": [d.arena.total for d in report.devices],
        "sent": [d.sent for d in report.devices],
        "received": [d.received for d in report.devices],
    }


def mobilenet(width: float) -> bytes:
    net = Builder()
    return net.model(added(net, net.input((1, SIDE, SIDE, 3)), mobilenet_v2(width)))


def in_two() -> dict[str, Any]:
    model = mobilenet(0.35)
    graph = read(model).graph
    last = graph.ops[-3]
    shared = tflm_memopt.optimize_devices(model, 2, cut=[last.index])
    return verified(model, shared) | {"tensor": graph.tensors[last.inputs[0]].nbytes}


def by_kernels() -> dict[str, Any]:
    model = mobilenet(1.0)
    network = Network(model, "mobilenet", request({}), optimized)
    return verified(model, network.converted(cut(network.graph, 0, len(network.graph.ops)), 3))


def optimized(data: bytes, name: str, _limited: bool) -> tuple[tflm_memopt.Optimized, Planned | None]:
    return optimize_planned(data, name=name, if_worthwhile=False)
