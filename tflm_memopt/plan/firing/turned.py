"""Operators, and what a block's buffers hold, with rows counted from the last to the first (plan/search/turn.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.firing.liveness import Content
from tflm_memopt.plan.plan import Block, Role


def turned(op: RowOp, *, pixels: bool) -> RowOp | None:
    """The operator on tensors whose rows are counted from the last to the first; None where it has no such form.

    pixels: those of each row as well. Row kernels go through a row forwards.
    """
    w, seen, made = op.window, op.reads[0], op.writes
    top = w.reach_h(made.h) - seen.h - w.pad_top
    left = w.reach_w(made.w) - seen.w - w.pad_left if pixels else w.pad_left
    alike = all((r.h, r.w) == (seen.h, seen.w) for r in op.reads)
    axes = op.traits.constants.kernel_axes
    known = op.weights is None or bool(axes) or w.kernel_h == w.kernel_w == 1
    if op.access or op.stateful or not (alike and known) or not (0 <= top < w.extent_h and 0 <= left < w.extent_w):
        return None
    weights = op.weights
    if weights is not None and axes:
        weights = np.flip(weights, axes if pixels else axes[0])
    constant = op.constant and replace(op.constant, values=np.flip(op.constant.values, (0, 1) if pixels else 0))
    return replace(op, window=replace(w, pad_top=top, pad_left=left), weights=weights, constant=constant)


def as_counted(op: RowOp, block: Block) -> RowOp:
    """An operator of a plan's block on rows as that block counts them."""
    other = turned(op, pixels=block.strips > 0) if block.turned else op
    if other is None:
        raise PlanError(f"{op.name} cannot run from the last row to the first", code="plan_turned")
    return other


def unit_bytes(ops: Iterable[RowOp], *, pixels: bool) -> dict[TensorId, int]:
    """Bytes of a row, or of a pixel, of each tensor that these operators read or write, as they see it."""
    return {t: rows.c if pixels else rows.row_bytes for op in ops for t, rows in op.seen()}


def in_units(contents: Sequence[Content], unit_bytes: Mapping[TensorId, int]) -> tuple[Content, ...]:
    """What the buffers of a turned block hold: of a whole tensor, whole units (rows, or pixels), not mirrored inside.

    So a firing must not write over what it reads of a whole tensor: it goes through a unit forwards as ever. A scratch
    counts whole where it is in use: firings that want less take its first bytes, in a mirrored arena the last.
    """
    whole = {c.key for c in contents if c.role is Role.TENSOR}

    def units(content: Content) -> Content:
        if content.role is Role.SCRATCH:
            used = (content.top > 0) * content.nbytes
            return replace(content, top=used, before=used)
        if content.role is not Role.TENSOR:
            return replace(content, replaces=content.replaces - whole)
        unit = unit_bytes.get(content.key, content.nbytes)
        top = -(-content.top // unit) * unit
        return replace(
            content, bottom=content.bottom // unit * unit, top=top, before=top,
            replaces=frozenset(), ends_on=frozenset(),
        )  # fmt: skip

    return tuple(map(units, contents))


def mirrored(contents: Sequence[Content], distances: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """Separations of a turned block: as of the block in a mirrored arena, but between buffers of its own."""

    def distance(u: int, v: int) -> int:
        if Role.TENSOR not in (contents[u].role, contents[v].role):
            return distances[u, v]
        return distances[v, u] + contents[u].nbytes - contents[v].nbytes

    return {pair: distance(*pair) for pair in distances}
