"""Compares published splits of MobileNetV2 over microcontrollers with the same splits here.

    python benchmarks/papers/fused_tiling/split_networks.py [--runs N] [--json]

- ESP32-S3: arXiv 2507.16594 cuts MobileNetV2 after block_16_project_BN, and sends a tensor of 5.66 kB (abstract). It
does not state the width; at 0.35 and 224 x 224, this tensor has that size: 7 x 7 x 112 bytes.
- Teensy 4.1: arXiv 2605.09357 splits the kernels of MobileNetV2 1.0 at 224 x 224 among microcontrollers. Its repository
(shashsuresh/split-inference-on-MCUs at a87238b, MCU_code/Lines) lists the bytes that each of three devices reads and
computes in each of 53 layers. What a device reads comes from all three. Here, all layers are split by channels. A
device's RAM follows from those lists as a layer's input and output.

Weights are random: bytes do not depend on them. Every device is a process with its own file alone, linked over
loopback, under TFLM; all bytes of the output are compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import int8_models

import tflm_memopt
from tflm_memopt.api import optimize_planned
from tflm_memopt.cli.devices import device_files
from tflm_memopt.convert.request import request
from tflm_memopt.devices.network import Network, cut
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned

BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels, number of blocks, and stride of the first block: Sandler et al., Table 2."""
CLASSES = 1000
ESP32_SENT = 5660
TEENSY_READS = (4_259_662, 4_259_863, 4_259_487)
"""Bytes that each of three devices reads in the layers after the first."""
TEENSY_MAPS = 602_113
"""Size of the largest pair of a layer's input and output."""


def mobilenet_v2(width: float, side: int) -> tuple[list[dict[str, Any]], int]:
    """Return the layers as int8_models.py reads them, and the number of the layer after block_16_project."""
    layers: list[dict[str, Any]] = []

    def add(kind: str, channels: int, kernel: int = 1, stride: int = 1, **more: Any) -> None:
        h, c = (layers[-1]["ho"], layers[-1]["cout"]) if layers else (side, 3)
        geometry = {"k": (kernel, kernel), "s": (stride, stride), "p": (kernel // 2, kernel // 2)}
        out = 1 if kind in ("gap", "fc") else (h - 1) // stride + 1
        sizes = {"h": h, "w": h, "cin": c, "ho": out, "wo": out, "cout": channels}
        layers.append({"name": f"{kind}{len(layers)}", "type": kind, **geometry, **sizes, **more})

    add("conv", divisible(32 * width), 3, 2)
    for expansion, channels, times, first in BLOCKS:
        for n in range(times):
            stride, read, made = first if n == 0 else 1, layers[-1]["cout"], divisible(channels * width)
            start = len(layers)
            if expansion > 1:
                add("pw", expansion * read)
            add("dw", expansion * read, 3, stride)
            add("pw", made)
            if stride == 1 and made == read:
                add("add", made, skip=start)
    cut_at = len(layers)
    add("pw", max(1280, divisible(1280 * width)))
    add("gap", layers[-1]["cout"])
    add("fc", CLASSES)
    return layers, cut_at


def divisible(channels: float, by: int = 8) -> int:
    """Return the nearest multiple, at most a tenth below, as the published networks round their widths."""
    near = max(by, int(channels + by / 2) // by * by)
    return near if near >= 0.9 * channels else near + by


def verified(model: bytes, shared: tflm_memopt.OptimizedDevices, runs: int) -> dict[str, Any]:
    """Return the memory and the bytes sent of the devices, and whether a run on processes agrees."""
    report = shared.report
    with tempfile.TemporaryDirectory() as name:
        for number, one in enumerate(shared.models):
            path = Path(name) / f"device{number}" / "model.tflite"
            path.parent.mkdir()
            path.write_bytes(one.model)
        found = tflm_memopt.verify_devices(model, device_files(Path(name)), runs=runs)
    said = [(found.runs * d.sent, found.runs * d.received) for d in report.devices]
    return {
        "devices": len(report.devices),
        "bit_exact": found.bit_exact,
        "as_predicted": [(d.sent, d.received) for d in found.devices] == said,
        "arena": [d.arena.total for d in report.devices],
        "flash": [d.flash for d in report.devices],
        "sent": [d.sent for d in report.devices],
        "received": [d.received for d in report.devices],
    }


def in_two(width: float = 0.35, side: int = 224, runs: int = 1) -> dict[str, Any]:
    """Return the cut after block_16_project."""
    model, at, tensor = cut_network(width, side)
    shared = tflm_memopt.optimize_devices(model, 2, cut=[at])
    return verified(model, shared, runs) | {"network": f"MobileNetV2 {width:g}, {side}", "tensor": tensor}


def cut_network(width: float, side: int) -> tuple[bytes, int, int]:
    """Return the model, the first operator after block_16_project, and the bytes of that operator's input."""
    layers, at = mobilenet_v2(width, side)
    model = int8_models.from_layers(layers)
    return model, first_behind(model, layers, at), layers[at]["h"] ** 2 * layers[at]["cin"]


def first_behind(model: bytes, layers: Sequence[Any], at: int) -> int:
    """Return the operator of a layer. PADs may precede it."""
    return len(read(model).graph.ops) - (len(layers) - at)


def by_kernels(width: float = 1.0, side: int = 224, devices: int = 3, runs: int = 1) -> dict[str, Any]:
    """Return the split of every layer by channels."""
    layers, _ = mobilenet_v2(width, side)
    model = int8_models.from_layers(layers)
    network = Network(model, "mobilenet", request({}), optimized)
    shared = network.converted(cut(network.graph, 0, len(network.graph.ops)), devices)
    return verified(model, shared, runs) | {"network": f"MobileNetV2 {width:g}, {side}"}


def optimized(data: bytes, name: str, _limited: bool) -> tuple[tflm_memopt.Optimized, Planned | None]:
    return optimize_planned(data, name=name, if_worthwhile=False)


def text(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Return a table with the published rows first."""
    yield "| network | split | devices | sent by each | RAM of each | bit-exact |"
    yield "|---|---|---:|---:|---:|---|"
    yield f"| MobileNetV2 | ESP32-S3, as published: behind block_16_project | 2 | {ESP32_SENT:,}, ? | ? | |"
    reads = " / ".join(f"{n:,}" for n in TEENSY_READS)
    yield f"| MobileNetV2 1, 224 | Teensy 4.1, as published: kernels | 3 | reads {reads} | maps: {TEENSY_MAPS:,} | |"
    for row in rows:
        split = f"behind block_16_project, a tensor of {row['tensor']:,}" if "tensor" in row else "channels"
        sent, arena = (" / ".join(f"{n:,}" for n in row[key]) for key in ("sent", "arena"))
        exact = "yes" if row["bit_exact"] and row["as_predicted"] else "NO"
        yield f"| {row['network']} | here: {split} | {row['devices']} | {sent} | {arena} | {exact} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="random inputs, beside three extreme ones")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    rows = [in_two(runs=args.runs), in_two(side=144, runs=args.runs), by_kernels(runs=args.runs)]
    for line in map(json.dumps, rows) if args.json else text(iter(rows)):
        print(line, flush=True)
    return 0 if all(row["bit_exact"] and row["as_predicted"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
