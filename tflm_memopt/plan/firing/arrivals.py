"""What an input that is not in the arena as a whole takes in a block.

A streamed input exists as the rows that were pushed last, in the model's input tensor, and as a ring of older ones that
are still wanted. An external input takes nothing, but for the pixels of one window where they have to become int8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.firing.trace import Trace
from tflm_memopt.plan.walk import Ints
from tflm_memopt.rowgraph.graph import InputSource


def converted_bytes(op: RowOp, frame: InputSource, *, tiled: bool, iterative: bool) -> int:
    """Pixels of an external input that a firing of a row block, or one output pixel of a tiled block, reads at once."""
    total = 0
    for k, (tensor, rows) in enumerate(zip(op.inputs, op.reads, strict=True)):
        if tensor == frame.tensor and op.element_bytes == 1:  # wide elements stay as they are
            one = iterative or (k > 0 and not op.access)
            high = 1 if one else op.access[k].extent if op.access else min(op.window.kernel_h, rows.h)
            wide = 1 if one else min(op.window.kernel_w, rows.w)
            total += high * (wide * rows.c if tiled else rows.row_bytes)
    return total


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The pushes that a block asks for, as late as it can."""

    depth: int
    """Rows before the newest ones that have to be kept, at the worst moment."""
    pushed: Ints
    """Positions in the trace at which rows are pushed, the first push excepted."""
    last: int
    """Position of the last reading."""
    all_rows: bool
    """Whether the last row is ever asked for; else it is pushed when the block is done."""


def arrivals(trace: Trace, frame: InputSource) -> Arrivals | None:
    """None where the block does not read the input."""
    parts = list(_readings(trace, frame.tensor))
    if not parts:
        return None
    at, first, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(at, kind="stable")
    at, first, end = at[order], first[order], end[order]
    n = frame.pushed
    here = -(-np.maximum.accumulate(end) // n) * n
    wanted = np.minimum.accumulate(first[::-1])[::-1]
    more = np.flatnonzero(here > np.concatenate(([n], here[:-1])))
    depth = int(np.max(here[more] - n - wanted[more], initial=0))
    return Arrivals(max(0, depth), at[more], int(at[-1]), bool(here[-1] == frame.height))


def _readings(trace: Trace, tensor: TensorId) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Positions in the trace, first row, end of the rows that are read there."""
    for member, k in trace.readers(tensor):
        at, firing = trace.fires(member.key)
        first, end = member.rows(k, firing)
        some = end > first
        yield at[some], first[some], end[some]
