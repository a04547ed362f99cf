"""Measure the time of planning and checking for chains of 50, 100, 200 and 400 layers, with default options.

    python benchmarks/growth.py [--layers N ...] [--json] [--plot FILE.svg]

Row blocks and tiled blocks, no recompute, layout and the checker's replay. Two chains: equal 3x3 convolutions, and
inverted bottlenecks with residuals (expand, depthwise, project, add). Seconds are processor time on this machine; the
bytes and the exponents between neighbouring lengths (2: quadratic) are what to compare.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from tflm_memopt.check.checker import check
from tflm_memopt.model.graph import Graph, Op, Tensor
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import UNIT, RowOp, Rows, Window
from tflm_memopt.plan.planner import Options, plan
from tflm_memopt.rowgraph.regions import partition

LAYERS = (50, 100, 200, 400)
MAP, EXPANDED = Rows(16, 16, 8), Rows(16, 16, 24)
SAME_3X3 = Window(3, 3, 1, 1, 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Row:
    """One chain."""

    chain: str
    layers: int
    plan_seconds: float
    """Seconds for partition, search and layout."""
    check_seconds: float
    head: int
    """Bytes."""
    lower_bound: int
    blocks: int

    @property
    def seconds(self) -> float:
        return self.plan_seconds + self.check_seconds


def layer(ops: list[RowOp], kind: Kind, inputs: tuple[int, ...], reads: Rows, writes: Rows, window: Window) -> None:
    """Append an operator. Operator i writes tensor i + 1."""
    per_output = {Kind.CONV: reads.c * window.kernel_h * window.kernel_w, Kind.DEPTHWISE: 9}.get(kind, 0)
    zeros, number = (0,) * len(inputs), len(ops)
    seen, macs = (reads,) * len(inputs), writes.nbytes * per_output
    ops.append(RowOp(kind, kind.name, (number,), inputs, number + 1, seen, writes, zeros, 0, window, macs=macs))


def convolutions(layers: int) -> list[RowOp]:
    ops: list[RowOp] = []
    for i in range(layers):
        layer(ops, Kind.CONV, (i,), MAP, MAP, SAME_3X3)
    return ops


def bottlenecks(layers: int) -> list[RowOp]:
    ops: list[RowOp] = []
    while len(ops) < layers:
        x = len(ops)
        layer(ops, Kind.CONV, (x,), MAP, EXPANDED, UNIT)
        layer(ops, Kind.DEPTHWISE, (x + 1,), EXPANDED, EXPANDED, SAME_3X3)
        layer(ops, Kind.CONV, (x + 2,), EXPANDED, MAP, UNIT)
        layer(ops, Kind.ADD, (x + 3, x), MAP, MAP, UNIT)
    return ops[:layers]


CHAINS: Mapping[str, Callable[[int], list[RowOp]]] = {"convolutions": convolutions, "bottlenecks": bottlenecks}


def measure(name: str, layers: int) -> Row:
    """Plan a chain and check the plan."""
    ops = CHAINS[name](layers)
    rows = {0: ops[0].reads[0]} | {op.output: op.writes for op in ops}
    tensors = {t: Tensor(t, f"t{t}", (1, r.h, r.w, r.c), "INT8") for t, r in rows.items()}
    model = Graph(tensors, tuple(Op(i, op.name, op.inputs, (op.output,)) for i, op in enumerate(ops)), (0,), (layers,))
    began = time.process_time()
    graph = partition(model, dict(enumerate(ops)))
    found = plan(graph, Options())
    planned = time.process_time()
    check(found, graph)
    checked = time.process_time()
    return Row(
        chain=name,
        layers=layers,
        plan_seconds=round(planned - began, 2),
        check_seconds=round(checked - planned, 2),
        head=found.head,
        lower_bound=found.lower_bound,
        blocks=len(found.steps),
    )


def exponent(before: Row, row: Row) -> float:
    """Return the exponents p for which the time grows as layers^p, from one row to the next."""
    return math.log(row.seconds / before.seconds) / math.log(row.layers / before.layers)


def markdown(rows: Sequence[Row]) -> str:
    lines = ["| chain | layers | plan s | check s | growth | head B | lower bound B | blocks |", f"|---{'|---:' * 7}|"]
    previous = {(b.chain, b.layers): exponent(a, b) for a, b in pairwise(rows) if a.chain == b.chain}
    for r in rows:
        grown = previous.get((r.chain, r.layers))
        power = "" if grown is None else f"n^{grown:.1f}"
        figures = (
            f"{r.plan_seconds:.1f} | {r.check_seconds:.1f} | {power} | {r.head:,} | {r.lower_bound:,} | {r.blocks}"
        )
        lines.append(f"| {r.chain} | {r.layers} | {figures} |")
    return "\n".join(lines)


def draw(rows: Sequence[Row]) -> bytes:
    """Return an SVG of time against layers on logarithmic axes, with a quadratic for comparison."""
    import io  # noqa: PLC0415

    import matplotlib as mpl  # noqa: PLC0415 (an optional dependency)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"svg.hashsalt": "tflm-memopt", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axes = figure.subplots()
        for name in dict.fromkeys(r.chain for r in rows):
            chain = [r for r in rows if r.chain == name]
            axes.plot([r.layers for r in chain], [r.seconds for r in chain], "o-", label=name)
        last = max(rows, key=lambda r: (r.layers, r.seconds))
        x = sorted({r.layers for r in rows})
        axes.plot(x, [last.seconds * (n / last.layers) ** 2 for n in x], "k:", label="quadratic")
        axes.set(xscale="log", yscale="log", xlabel="layers", ylabel="seconds, plan and check")
        axes.set_xticks(x, [str(n) for n in x])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()
        page = io.BytesIO()
        figure.savefig(page, format="svg", metadata={"Date": None})
    return page.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, nargs="+", default=LAYERS, metavar="N", help="lengths of the chains")
    parser.add_argument("--json", action="store_true", help="an array of rows instead of the table")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the times (needs matplotlib)")
    args = parser.parse_args(arguments)
    if min(args.layers) < 1:
        parser.error("a chain has at least one layer")
    rows = [measure(name, layers) for name in CHAINS for layers in sorted(set(args.layers))]
    if args.plot:
        args.plot.write_bytes(draw(rows))
    print(json.dumps([asdict(row) for row in rows], indent=2) if args.json else markdown(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
