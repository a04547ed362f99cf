"""Lists the order in which each kernel of the C library reads and writes. The planner has its own lists, which the
checker does not use.

A kernel that is in no list is assumed to write all outputs before it reads its inputs.
"""

from tflm_memopt.ops.packing import Packing
from tflm_memopt.ops.rowop import UNIT, RowOp

ELEMENT_BY_ELEMENT = frozenset({
    "ADD", "ADD_S16", "ARITHMETIC_F32", "BINARY_32", "CLAMP_F32", "COMPARE", "COMPARE_32", "CURVE_F32", "CURVE_S16",
    "LEAKY_RELU_S16", "LOOKUP", "MAXIMUM", "MAXIMUM_S16", "MINIMUM", "MINIMUM_S16", "MUL", "MUL_S16", "NARROW", "PRELU",
    "QUANTIZE", "QUANTIZE_S16", "RESCALE_S16", "SQUARED_DIFFERENCE", "SUB", "SUB_S16",
})  # fmt: skip
"""Kernels that read an input element before they overwrite the element."""
PIXEL_BY_PIXEL = frozenset({"CONV"})
"""Kernels that, in each iteration, write the last byte after all reads."""

PLACES = frozenset({"ARG_MAX_ALONG", "ARG_MAX_F32"})
IN_ORDER = PLACES | {
    "AVERAGE_POOL_F32", "CONV_F32", "DEPTHWISE_F32", "MAX_POOL_F32", "MIN_POOL_F32", "SUM_F32", "TRANSPOSE_CONV_F32",
}  # fmt: skip
"""Kernels whose results depend on the order in which they read the rows and columns of a window."""


def accumulators(op: RowOp) -> int:
    """Return the number of bytes for the 32-bit sums of one output row. ARG_MAX and ARG_MIN need two sums for each
    output index.
    """
    return 2 * op.writes.row_bytes if op.kind.name in PLACES else 4 * op.writes.row_bytes // op.element_bytes


def reads_first(op: RowOp) -> bool:
    """Return whether the output may overwrite an input.

    The kernel must read each input element before it writes the output element with the same index.
    """
    limits = op.kind.name == "MAX_POOL_S16" and op.window == UNIT  # A RELU6 of int16 runs as a max pool.
    return (limits or op.kind.name in ELEMENT_BY_ELEMENT) and any(rows.nbytes >= op.writes.nbytes for rows in op.reads)


def ends_last(op: RowOp) -> bool:
    """Return whether the kernel writes the last byte of each iteration after all reads of the iteration."""
    return op.kind.name in PIXEL_BY_PIXEL and op.packing is Packing.NONE and not op.core_1_counters


def needs_order(op: RowOp) -> bool:
    return op.kind.name in IN_ORDER


def can_be_reversed(op: RowOp, *, pixels: bool) -> bool:
    """Return whether the results stay the same if the kernel computes the rows from last to first. If `pixels` is true,
    the kernel computes the pixels of each row from last to first.
    """
    height, width = op.window.kernel_h, op.window.kernel_w
    return not needs_order(op) or (height == 1 and (width == 1 or not pixels))
