"""Reverses the rows of operators, for groups that run from the last row to the first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.liveness import LiveRange
from tflm_memopt.plan.plan import Buffer, Group, Role


def reversed_op(op: RowOp, *, pixels: bool) -> RowOp | None:
    """Reverse the rows and, if `pixels` is true, the columns too."""
    w, seen, made = op.window, op.reads[0], op.writes
    top = w.rows.reach(made.h) - seen.h - w.pad_top
    left = w.columns.reach(made.w) - seen.w - w.pad_left if pixels else w.pad_left
    alike = all((r.h, r.w) == (seen.h, seen.w) for r in op.reads)
    axes = op.traits.constants.kernel_axes
    known = op.weights is None or bool(axes) or w.kernel_h == w.kernel_w == 1
    if op.needs_order and (w.kernel_h > 1 or (pixels and w.kernel_w > 1)):
        return None
    inside = 0 <= top < w.rows.extent and 0 <= left < w.columns.extent
    if op.access or op.stateful or not (alike and known and inside):
        return None
    weights = op.weights
    if weights is not None and axes:
        weights = np.flip(weights, axes if pixels else axes[0])
    constant = op.constant and replace(op.constant, values=np.flip(op.constant.values, (0, 1) if pixels else 0))
    return replace(op, window=replace(w, pad_top=top, pad_left=left), weights=weights, constant=constant)


def as_counted(op: RowOp, group: Group) -> RowOp:
    """Return the operator with its rows in the order in which the group computes them. Raises PlanError if the group is
    reversed but the operator cannot be reversed.
    """
    other = reversed_op(op, pixels=group.stripes > 0) if group.is_reversed else op
    if other is None:
        raise PlanError(f"{op.name} cannot run from the last row to the first")
    return other


def unit_bytes(ops: Iterable[RowOp], *, pixels: bool) -> dict[TensorId, int]:
    return {t: rows.c if pixels else rows.row_bytes for op in ops for t, rows in op.seen()}


def in_units(ranges: Sequence[LiveRange], unit_bytes: Mapping[TensorId, int]) -> tuple[LiveRange, ...]:
    """A reversed group still computes each single row or pixel forwards, so an output row or pixel must not overlap the
    input row or pixel that is being read. In a mirrored arena, scratch begins at the other end of its buffer, so all
    bytes of scratch count as live together.
    """
    whole = {r.buffer.key for r in ranges if r.buffer.role is Role.TENSOR}

    def rounded(old: LiveRange) -> LiveRange:
        buffer = old.buffer
        if buffer.role is Role.SCRATCH:
            used = (old.top > 0) * buffer.nbytes
            return replace(old, top=used, before=used)
        if buffer.role is not Role.TENSOR:
            return replace(old, replaces=old.replaces - whole)
        unit = unit_bytes.get(buffer.key, buffer.nbytes)
        top = -(-old.top // unit) * unit
        return LiveRange(buffer, old.bottom // unit * unit, top, top)

    return tuple(map(rounded, ranges))


def mirrored(buffers: Sequence[Buffer], distances: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    def distance(u: int, v: int) -> int:
        if Role.TENSOR not in (buffers[u].role, buffers[v].role):
            return distances[u, v]
        return distances[v, u] + buffers[u].nbytes - buffers[v].nbytes

    return {pair: distance(*pair) for pair in distances}
