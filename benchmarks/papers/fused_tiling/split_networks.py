"""Compare published splits of MobileNetV2 over microcontrollers with the same splits made by tflm-memopt.

- ESP32-S3: arXiv 2507.16594 cuts MobileNetV2 after block_16_project_BN, and sends a tensor of 5.66 kB (abstract). The
paper does not state the width; with width 0.35 and 224 x 224 pixels, this tensor has 7 x 7 x 112 bytes, which is the
stated size.
- Teensy 4.1: arXiv 2605.09357 splits the kernels of MobileNetV2 1.0 at 224 x 224 among microcontrollers. The paper's
repository (shashsuresh/split-inference-on-MCUs at a87238b, MCU_code/Lines) lists the bytes that each of three devices
reads and computes in each of 53 layers. The RAM of a device follows from these lists as the largest sum of a layer's
input and output. In tflm-memopt's split, all layers are split by channels.

Weights are random, because the bytes sent do not depend on them. Every device is a process that has only its own file
and runs TFLM. The processes are linked over loopback, and all output bytes are compared.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import int8_models
from papers.msf_cnn.keras_nets import STAGES, rounded

import tflm_memopt
from tflm_memopt.api import optimize_planned
from tflm_memopt.cli.devices import device_files
from tflm_memopt.convert.request import request
from tflm_memopt.devices.network import Network, cut
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned

SIDE, CLASSES = 224, 1000
ESP32_SENT = 5660
TEENSY_READS = (4_259_662, 4_259_863, 4_259_487)
"""Bytes that each of three devices reads in the layers after the first."""
TEENSY_MAPS = 602_113
"""Bytes of the layer whose input and output are largest together."""


def mobilenet_v2(width: float, side: int) -> tuple[list[dict[str, Any]], int]:
    """Return the layers as int8_models.py reads them, and the number of the layer after block_16_project."""
    layers: list[dict[str, Any]] = []

    def add(kind: str, channels: int, kernel: int = 1, stride: int = 1, **more: Any) -> None:
        h, c = (layers[-1]["ho"], layers[-1]["cout"]) if layers else (side, 3)
        geometry = {"k": (kernel, kernel), "s": (stride, stride), "p": (kernel // 2, kernel // 2)}
        out = 1 if kind in ("gap", "fc") else (h - 1) // stride + 1
        sizes = {"h": h, "w": h, "cin": c, "ho": out, "wo": out, "cout": channels}
        layers.append({"name": f"{kind}{len(layers)}", "type": kind, **geometry, **sizes, **more})

    add("conv", rounded(32 * width), 3, 2)
    for expansion, channels, times, first in STAGES:
        for n in range(times):
            stride, read, made = first if n == 0 else 1, layers[-1]["cout"], rounded(channels * width)
            start = len(layers)
            if expansion > 1:
                add("pw", expansion * read)
            add("dw", expansion * read, 3, stride)
            add("pw", made)
            if stride == 1 and made == read:
                add("add", made, skip=start)
    cut_at = len(layers)
    add("pw", max(1280, rounded(1280 * width)))
    add("gap", layers[-1]["cout"])
    add("fc", CLASSES)
    return layers, cut_at


def verified(model: bytes, shared: tflm_memopt.OptimizedDevices) -> dict[str, Any]:
    """Run devices as processes. Return their memory and sent bytes, and whether the output equals the original's."""
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


def in_two() -> dict[str, Any]:
    """Cut MobileNetV2 of width 0.35 after block_16_project for two devices, and return the figures of the split."""
    layers, at = mobilenet_v2(0.35, SIDE)
    model = int8_models.from_layers(layers)
    first = len(read(model).graph.ops) - (len(layers) - at)  # The model may have PADs before layer `at`.
    shared = tflm_memopt.optimize_devices(model, 2, cut=[first])
    return verified(model, shared) | {"tensor": layers[at]["h"] ** 2 * layers[at]["cin"]}


def by_kernels() -> dict[str, Any]:
    """Split every layer of MobileNetV2 by channels among three devices, and return the figures of the split."""
    layers, _ = mobilenet_v2(1.0, SIDE)
    model = int8_models.from_layers(layers)
    network = Network(model, "mobilenet", request({}), optimized)
    return verified(model, network.converted(cut(network.graph, 0, len(network.graph.ops)), 3))


def optimized(data: bytes, name: str, _limited: bool) -> tuple[tflm_memopt.Optimized, Planned | None]:
    return optimize_planned(data, name=name, if_worthwhile=False)
