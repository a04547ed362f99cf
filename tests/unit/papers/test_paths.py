"""Test path discovery: the thesis's running example, and the parts of any path."""

from __future__ import annotations

import sys

import pytest
from conftest import ROOT

from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import UNIT, RowOp, Rows, Window

sys.path.insert(0, str(ROOT / "benchmarks"))
from papers.fused_tiling import tiled_paths
from papers.fused_tiling.paths import Cut, PathBlock, TiledPath, cuts, parts

CHAIN = tiled_paths.running_example()
SAME_3X3 = Window(3, 3, pad_top=1, pad_left=1)


def op(kind: Kind, i: int, reads: Rows, writes: Rows, window: Window = UNIT, name: str = "") -> RowOp:
    return RowOp(kind, name or kind.name, (i,), (i,), i + 1, (reads,), writes, (0,), 0, window)


# ---- the thesis' figures ----


def test_candidates_at_the_third_convolution() -> None:
    found = list(cuts(CHAIN[2].writes))
    assert [c.channels for c in found if c.channels > 1] == list(range(2, 26))
    assert [c.rows for c in found if c.rows > 1 and c.columns == 1] == list(range(2, 17))
    assert [c.columns for c in found if c.columns > 1 and c.rows == 1] == [2, 3, 4]
    assert [(c.rows, c.columns) for c in found if c.rows > 1 and c.columns > 1] == [(2, 2), (3, 3), (4, 4)]
    assert len(found) == 24 + 15 + 3 + 3


# ---- other chains ----


@pytest.mark.parametrize("cut", [Cut(rows=3), Cut(columns=2), Cut(2, 2), Cut(channels=3)])
def test_parts_make_everything_once_and_have_what_they_read(cut: Cut) -> None:
    maps = (Rows(13, 9, 6), Rows(13, 9, 12), Rows(7, 9, 12), Rows(7, 9, 12), Rows(6, 4, 12))
    ops = (
        op(Kind.DEPTHWISE, 0, maps[0], maps[1], SAME_3X3),
        op(Kind.MAX_POOL, 1, maps[1], maps[2], Window(2, 3, 2, 1, pad_left=1)),
        op(Kind.LOOKUP, 2, maps[2], maps[3]),
        op(Kind.DEPTHWISE, 3, maps[3], maps[4], Window(3, 2, 1, 2, pad_top=0)),
    )
    role = PathBlock.PART if cut.channels > 1 else PathBlock.FFMT
    path = TiledPath(cut, (0, 1, 2, 3), (PathBlock.SPLIT, role, role, PathBlock.PART, role, PathBlock.CONCAT))
    found = list(parts(ops, path))
    assert len(found) == cut.parts
    assert sum(part.makes[-1].shape.nbytes for part in found) == maps[-1].nbytes
    elements = {
        (y, x, c)
        for part in found
        for y in range(*part.makes[-1].rows)
        for x in range(*part.makes[-1].columns)
        for c in range(*part.makes[-1].channels)
    }
    assert len(elements) == maps[-1].nbytes
    for part in found:
        sources = (part.reads, *part.makes)
        for i, tiled in enumerate(ops):
            read = [tiled.rows_read(0, y) for y in range(*part.makes[i].rows)]
            assert sources[i].rows == (min(a for a, _ in read), max(b for _, b in read))
            times = tiled.writes.c // tiled.reads[0].c
            assert part.makes[i].channels == tuple(times * c for c in sources[i].channels)
            (above, below), (left, right) = part.padding[i]
            w, made, shape = tiled.window, part.makes[i].shape, sources[i].shape
            assert above + shape.h + below == w.reach_h(made.h)
            assert left + shape.w + right == w.reach_w(made.w)
