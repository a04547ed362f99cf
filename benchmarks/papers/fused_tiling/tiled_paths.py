"""Path discovery on the running example of the fused tiling thesis (Stahl, section 4.3), with every figure of its text.

    python benchmarks/papers/fused_tiling/tiled_paths.py

The network is the one that its Relay states: a convolution 6x2 with stride 2, a depthwise one 3x3, one 1x1 to 64
channels, average pooling, flatten, dense 6. Float32 bytes of whole tensors are what the thesis counts: the least peak
of any order, and the layout. The last figures are of int8 models, the whole arena as TFLM takes it, ilp32.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from int8_models import Builder
from papers import lifetimes
from papers.fused_tiling.paths import Cut, PathBlock, TiledPath, cuts, discover, parts, upward

from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import UNIT, RowOp, Rows, Window
from tflm_memopt.plan.schedule.least_peak import schedule
from tflm_memopt.plan.schedule.problem import OrderProblem, Task
from tflm_memopt.tflm.arena import predict

FLOAT = 4
"""Bytes of an element."""
CONV_3 = 2
"""Operator whose output is the largest critical buffer."""
INT8_PARTS = (2, 3, 4)


def running_example() -> tuple[RowOp, ...]:
    """Return the chain. Operator i writes tensor i + 1."""
    maps = (Rows(32, 8, 1), *(Rows(16, 4, 32),) * 2, Rows(16, 4, 64), *(Rows(1, 1, 64),) * 2, Rows(1, 1, 6))
    layers = (
        (Kind.CONV, "CONV_2D", Window(6, 2, 2, 2, pad_top=2)),
        (Kind.DEPTHWISE, "DEPTHWISE_CONV_2D", Window(3, 3, pad_top=1, pad_left=1)),
        (Kind.CONV, "CONV_2D", UNIT),
        (Kind.AVERAGE_POOL, "AVERAGE_POOL_2D", Window(16, 4, 16, 4)),
        (Kind.LOOKUP, "RESHAPE", UNIT),
        (Kind.CONV, "FULLY_CONNECTED", UNIT),
    )
    return tuple(
        RowOp(kind, name, (i,), (i,), i + 1, (maps[i],), maps[i + 1], (0,), 0, window)
        for i, (kind, name, window) in enumerate(layers)
    )


# ---- what a path needs ----


def whole_tensors(ops: Sequence[RowOp], path: TiledPath | None) -> OrderProblem:
    """Return the chain of operators with one path tiled, in float32. The merge of a fan-in adds all sums at once."""
    nbytes = {0: FLOAT * ops[0].reads[0].nbytes} | {op.output: FLOAT * op.writes.nbytes for op in ops}
    fresh, tasks = count(max(nbytes) + 1), list[Task]()

    def part(inputs: tuple[int, ...], shape: Rows) -> int:
        made = next(fresh)
        nbytes[made] = FLOAT * shape.nbytes
        tasks.append(Task(inputs, (made,)))
        return made

    for i, op in enumerate(ops):
        if path is None or i not in path.ops:
            tasks.append(Task(op.inputs, (op.output,)))
        elif i == path.ops[0]:
            ends = []
            for one in parts(ops, path):
                tensor = op.inputs[0]
                if path.blocks[0] is PathBlock.SPLIT:
                    tensor = part((tensor,), one.reads.shape)
                for box in one.makes:
                    tensor = part((tensor,), box.shape)
                ends.append(tensor)
            tasks.append(Task(tuple(ends), (ops[path.ops[-1]].output,)))
    return OrderProblem(nbytes, tuple(tasks), frozenset({ops[-1].output}))


def memory(ops: Sequence[RowOp], path: TiledPath | None) -> int:
    """Return the bytes of the layout for the best order."""
    problem = whole_tensors(ops, path)
    return lifetimes.of_order(problem, schedule(problem, seconds=1).order).top


@dataclass(frozen=True, slots=True)
class Weighed:
    """A path, and the bytes of the network with it."""

    nbytes: int
    path: TiledPath

    @property
    def rank(self) -> tuple[int, int, int]:
        """Key to compare paths by: the least memory, then the shortest path, then the fewest parts."""
        return self.nbytes, len(self.path.ops), self.path.cut.parts


def weighed() -> list[Weighed]:
    ops = running_example()
    return [Weighed(memory(ops, path), path) for path in discover(ops, CONV_3)]


# ---- int8 ----


def int8_example(tiles: int = 1) -> bytes:
    """Return the same network and weights, with the third convolution and the pooling split into several parts."""
    net = Builder()
    x = net.input((1, 32, 8, 1))
    x = net.conv(x, 32, (6, 2), (2, 2), (2, 0), (16, 4), depthwise=False, same=True)
    x = net.conv(x, 32, (3, 3), (1, 1), (1, 1), (16, 4), depthwise=True, same=True)
    if tiles > 1:
        ops = running_example()
        path = next(p for p in discover(ops, CONV_3, fan_in=False) if p.cut == Cut(channels=tiles))
        spans = [one.makes[0].channels for one in parts(ops, path)]
        y = net.concatenation([net.average_pool(y, (16, 4)) for y in net.fan_out(x, 64, spans)])
    else:
        y = net.average_pool(net.conv(x, 64, (1, 1), (1, 1), (0, 0), (16, 4), depthwise=False), (16, 4))
    net.rng = np.random.default_rng(7)
    out = net.dense(y, 6)
    net.graph.tensors[out].name = "out"
    return net.model(out)


def arenas() -> dict[int, int]:
    """Return the bytes of the whole arena for each number of parts. One part means untiled."""
    return {tiles: predict(read(int8_example(tiles))).total for tiles in (1, *INT8_PARTS)}


# ---- the figures ----


def figures() -> dict[str, Any]:
    """Print every figure of the text."""
    ops = running_example()
    critical = ops[CONV_3].writes
    found = weighed()
    best = min(found, key=lambda w: w.rank)
    by_name = {name: list(of) for name, of in groupby(sorted(found, key=lambda w: str(w.path)), lambda w: str(w.path))}
    halves = TiledPath(Cut(columns=2), (0, 1, 2), (PathBlock.SPLIT, *(PathBlock.FFMT,) * 3, PathBlock.CONCAT))
    totals = arenas()
    return {
        "untiled": memory(ops, None),
        "candidates": {
            "channels": [c.channels for c in cuts(critical) if c.channels > 1],
            "rows": [c.rows for c in cuts(critical) if c.rows > 1 and c.columns == 1],
            "columns": [c.columns for c in cuts(critical) if c.columns > 1 and c.rows == 1],
            "both": [c.rows for c in cuts(critical) if c.rows > 1 and c.columns > 1],
        },
        "upward": dict(starts()),
        "paths": {name: {w.path.cut.parts: w.nbytes for w in of} for name, of in by_name.items()},
        "best": {
            "path": str(best.path),
            "N": best.path.cut.parts,
            "channels": [part.makes[0].shape.c for part in parts(ops, best.path)],
            "bytes": best.nbytes,
        },
        "input columns of halves": [[p.reads.columns[0] + 1, p.reads.columns[1]] for p in parts(ops, halves)],
        "int8 arena": totals,
        "int8 best N": min(totals, key=lambda tiles: totals[tiles]),
    }


def starts() -> Iterator[tuple[str, list[str]]]:
    """Print the starts of paths that end at the critical buffer, with the axes along which they are split."""
    ops = running_example()[: CONV_3 + 1]
    found: dict[str, dict[str, None]] = {}
    for cut in cuts(ops[-1].writes):
        axes = " and ".join(name for name in ("rows", "columns", "channels") if getattr(cut, name) > 1)
        for blocks in upward(ops, cut):
            found.setdefault(str(TiledPath(cut, (), blocks)), {})[axes] = None
    yield from ((name, list(axes)) for name, axes in found.items())


if __name__ == "__main__":
    for name, value in figures().items():
        print(f"{name}: {value}")
