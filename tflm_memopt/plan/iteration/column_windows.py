"""Finds the place and the lifetime of pixels that one operator of a tiled group passes to the next operator.

A column window holds a few columns of adjacent rows of a stripe. If a later stripe reads the rows of a column window,
the column window has room for whole rows. The line buffers of vMCU and msf-CNN always have room for whole rows.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from tflm_memopt.plan.iteration.trace import Lives, Member, Trace
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import ColumnWindow


def lives(trace: Trace, producer: Member) -> Lives:
    if producer.key not in trace.lives:
        trace.lives[producer.key] = _lives(trace, producer)
    return trace.lives[producer.key]


def _lives(trace: Trace, producer: Member) -> Lives:
    written, executed = trace.iterations_of(producer.key)
    if producer.iterative:  # An operator that adds to sums writes its pixels in the last iteration.
        written, executed = written[-1:], executed[-1:]
    each = producer.iterations
    read = np.full(len(each), -1, dtype=np.int64)
    stripe = each.stripe.copy()
    for member, k in trace.readers(producer.op.output):
        at, iteration = trace.iterations_of(member.key)
        reads, makers = _makers(producer, member, k, iteration)
        for latest, times in ((read, at), (stripe, member.iterations.stripe[iteration])):
            last = np.full(len(each), -1, dtype=np.int64)
            # If an index occurs twice, NumPy keeps the last value.
            last[makers.ravel()] = times[reads].repeat(makers.shape[1])
            np.maximum(latest, last, out=latest)
    return Lives(executed, written, np.maximum(read[executed], written), (stripe - each.stripe)[executed])


def _makers(producer: Member, reader: Member, k: int, iteration: Ints) -> tuple[Ints, Ints]:
    """Return the iterations of `reader` that read the tensor and, for each, the iterations of `producer` that write the
    pixels.
    """
    (r0, r1), (c0, c1) = reader.rows(k, iteration), reader.columns(k, iteration)
    (reads,) = ((r1 > r0) & (c1 > c0)).nonzero()
    if producer.iterative:
        return reads, np.full((len(reads), 1), len(producer.iterations) - 1)
    r0, r1, c0, c1 = (ends[reads, np.newaxis] for ends in (r0, r1, c0, c1))
    width, tile = int((c1 - c0).max(initial=1)), producer.nest.tile
    steps = np.append(np.arange(0, width - 1, tile), width - 1) if tile else np.zeros(1, dtype=np.int64)
    rows = np.minimum(r0 + np.arange(int((r1 - r0).max(initial=1))), r1 - 1)
    columns = np.minimum(c0 + steps, c1 - 1)
    makers = producer.iteration_making(
        reader, iteration[reads, np.newaxis, np.newaxis], rows[:, :, np.newaxis], columns[:, np.newaxis, :]
    )
    return reads, makers.reshape(len(reads), makers.shape[1] * makers.shape[2])


def column_windows_of(trace: Trace, producer: Member) -> tuple[ColumnWindow, ...]:
    life = lives(trace, producer)
    if producer.iterative:
        return (ColumnWindow(1, producer.op.writes.w),)
    lap, residue, period = _laps(producer, life)
    has_messages = producer.op.receives or any(reader.op.sends for reader, _ in trace.readers(producer.op.output))
    grain = producer.op.writes.w if has_messages else 1  # A message to another device carries a whole row.
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
    """For each iteration, return the place of its first pixel in the tensor's buffer, in pixels."""
    lap, residue, _ = _laps(producer, life)
    x0 = producer.iterations.x0[life.iteration]
    result, first, start = np.zeros(len(x0), dtype=np.int64), 0, 0
    for column_window in column_windows:
        index = (lap * producer.op.writes.w + x0) * column_window.rows + residue - first
        mine = (residue >= first) & (residue < first + column_window.rows)
        result[mine] = start + index[mine] % column_window.depth
        first, start = first + column_window.rows, start + column_window.depth
    return result


def _laps(producer: Member, life: Lives) -> tuple[Ints, Ints, int]:
    nest, each = producer.nest, producer.iterations
    period = nest.rows if nest.recomputes else nest.advance
    row, stripe = each.row[life.iteration], each.stripe[life.iteration]
    origin = stripe * nest.advance + nest.end - nest.rows if nest.recomputes else nest.origin
    lap, residue = np.divmod(row - origin, period)
    return lap, residue, period


def _runs(values: Ints) -> list[tuple[int, int]]:
    cuts = [0, *(int(i) + 1 for i in np.flatnonzero(np.diff(values))), len(values)]
    return [(a, b - a) for a, b in itertools.pairwise(cuts)]


def _pixels(producer: Member, life: Lives, base: Ints, rows: int, mine: Ints) -> tuple[Ints, Ints, Ints]:
    each = producer.iterations
    x0, x1 = each.x0[life.iteration[mine]], each.x1[life.iteration[mine]]
    length = x1 - x0
    of = np.repeat(mine, length)
    column = np.arange(len(of), dtype=np.int64) - np.repeat(np.cumsum(length) - length - x0, length)
    return base[of] + column * rows, life.written[of], life.read[of]


def _depth(index: Ints, written: Ints, read: Ints, grain: int) -> int:
    """Return how many pixels a rolling buffer needs to keep all live pixels: a multiple of `grain`."""
    if not len(index):
        return grain
    depth = -(-_most_alive(written, read) // grain) * grain
    while not _fits(index, written, read, depth):
        depth += grain
    return depth


def _most_alive(written: Ints, read: Ints) -> int:
    return int((np.arange(1, len(written) + 1) - np.sort(read).searchsorted(written)).max())


def _fits(index: Ints, written: Ints, read: Ints, depth: int) -> bool:
    slot = (index % depth).astype(np.uint16 if depth <= 1 << 16 else np.int64)
    order = slot.argsort(kind="stable")
    same = slot[order][1:] == slot[order][:-1]
    return bool(np.all((read[order][:-1] < written[order][1:])[same]))
