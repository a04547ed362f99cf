"""Finds the memory for a streamed or external input in a group of operators.

For a streamed input, a tensor holds the newest rows, and a rolling buffer holds older rows that are read later. An
external input takes memory only for the pixels that are converted to int8.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.trace import Member, Trace
from tflm_memopt.plan.nest import Ints


def converted_bytes(trace: Trace, member: Member, *, tiled: bool) -> int:
    """Return how many bytes of an external input are converted to int8 at once."""
    source, op, total = trace.source, member.op, 0
    if source is None or source.pushed or op.element_bytes > 1:
        return 0
    for k, (tensor, rows) in enumerate(zip(op.inputs, op.reads, strict=True)):
        if tensor == source.tensor:
            one = member.iterative or (k > 0 and not op.access)
            high = 1 if one else op.access[k].extent if op.access else min(op.window.kernel_h, rows.h)
            wide = 1 if one else min(op.window.kernel_w, rows.w)
            total += high * (wide * rows.c if tiled else rows.row_bytes)
    return total


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Moments at which the caller pushes rows of a streamed input, each as late as possible."""

    depth: int
    pushed: Ints
    """Positions of the iterations that wait for new rows. The first rows of the streamed input arrive before the group
    starts.
    """
    last: int
    all_rows: bool
    """Whether an iteration of the group reads the last input row. If no iteration reads the last row, the row arrives
    after the group has run.
    """


def arrivals(trace: Trace) -> Arrivals | None:
    source = trace.source
    if source is None or not source.pushed or not (parts := list(_readings(trace, source.tensor))):
        return None
    at, first, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(at, kind="stable")
    at, first, end = at[order], first[order], end[order]
    n = source.pushed
    here = -(-np.maximum.accumulate(end) // n) * n
    wanted = np.minimum.accumulate(first[::-1])[::-1]
    more = np.flatnonzero(here > np.concatenate(([n], here[:-1])))
    depth = int(np.max(here[more] - n - wanted[more], initial=0))
    return Arrivals(max(0, depth), at[more], int(at[-1]), bool(here[-1] == source.height))


def _readings(trace: Trace, tensor: TensorId) -> Iterator[tuple[Ints, Ints, Ints]]:
    for member, k in trace.readers(tensor):
        at, iteration = trace.iterations_of(member.key)
        first, end = member.rows(k, iteration)
        some = end > first
        yield at[some], first[some], end[some]
