"""Whether partial sums pay, in bytes: all layers with weights by fan-out, beside the plan that sends least with fan-in.

    python benchmarks/partial_sums.py MODEL.tflite... [--devices 2 3 4] [--json]

A partial sum takes as many bytes on the way as its bound needs: what the weights of a device's channels can make of any
int8 input. Planned by the second integer program (tflm_memopt/plan/devices.py), without heads: no kernel makes partial
sums. Layers are convolutions and dense layers one behind the other; what lies between two of them runs where its
channels are. The layers in front that share rows are left out: neither plan splits their weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tflm_memopt.convert.devices import chosen, layer
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import read
from tflm_memopt.plan.devices import LayerSplit, SplitLayer, least_sent, sent
from tflm_memopt.rewrite.parts import data_of
from tflm_memopt.rewrite.shares import OUTPUTS_SPLIT, Way, bounds

INT8 = (-128, 127)


def sum_bytes(graph: Graph, op: Op, devices: int) -> int:
    """Bytes that any partial sum of a layer fits in, as a signed number, when its input channels are split evenly."""
    weights = data_of(graph, op.inputs[1]).astype(np.int64)
    zero = graph.tensors[op.inputs[0]].quantization.zero_point[0]
    least, most = (n - int(zero) for n in INT8)
    ends = np.stack([weights * least, weights * most]).reshape(2, weights.shape[0], -1, weights.shape[-1])
    low, high = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
    largest = 0
    for first, end in bounds(weights.shape[-1], devices):
        down, up = low[:, first:end].sum(axis=1).min(initial=0), high[:, first:end].sum(axis=1).max(initial=0)
        largest = max(largest, -int(down) - 1, int(up))
    return (largest.bit_length() + 8) // 8


def layers(graph: Graph, devices: int) -> list[SplitLayer]:
    """Those that split weights, each with what the next one reads as its output: channels are shared in between.

    Its sums are those of its own output: what lies in between runs when they are added up and scaled.
    """
    how = chosen(graph, devices)
    ops = [op for op in graph.ops if op.type in OUTPUTS_SPLIT and how[op.index] is Way.CHANNELS]
    sizes = [layer(graph, op) for op in ops]
    read = [*(a.reads for a in sizes[1:]), sizes[-1].makes] if sizes else []
    return [
        SplitLayer(a.reads, made, a.weights, sum_bytes(graph, op, devices), a.makes)
        for op, a, made in zip(ops, sizes, read, strict=True)
    ]


def row(path: Path, devices: int) -> dict[str, Any]:
    """One network on so many devices."""
    found = layers(read(path.read_bytes()).graph, devices)
    best = least_sent(found, devices)
    alone = [LayerSplit.FAN_OUT] * len(found)
    return {
        "model": path.stem,
        "devices": devices,
        "layers": len(found),
        "sum_bytes": sorted({a.sum_size for a in found}),
        "fan_out": int(sent(found, alone, devices)),
        "least": int(sent(found, best, devices)),
        "fan_in": sum(split is LayerSplit.FAN_IN for split in best),
        "fused": sum(split is LayerSplit.FUSED_IN for split in best),
    }


def text(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A table."""
    yield "| network | devices | layers | bytes of a sum | fan-out alone | with fan-in | layers of it |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for r in rows:
        sums = ", ".join(map(str, r["sum_bytes"]))
        yield (
            f"| {r['model']} | {r['devices']} | {r['layers']} | {sums} | {r['fan_out']:,} | {r['least']:,} "
            f"| {r['fan_in'] + r['fused']} |"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL.tflite")
    parser.add_argument("--devices", type=int, nargs="+", default=[2, 3, 4], metavar="N")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    rows = [row(model, n) for model in args.models for n in args.devices]
    for line in map(json.dumps, rows) if args.json else text(rows):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
