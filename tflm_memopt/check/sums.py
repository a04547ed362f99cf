"""Sums that run along with a window: the checker's proof that they are those of the rows of a ring.

In each inference new rows come into the ring and are added, and the oldest ones, which they replace, are taken off. So
the sums stay those of what the ring holds, as they are when both are filled with zeros; that the rows which are read
are the oldest ones, the replay of the ring shows (states.py).
"""

from __future__ import annotations

from collections.abc import Collection

from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp


def check_sums(ops: Collection[RowOp]) -> None:
    """Raises PlanError where a mean over a window that slides may count other rows than those of the window."""
    kept = {op.keeps.tensor: op for op in ops if op.keeps}
    for op in ops:
        if op.traits.runs_along and (wrong := _wrong(op, kept.get(op.inputs[1]))):
            raise PlanError(f"{op.name}: {wrong}", code="plan_sums")


def _wrong(op: RowOp, keep: RowOp | None) -> str:
    """What is wrong with sums of rows that an operator keeps; "": nothing."""
    new, older, *_ = (rows.h for rows in op.reads)
    if keep is None or keep.keeps is None or (keep.inputs[0], keep.reads[0].h) != (op.inputs[0], new):
        return "no ring keeps the rows that it adds up"
    if keep.keeps.fill or [ring.fill for ring in op.updates] != [0] or keep.keeps.rows.h != older:
        return "its sums are not those of the ring's rows at first"
    if [op.rows_read(k, 0) for k in (0, 1, len(op.inputs) - 1)] != [(0, new), (0, new), (0, 1)] or new > older:
        return "it takes off other rows than leave"
    counted = new + older + sum(rows.h for rows in op.reads[2:-1])
    return "" if op.window.kernel_h == counted else f"it divides by {op.window.kernel_h} rows, and adds up {counted}"
