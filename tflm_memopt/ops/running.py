"""Means over a window that slides, by sums in a state: new rows are added, and those that leave are taken off.

The sums are those of the rows that a ring keeps: before each inference the older ones of the window, behind it those of
the next. A reset fills both with zeros. int32 sums are exact, whatever is added and taken off. Rows that depend on
padding are in no ring: they are added in each inference, to what comes out alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Access, RowOp, Rows, StateRing

SUM_BYTES = 4


def is_mean(op: RowOp, window: Rows) -> bool:
    """Whether an operator takes the mean of all rows of a window, of each column, or of all of them."""
    w, seen, made = op.window, op.reads[0], op.writes
    whole = seen == window and w.kernel_h == seen.h and made.h == 1 and made.c == seen.c
    columns = (w.kernel_w == seen.w and made.w == 1) or (w.kernel_w == w.stride_w == 1 and made.w == seen.w)
    return op.kind in (Kind.MEAN, Kind.AVERAGE_POOL) and whole and columns and w.pad_top == w.pad_left == 0


def sliding_sum(op: RowOp, operands: Sequence[tuple[TensorId, Rows, int]], sums: StateRing) -> RowOp:
    """The mean, of these operands: tensor, its rows, and how many of them are read.

    They are the new rows, the ring, whose oldest rows leave, perhaps rows that depend on padding, and the sums.
    """
    (_, new, _), zero = operands[0], op.input_zero_points[0]
    return replace(
        op,
        kind=Kind.SLIDING_SUM,
        inputs=tuple(t for t, _, _ in operands),
        reads=tuple(rows for _, rows, _ in operands),
        input_zero_points=tuple(0 if t == sums.tensor else zero for t, _, _ in operands),
        window=replace(op.window, stride_h=new.h),
        access=tuple(Access(mul=0, extent=count) for _, _, count in operands),
        recalls=True,
        updates=(sums,),
    )
