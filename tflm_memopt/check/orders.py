"""In which order kernels read and write, as the executor has them: written anew (checker.py), by their names.

A kernel that is not named here writes first, whatever the planner knows of it.
"""

from __future__ import annotations

from tflm_memopt.ops.packing import Packing
from tflm_memopt.ops.rowop import RowOp

ELEMENT_BY_ELEMENT = frozenset({
    "ADD", "ADD_S16", "LEAKY_RELU_S16", "LOOKUP", "MAXIMUM", "MINIMUM", "MUL", "NARROW", "PRELU", "QUANTIZE",
    "QUANTIZE_S16", "RESCALE_S16", "SQUARED_DIFFERENCE", "SUB", "SUB_S16",
})  # fmt: skip
"""They read an element, and write one that is no longer where it was."""
PIXEL_BY_PIXEL = frozenset({"CONV"})
"""They write the last byte of a firing when they have read everything."""


def reads_first(op: RowOp) -> bool:
    """Whether each byte is read before another one is written there, of an input that is as large as the output."""
    return op.kind.name in ELEMENT_BY_ELEMENT and any(rows.nbytes >= op.writes.nbytes for rows in op.reads)


def ends_last(op: RowOp) -> bool:
    """Whether the last byte is written behind all that is read; packed kernels, and two cores, go otherwise."""
    return op.kind.name in PIXEL_BY_PIXEL and op.packing is Packing.NONE and not op.second
