"""Computes which rows and columns the executor passes to each iteration of an operator, for the checker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.ops.rowop import NO_ROW, Access, RowOp


class ReadWindows(NamedTuple):
    """Rows [top, bottom) and columns [left, right) of an input that each iteration reads, possibly empty."""

    top: Ints
    bottom: Ints
    left: Ints
    right: Ints


def first_row(access: Access, y: Ints, height: int) -> Ints:
    """Return the first input row that each iteration y reads, as the executor computes it, or `height` for none."""
    if access.table is None:
        return (y * access.mul + access.add) // access.div
    rows = np.array(access.table, np.int64)[y]
    return np.where(rows == NO_ROW, height, rows)


def moved(op: RowOp, y: int) -> Iterator[tuple[int, int, range]]:
    """For each move of iteration y of a COPY, yield operand, row, and the range around all bytes of the move."""
    for move in op.moves.moves if op.moves else ():
        access, height = op.access[move.operand], op.operands[move.operand].h
        row = int(first_row(access, np.array([y]), height)[0]) + move.tap
        if 0 <= row < height and move.tap < access.extent:
            first = move.source + (y + move.shift) % move.period * move.phase_step
            last = first + (move.count - 1) * move.source_step
            yield move.operand, row, range(min(first, last), max(first, last) + move.nbytes)


def window(op: RowOp, k: int, y: Ints, x0: Ints, x1: Ints) -> ReadWindows:
    """Return the part of input k that columns [x0, x1) of row y need. Without a window, whole rows are read."""
    w, seen = op.window, op.reads[k]
    if op.access:
        top, extent = first_row(op.access[k], y, seen.h), op.access[k].extent
        return ReadWindows(np.maximum(0, top), np.minimum(seen.h, top + extent), 0 * x0, np.full_like(x1, seen.w))
    top = np.minimum(y * w.stride_h - w.pad_top, seen.h - 1)  # A broadcast input has only row 0.
    bottom = top + (w.kernel_h - 1) * w.dilation_h + 1
    left = x0 * w.stride_w - w.pad_left
    right = (x1 - 1) * w.stride_w - w.pad_left + (w.kernel_w - 1) * w.dilation_w + 1
    if op.is_binary:  # An operand of one column is broadcast, so column 0 is read.
        left = np.minimum(left, seen.w - 1)
    return ReadWindows(np.maximum(0, top), np.minimum(seen.h, bottom), np.maximum(0, left), np.minimum(seen.w, right))
