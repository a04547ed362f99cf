"""Places of the pixels of a tiled group's inner tensors, and their lifetimes.

The rows of a stripe are divided into lanes: consecutive rows that later stripes need for equally long. A lane is a
rolling buffer of pixels in the order in which a stripe makes them, column by column. Rows that no later stripe needs
get a window of a few columns, others one or several whole lines (vMCU's and msf-CNN's line buffers, exact to the
pixel). Depths are not estimated: the write and the last read of every pixel come from the trace, and two live pixels
never share a slot.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tflm_memopt.plan.firing.trace import Member, Trace
from tflm_memopt.plan.plan import Lane
from tflm_memopt.plan.walk import Ints


@dataclass(frozen=True, slots=True)
class Lives:
    """Times of the write and last read of the pixels of a producer's firing units, and the stripes between them.

    Pixels that are never read live for one moment.
    """

    unit: Ints
    written: Ints
    read: Ints
    strips: Ints


def lives(trace: Trace, producer: Member) -> Lives:
    """Return the lifetimes of the pixels of a producer in a trace."""
    written, fired = trace.fires(producer.key)
    if producer.iterative:  # the last unit makes all pixels
        written, fired = written[-1:], fired[-1:]
    u = producer.units
    read = np.full(len(u), -1, dtype=np.int64)
    strip = u.strip.copy()
    for member, k in trace.readers(producer.op.output):
        at, firing = trace.fires(member.key)
        r0, r1 = member.rows(k, firing)
        c0, c1 = member.columns(k, firing)
        here = member.units.strip[firing]
        for dy in range(int((r1 - r0).max(initial=0))):
            for dx in _column_steps(producer, c0, c1):
                some = (r0 + dy < r1) & (c0 + dx < c1)
                unit = producer.unit_making(member, firing[some], (r0 + dy)[some], (c0 + dx)[some])
                np.maximum.at(read, unit, at[some])
                np.maximum.at(strip, unit, here[some])
    return Lives(fired, written, np.maximum(read[fired], written), (strip - u.strip)[fired])


def _column_steps(producer: Member, c0: Ints, c1: Ints) -> list[int]:
    """Return offsets into a window that hit every tile under it."""
    width = int((c1 - c0).max(initial=0))
    return list(range(width)) if producer.walk.tile else [0][:width]


def lanes_of(producer: Member, life: Lives) -> tuple[Lane, ...]:
    """Return the lanes of an inner tensor with minimal depths."""
    if producer.iterative:
        return (Lane(1, producer.op.writes.w),)
    turn, residue, period = _turns(producer, life)
    kept = np.zeros(period, dtype=np.int64)
    np.maximum.at(kept, residue, life.strips)
    result = []
    for first, rows in _runs(kept):
        mine = np.flatnonzero((residue >= first) & (residue < first + rows))
        base = turn * producer.op.writes.w * rows + residue - first
        index, written, read = _pixels(producer, life, base, rows, mine)
        result.append(Lane(rows, _depth(index, written, read)))
    return tuple(result)


def slots(producer: Member, life: Lives, lanes: Sequence[Lane]) -> Ints:
    """Return the slot, in pixels over all lanes, where each firing unit writes its first pixel."""
    turn, residue, _ = _turns(producer, life)
    result, first, start = np.zeros(len(life.unit), dtype=np.int64), 0, 0
    for lane in lanes:
        index = (turn * producer.op.writes.w + producer.units.x0[life.unit]) * lane.rows + residue - first
        mine = (residue >= first) & (residue < first + lane.rows)
        result[mine] = start + index[mine] % lane.depth
        first, start = first + lane.rows, start + lane.depth
    return result


def _turns(producer: Member, life: Lives) -> tuple[Ints, Ints, int]:
    """Return each firing unit's turn through the lanes, its row in them, and the total number of rows."""
    walk, u = producer.walk, producer.units
    period = walk.rows if walk.recomputes else walk.advance
    row, strip = u.row[life.unit], u.strip[life.unit]
    origin = strip * walk.advance + walk.end - walk.rows if walk.recomputes else walk.origin
    turn, residue = np.divmod(row - origin, period)
    return turn, residue, period


def _runs(values: Ints) -> list[tuple[int, int]]:
    """Return (first, length) of the runs of equal values."""
    cuts = [0, *(int(i) + 1 for i in np.flatnonzero(np.diff(values))), len(values)]
    return [(a, b - a) for a, b in itertools.pairwise(cuts)]


def _pixels(producer: Member, life: Lives, base: Ints, rows: int, mine: Ints) -> tuple[Ints, Ints, Ints]:
    """Return index, write and last read of all pixels of a lane. base: index of column 0 per unit."""
    u = producer.units
    x0, x1 = u.x0[life.unit[mine]], u.x1[life.unit[mine]]
    length = x1 - x0
    of = np.repeat(mine, length)
    column = np.arange(len(of), dtype=np.int64) - np.repeat(np.cumsum(length) - length - x0, length)
    return base[of] + column * rows, life.written[of], life.read[of]


def _depth(index: Ints, written: Ints, read: Ints) -> int:
    """Return the smallest depth at which no two live pixels share a slot."""
    if not len(index):
        return 1
    depth = _most_alive(written, read)
    while not _fits(index, written, read, depth):
        depth += 1
    return depth


def _most_alive(written: Ints, read: Ints) -> int:
    events = np.concatenate((written * 2, read * 2 + 1))
    step = np.concatenate((np.ones(len(written), dtype=np.int64), -np.ones(len(read), dtype=np.int64)))
    return int(np.cumsum(step[np.argsort(events, kind="stable")]).max())


def _fits(index: Ints, written: Ints, read: Ints, depth: int) -> bool:
    slot = index % depth
    order = np.lexsort((written, slot))
    same = slot[order][1:] == slot[order][:-1]
    return bool(np.all((read[order][:-1] < written[order][1:])[same]))
