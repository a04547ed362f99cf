"""Executes the plans of the frontier: int8 models of the layer lists are rewritten and run under TFLM, and bytes are
compared.

python benchmarks/papers/msf_cnn/executed.py --nets DIR [--update docs/benchmarks.md]

"counted" is msf-CNN's convention: the bytes from the lowest to the highest that anything but the network's input and
final output uses. "searched" is what nets.py says for the same budget from the geometry alone. The
rest is the arena as TFLM has it, 32-bit pointers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from int8_models import from_layers
from papers.msf_cnn.nets import Layers, at, chain, settings
from papers.msf_cnn.nets import read as read_nets
from papers.msf_cnn.tiled_front import tiled_front
from tables import markdown, page_parser, publish

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Plan, Role

BUDGETS = (1.0, 1.1, 4.0)
RUNS = 3
"""Number of random inputs, besides three extreme ones."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rewritten model. Sizes are in bytes."""

    net: str
    budget: float
    overhead: float
    """Exact F."""
    searched: int | None
    """Bytes in msf-CNN's convention, from the search over the geometry."""
    counted: int
    """Bytes in msf-CNN's convention, from the plan that was executed."""
    head: int
    tail: int
    total: int
    original: int
    """Whole arena of the original model."""
    runs: int
    bit_exact: bool


COLUMNS: Mapping[str, str] = {
    "net": "net", "budget": "F ≤", "overhead": "F", "searched": "searched", "counted": "**counted**", "head": "head",
    "tail": "tail", "total": "total", "original": "TFLM today", "bit_exact": "same bytes",
}  # fmt: skip


def rows(name: str, layers: Layers) -> Iterator[Row]:
    """Return the rows of a network, one for each compute budget."""
    net, data = chain(layers), from_layers(layers)
    macs, graph = sum(op.macs for op in net.ops), read(data).graph
    points = tiled_front(net, settings(name))
    for budget in BUDGETS:
        result = tflm_memopt.optimize(data, name=name, input="external", max_macs=budget)
        if result.plan is None:
            raise ValueError(f"{name} comes back unchanged: {result.report.why_unchanged}")
        verification = tflm_memopt.verify(data, result.model, runs=RUNS)
        arena, found = result.report.arena, at(points, macs, budget)
        yield Row(
            net=name,
            budget=budget,
            overhead=result.report.overhead,
            searched=found.nbytes if found else None,
            counted=counted(result.plan, {*graph.inputs, *graph.outputs}),
            head=arena.head,
            tail=arena.tail,
            total=arena.total,
            original=result.report.original_arena.total,
            runs=verification.runs + verification.extremes,
            bit_exact=verification.bit_exact,
        )


def counted(plan: Plan, free: set[int]) -> int:
    """Return the bytes from the lowest to the highest address of all buffers except the `free` tensors."""
    spans = [(o, o + b.nbytes) for b, o in plan.placed() if b.role is not Role.TENSOR or b.key not in free]
    return max(end for _, end in spans) - min(start for start, _ in spans)


def table(found: Sequence[Row]) -> str:
    return markdown(COLUMNS.values(), ([_cell(row, name) for name in COLUMNS] for row in found))


def _cell(row: Row, name: str) -> str:
    value = getattr(row, name)
    match name:
        case "net":
            return str(value)
        case "budget":
            return "any" if value >= BUDGETS[-1] else f"{value:g}"
        case "overhead":
            return f"{value:.3f}"
        case "counted":
            return f"**{value:,}**"
        case "bit_exact":
            return f"{'yes' if value else 'NO'}, {row.runs} runs"
    return "-" if value is None else f"{value:,}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = page_parser(__doc__)
    parser.add_argument("--nets", type=Path, required=True, metavar="DIR", help="the folder of layer lists")
    args = parser.parse_args(arguments)
    nets = {name: layers for name, layers in read_nets(args.nets).items() if "chain" not in name}
    found = [row for name, layers in nets.items() for row in rows(name, layers)]
    publish(args.update, "executed", table(found))
    return 0 if all(row.bit_exact for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
