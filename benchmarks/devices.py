"""Measure networks on several devices: memory and messages of each, and that their outputs equal the original's.

    python benchmarks/devices.py MODEL.tflite... [--devices 2 3 4] [--runs N] [--json]

Every device is a process of its own with its own file alone, linked over loopback, under TFLM. Arenas: ilp32, total,
input in the arena of device 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tflm_memopt


def row(model: Path, devices: int, runs: int) -> dict[str, Any]:
    """One network on a number of devices."""
    shared = tflm_memopt.optimize_devices(model, devices)
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / f"device{n}" / model.name for n in range(devices)]
        for path, one in zip(paths, shared.models, strict=True):
            path.parent.mkdir()
            path.write_bytes(one.model)
        found = tflm_memopt.verify_devices(model, paths, runs=runs)
    report, one = shared.report, tflm_memopt.optimize(model).report
    largest = max(d.arena.total + d.flash for d in report.devices)
    return {
        "model": model.stem,
        "devices": devices,
        "bit_exact": found.bit_exact,
        "failure": found.failure,
        "arena": [d.arena.total for d in report.devices],
        "arena_of_one": one.arena.total,
        "flash": [d.flash for d in report.devices],
        "flash_of_one": one.flash.rewritten,
        "largest": largest,
        "largest_of_one": round(largest / (one.arena.total + one.flash.rewritten), 4),
        "split_weights": [n * devices / max(report.original_split_weights, 1) for n in report.split_weights],
        "operators": {
            "rows": len(report.rows),
            "channels": len(report.channels),
            "inputs": len(report.inputs),
            "whole": len(report.whole),
        },
        "sent": [d.sent for d in report.devices],
        "received": [d.received for d in report.devices],
        "as_predicted": [(d.sent, d.received) for d in found.devices]
        == [(found.runs * d.sent, found.runs * d.received) for d in report.devices],
        "heads_as_predicted": [d.arena.head for d in found.devices] == [d.arena.head for d in report.devices],
        "room": report.room,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL.tflite")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 3, 4], metavar="N")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="random inputs, beside three extreme ones")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    rows = [row(model, n, args.runs) for model in args.models for n in args.devices]
    for found in rows:
        print(json.dumps(found) if args.json else "  ".join(f"{key} {value}" for key, value in found.items()))
    return 0 if all(found["bit_exact"] and found["as_predicted"] for found in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
