"""The checker's proof that the running sums of a sliding window are the sums of the rows in a rolling buffer.

Each inference adds new rows and subtracts the oldest ones, which the new rows replace in the buffer. So the sums stay
those of the buffer's rows if both start with zeros. The replay of the buffer (states.py) shows that the subtracted rows
are the oldest.
"""

from __future__ import annotations

from collections.abc import Collection

from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp


def check_sums(ops: Collection[RowOp]) -> None:
    """Raise PlanError if a mean over a sliding window may include rows outside the window."""
    writers = {op.state_write.tensor: op for op in ops if op.state_write}
    for op in ops:
        if op.traits.runs_along and (wrong := _wrong(op, writers.get(op.inputs[1]))):
            raise PlanError(f"{op.name}: {wrong}")


def _wrong(op: RowOp, writer: RowOp | None) -> str:
    """Return what is wrong with an operator's running sums, or ""."""
    new, older, *_ = (rows.h for rows in op.reads)
    if writer is None or writer.state_write is None or (writer.inputs[0], writer.reads[0].h) != (op.inputs[0], new):
        return "no rolling buffer keeps the rows that it adds"
    if (
        writer.state_write.fill
        or [rolling_buffer.fill for rolling_buffer in op.updates] != [0]
        or writer.state_write.rows.h != older
    ):
        return "its sums do not start as those of the rolling buffer's rows"
    if [op.rows_read(k, 0) for k in (0, 1, len(op.inputs) - 1)] != [(0, new), (0, new), (0, 1)] or new > older:
        return "it subtracts other rows than those that leave"
    counted = new + older + sum(rows.h for rows in op.reads[2:-1])
    return "" if op.window.kernel_h == counted else f"it divides by {op.window.kernel_h} rows, but adds {counted}"
