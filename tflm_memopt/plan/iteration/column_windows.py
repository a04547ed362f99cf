"""Places of the pixels of a tiled group's inner tensors, and their lifetimes.

The rows of a stripe are divided into column windows, each of consecutive rows that later stripes need for equally long.
A column window is a rolling buffer of pixels in the order in which a stripe makes them, column by column. A column
window holds a few columns of rows that no later stripe needs, and one or several whole lines of other rows (vMCU's and
msf-CNN's line buffers, exact to the pixel). Depths are not estimated: the trace gives the write and the last read of
every pixel, and two live pixels never share a slot.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tflm_memopt.plan.iteration.trace import Lives, Member, Trace
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import ColumnWindow


def lives(trace: Trace, producer: Member) -> Lives:
    """Return the lifetimes of the pixels of a producer in a trace."""
    if producer.key not in trace.lives:
        trace.lives[producer.key] = _lives(trace, producer)
    return trace.lives[producer.key]


def _lives(trace: Trace, producer: Member) -> Lives:
    written, executed = trace.iterations_of(producer.key)
    if producer.iterative:  # the producer's last iteration makes all its pixels
        written, executed = written[-1:], executed[-1:]
    u = producer.units
    read = np.full(len(u), -1, dtype=np.int64)
    stripe = u.stripe.copy()
    for member, k in trace.readers(producer.op.output):
        at, iteration = trace.iterations_of(member.key)
        r0, r1 = member.rows(k, iteration)
        c0, c1 = member.columns(k, iteration)
        here = member.units.stripe[iteration]
        for dy in range(int((r1 - r0).max(initial=0))):
            for dx in _column_steps(producer, c0, c1):
                some = (r0 + dy < r1) & (c0 + dx < c1)
                unit = producer.unit_making(member, iteration[some], (r0 + dy)[some], (c0 + dx)[some])
                np.maximum.at(read, unit, at[some])
                np.maximum.at(stripe, unit, here[some])
    return Lives(executed, written, np.maximum(read[executed], written), (stripe - u.stripe)[executed])


def _column_steps(producer: Member, c0: Ints, c1: Ints) -> list[int]:
    """Return offsets of columns in a window, so that every tile under the window contains at least one of them."""
    width = int((c1 - c0).max(initial=0))
    return list(range(width)) if producer.nest.tile else [0][:width]


def column_windows_of(trace: Trace, producer: Member) -> tuple[ColumnWindow, ...]:
    """Return the column windows of an inner tensor with minimal depths."""
    life = lives(trace, producer)
    if producer.iterative:
        return (ColumnWindow(1, producer.op.writes.w),)
    lap, residue, period = _laps(producer, life)
    crosses = producer.op.receives or any(reader.op.sends for reader, _ in trace.readers(producer.op.output))
    grain = producer.op.writes.w if crosses else 1  # a message from another device has whole rows
    kept = np.zeros(period, dtype=np.int64)
    np.maximum.at(kept, residue, life.stripes)
    result = []
    for first, rows in _runs(kept):
        mine = np.flatnonzero((residue >= first) & (residue < first + rows))
        base = lap * producer.op.writes.w * rows + residue - first
        index, written, read = _pixels(producer, life, base, rows, mine)
        result.append(ColumnWindow(rows, _depth(index, written, read, grain)))
    return tuple(result)


def slots(producer: Member, life: Lives, column_windows: Sequence[ColumnWindow]) -> Ints:
    """Return the slot to which each iteration writes its first pixel, counted in pixels through all column windows."""
    lap, residue, _ = _laps(producer, life)
    result, first, start = np.zeros(len(life.unit), dtype=np.int64), 0, 0
    for column_window in column_windows:
        index = (lap * producer.op.writes.w + producer.units.x0[life.unit]) * column_window.rows + residue - first
        mine = (residue >= first) & (residue < first + column_window.rows)
        result[mine] = start + index[mine] % column_window.depth
        first, start = first + column_window.rows, start + column_window.depth
    return result


def _laps(producer: Member, life: Lives) -> tuple[Ints, Ints, int]:
    """Return, for each iteration, its period of rows and its row in that period, and the number of rows of a period."""
    nest, u = producer.nest, producer.units
    period = nest.rows if nest.recomputes else nest.advance
    row, stripe = u.row[life.unit], u.stripe[life.unit]
    origin = stripe * nest.advance + nest.end - nest.rows if nest.recomputes else nest.origin
    lap, residue = np.divmod(row - origin, period)
    return lap, residue, period


def _runs(values: Ints) -> list[tuple[int, int]]:
    """Return (first, length) of the runs of equal values."""
    cuts = [0, *(int(i) + 1 for i in np.flatnonzero(np.diff(values))), len(values)]
    return [(a, b - a) for a, b in itertools.pairwise(cuts)]


def _pixels(producer: Member, life: Lives, base: Ints, rows: int, mine: Ints) -> tuple[Ints, Ints, Ints]:
    """Return index, write and last read of all pixels of a column window. base: for each iteration, the index of column
    0 in its row.
    """
    u = producer.units
    x0, x1 = u.x0[life.unit[mine]], u.x1[life.unit[mine]]
    length = x1 - x0
    of = np.repeat(mine, length)
    column = np.arange(len(of), dtype=np.int64) - np.repeat(np.cumsum(length) - length - x0, length)
    return base[of] + column * rows, life.written[of], life.read[of]


def _depth(index: Ints, written: Ints, read: Ints, grain: int) -> int:
    """Return the smallest multiple of `grain` at which no two live pixels share a slot."""
    if not len(index):
        return grain
    depth = -(-_most_alive(written, read) // grain) * grain
    while not _fits(index, written, read, depth):
        depth += grain
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
