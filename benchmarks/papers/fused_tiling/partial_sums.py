"""Bytes saved by partial sums: all layers with weights split by fan-out, compared with fan-in for layers that then send
less.

    python benchmarks/papers/fused_tiling/partial_sums.py MODEL.tflite... [--devices 2 3 4] [--json]

A partial sum is sent with as many bytes as its bound needs; the bound follows from the weights of a device's channels
and any int8 input. The first table is planned by the second integer program (splits.py), without message heads: layers
are consecutive convolutions and dense layers, and operators between two layers run where their channels are. It omits
the first layers, which share rows, because neither plan splits their weights. The second table has all messages of
`optimize --devices` including heads, which benchmarks/devices.py sends.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from papers.fused_tiling.splits import LayerSplit, SplitLayer, least_sent, sent

from tflm_memopt.devices.network import bytes_sent, chosen, layer, with_fan_in
from tflm_memopt.devices.shares import OUTPUTS_SPLIT, Way, bounds
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import read
from tflm_memopt.ops.partial import bytes_of, sum_range
from tflm_memopt.rewrite.parts import data_of


def sum_bytes(graph: Graph, op: Op, devices: int) -> int:
    """Return the bytes of any partial sum of a layer as a signed number, if its input channels are split evenly."""
    weights, zero = data_of(graph, op.inputs[1]), graph.tensors[op.inputs[0]].quantization.zero_point[0]
    ranges = [sum_range(weights[..., first:end], int(zero)) for first, end in bounds(weights.shape[-1], devices)]
    return max(bytes_of(int(low.min()), int(high.max())) for low, high in ranges)


def layers(graph: Graph, devices: int) -> list[SplitLayer]:
    """Return the layers that split weights. The output of each is the next layer's input, since devices share the
    channels in between. Its sums are those of its own output: operators in between run after the sums are added and
    scaled.
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
    """One network on a number of devices."""
    graph = read(path.read_bytes()).graph
    how = chosen(graph, devices)
    with_sums = with_fan_in(graph, how, devices)
    found = layers(graph, devices)
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
        "sent_by_fan_out": int(bytes_sent(graph, how, devices)),
        "sent": int(bytes_sent(graph, with_sums, devices)),
        "in_sums": sum(way is Way.INPUTS for way in with_sums.values()),
    }


def text(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Return the results as a table."""
    yield (
        "| network | devices | layers | bytes of a sum | fan-out alone | with fan-in | layers of it "
        "| sent by fan-out alone | sent | layers in sums |"
    )
    yield f"|---|{9 * '---:|'}"
    for r in rows:
        sums = ", ".join(map(str, r["sum_bytes"]))
        yield (
            f"| {r['model']} | {r['devices']} | {r['layers']} | {sums} | {r['fan_out']:,} | {r['least']:,} "
            f"| {r['fan_in'] + r['fused']} | {r['sent_by_fan_out']:,} | {r['sent']:,} | {r['in_sums']} |"
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
