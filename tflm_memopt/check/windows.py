"""Computes for the checker which input rows and columns the C library passes to each iteration of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.ops.rowop import NO_ROW, Access, RowOp


class ReadWindows(NamedTuple):
    """Rows [top, bottom) and columns [left, right) of an input that each iteration reads. A range of rows or columns
    may be empty.
    """

    top: Ints
    bottom: Ints
    left: Ints
    right: Ints


def first_row(access: Access, y: Ints, height: int) -> Ints:
    """Return the first input row that each iteration `y` reads, or `height` if the iteration reads no row."""
    if access.table is None:
        return (y * access.mul + access.add) // access.div
    rows = np.array(access.table, np.int64)[y]
    return np.where(rows == NO_ROW, height, rows)


def moved(op: RowOp, y: int) -> Iterator[tuple[int, int, range]]:
    """For each move in iteration `y` of a COPY operator, yield the operand, the row and the range of bytes that the
    move reads.
    """
    for move in op.moves.moves if op.moves else ():
        access, height = op.access[move.operand], op.operands[move.operand].h
        row = int(first_row(access, np.array([y]), height)[0]) + move.tap
        if 0 <= row < height and move.tap < access.extent:
            first = move.source + (y + move.shift) % move.period * move.phase_step
            last = first + (move.count - 1) * move.source_step
            yield move.operand, row, range(min(first, last), max(first, last) + move.nbytes)


def window(op: RowOp, k: int, y: Ints, x0: Ints, x1: Ints) -> ReadWindows:
    """Return the rows and columns of input `k` that columns [x0, x1) of output row `y` need."""
    w, seen = op.window, op.reads[k]
    if op.access:
        top, extent = first_row(op.access[k], y, seen.h), op.access[k].extent
        return ReadWindows(np.maximum(0, top), np.minimum(seen.h, top + extent), 0 * x0, np.full_like(x1, seen.w))
    top = np.minimum(y * w.stride_h - w.pad_top, seen.h - 1)
    bottom = top + (w.kernel_h - 1) * w.dilation_h + 1
    left = x0 * w.stride_w - w.pad_left
    right = (x1 - 1) * w.stride_w - w.pad_left + (w.kernel_w - 1) * w.dilation_w + 1
    if op.is_binary:  # An operand with a single column is broadcast.
        left = np.minimum(left, seen.w - 1)
    return ReadWindows(np.maximum(0, top), np.minimum(seen.h, bottom), np.maximum(0, left), np.minimum(seen.w, right))
