"""Rewrite msf-CNN's networks as int8 models for several limits of multiply-accumulates, and compare the output bytes
under TFLM.

As in msf-CNN, the column "counted" has the bytes from the lowest to the highest address of all buffers except the
network's input and output. The column "searched" has the bytes that a search over the layers' shapes predicts for the
same limit (nets.py). All other columns with bytes are TFLM's arena on a microcontroller with 32-bit pointers.
"""

from collections.abc import Iterator
from pathlib import Path

from int8_models import from_layers
from papers.msf_cnn.nets import Layers, at, chain, settings, tiled_front
from papers.msf_cnn.nets import read as read_nets
from tables import markdown

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Plan, Role

BUDGETS = (1.0, 1.1, 4.0)
RUNS = 3

COLUMNS = (
    "net", "F ≤", "F", "searched", "**counted**", "head", "tail", "total", "TFLM today", "same bytes",
)  # fmt: skip


def rows(name: str, layers: Layers) -> Iterator[list[str]]:
    """Raises RuntimeError if an output byte differs under TFLM."""
    net, data = chain(layers), from_layers(layers)
    macs, graph = sum(op.macs for op in net.ops), read(data).graph
    points = tiled_front(net, settings(name))
    for budget in BUDGETS:
        result = tflm_memopt.optimize(data, name=name, input="external", max_macs=budget)
        verification = tflm_memopt.verify(data, result.model, runs=RUNS)
        if result.plan is None or not verification.bit_exact:
            raise RuntimeError(f"{name}: {result.report.why_unchanged or 'outputs differ'}")
        arena, found = result.report.arena, at(points, macs, budget)
        nbytes = counted(result.plan, {*graph.inputs, *graph.outputs})
        sizes = arena.head, arena.tail, arena.total, result.report.original_arena.total
        yield [
            name, "any" if budget >= BUDGETS[-1] else f"{budget:g}", f"{result.report.overhead:.3f}",
            f"{found.nbytes:,}" if found else "-", f"**{nbytes:,}**", *(f"{n:,}" for n in sizes),
            f"yes, {verification.tried} runs",
        ]  # fmt: skip


def counted(plan: Plan, free: set[int]) -> int:
    spans = [(o, o + b.nbytes) for b, o in plan.placed() if b.role is not Role.TENSOR or b.key not in free]
    return max(end for _, end in spans) - min(start for start, _ in spans)


def table(folder: Path) -> str:
    nets = {name: layers for name, layers in read_nets(folder).items() if "chain" not in name}
    return markdown(COLUMNS, (row for name, layers in nets.items() for row in rows(name, layers)))
