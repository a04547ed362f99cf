"""Checks the numeric limits of the executor (custom_ops/src/tmo/check.h)."""

from tflm_memopt.format.limits import MAX_EXTENT, MAX_KERNEL_H, MAX_POOL_AREA, MAX_S16_SHIFT, MAX_SHIFT
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp

MAX_DIMENSION = 0xFFFF
"""Maximum size of a dimension, because the C structs `tmo_tensor` and `tmo_op` store dimensions as uint16_t."""


def executable(op: RowOp) -> str | None:
    """All numbers of an operator must be within the executor's limits (custom_ops/src/tmo_check_kind.c)"""
    w, reads = op.window, op.reads[0]
    for rows in (*op.reads, op.writes):
        if max(rows.h, rows.w) > MAX_DIMENSION:
            return f"{rows.h} rows of {rows.w} pixels, at most {MAX_DIMENSION}"
    shift = 0 if op.shifts is None else int(op.shifts.max(initial=0))
    wide = op.element_bytes == 2 and (op.traits.biased or op.kind is Kind.BATCH_MATMUL_S16)
    most = MAX_S16_SHIFT if wide else MAX_SHIFT
    if shift > most:
        return f"a rescaling by 2^{shift}, at most 2^{most}"
    if op.is_binary:
        return None
    if op.access:
        if max(a.mul for a in op.access) * op.writes.h >= MAX_EXTENT:
            return f"{op.writes.h} rows, too many for its scale"
        at_once = 1 if op.scatters else op.rows_at_once
        return None if at_once <= MAX_KERNEL_H else f"it reads {at_once} rows at once, at most {MAX_KERNEL_H}"
    if w.kernel_h > MAX_KERNEL_H and not op.reducible:
        return f"a window of {w.kernel_h} rows, at most {MAX_KERNEL_H}"
    if w.kernel_h * w.kernel_w > MAX_POOL_AREA:
        return f"a window of {w.kernel_h}x{w.kernel_w}, at most {MAX_POOL_AREA} pixels"
    there = 0 if op.older is None else w.pad_top  # an operator with state reads the rows above row 0 from its state
    heights = (w.kernel_h, w.stride_h, w.dilation_h, w.pad_top - there, reads.h + there, op.writes.h)
    widths = (w.kernel_w, w.stride_w, w.dilation_w, w.pad_left, reads.w, op.writes.w)
    return None if _reaches(*heights) and _reaches(*widths) else "a window lies wholly in the padding"


def _reaches(kernel: int, stride: int, dilation: int, before: int, size: int, output: int) -> bool:
    """Return whether the first and the last window of an operator both overlap its input."""
    extent = (kernel - 1) * dilation + 1
    return extent < MAX_EXTENT and before < extent and (output - 1) * stride < size + before
