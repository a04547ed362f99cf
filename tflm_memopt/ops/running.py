"""Computes a mean over a sliding input by adding new rows to sums in a state, and subtracting old rows.

One state has the sums, and another state keeps the input rows that were added to the sums. A reset fills the two states
of a sliding mean with zeros. A row that depends on padding is used in a single inference, and is not kept in a state.
"""

from collections.abc import Sequence
from dataclasses import replace

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Access, RowOp, Rows, StateRollingBuffer

SUM_BYTES = 4


def is_mean(op: RowOp, window: Rows) -> bool:
    """Return whether an operator computes the mean over all rows of an input, for each column or for all columns
    together.
    """
    w, seen, made = op.window, op.reads[0], op.writes
    whole = seen == window and w.kernel_h == seen.h and made.h == 1 and made.c == seen.c
    columns = (w.kernel_w == seen.w and made.w == 1) or (w.kernel_w == w.stride_w == 1 and made.w == seen.w)
    return op.kind in (Kind.MEAN, Kind.AVERAGE_POOL) and whole and columns and w.pad_top == w.pad_left == 0


def sliding_sum(op: RowOp, operands: Sequence[tuple[TensorId, Rows, int]], sums: StateRollingBuffer) -> RowOp:
    """Return an operator that computes a sliding mean from several operands. The operands are the new rows, the buffer
    with the oldest rows, optional rows near the padding, and the sums. Each operand has a tensor, the tensor's rows,
    and the number of rows that are read.
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
