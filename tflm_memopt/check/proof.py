"""Proves for all iterations of a tiled group at once that no byte is overwritten before its last use (lives.py).

If the proof fails, tiles.py replays the iterations one by one, and finds the fault if there is one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.check.lives import BEFORE, LiveRanges, Unproved, apart, demand, joined, leave, overlap, pieces
from tflm_memopt.check.nest import (
    EARLY,
    LAST,
    LATE,
    MOMENTS,
    SCRATCH,
    SCRATCH_READ,
    SUMS,
    SUMS_READ,
    StageNest,
    check_nest,
    run_order,
    steps_of,
)
from tflm_memopt.check.places import Place, check_at_once, check_column_windows, check_message, places
from tflm_memopt.check.source import RunningGroup
from tflm_memopt.check.source_rows import SourceRows
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import Rows
from tflm_memopt.plan.plan import Role


@dataclass(frozen=True, slots=True)
class Executed:
    numbers: Ints
    positions: Ints
    moments: Ints


def proved(running: RunningGroup) -> bool:
    """Return whether the proof shows that a group loses no byte, and change arena and input as if the group had run."""
    try:
        _Proof(running).run()
    except (Unproved, PlanError):
        return False
    return True


class _Proof:
    def __init__(self, running: RunningGroup) -> None:
        self.arena, self.number, self.group, ops, self.source, _ = running
        self.steps = steps_of(self.group, ops)
        self.places = places(self.arena, self.source, self.steps)
        self.made: dict[TensorId, _Pixels] = {}
        self.found: dict[tuple[TensorId, Rows], _Pixels] = {}

    def run(self) -> None:
        for step in self.steps.values():
            check_column_windows(self.arena, step)
            check_nest(step)
            check_message(self.arena, step)
            check_at_once(self.arena, step)
            demand(not step.stage.iterative or (step.nest.channel_groups == 1 and not step.makes_again))
        positions = self._positions()
        rows = SourceRows(self.source, list(self._source_needs(positions)))
        executed = {
            key: Executed(numbers, position, rows.moment(position)) for key, (numbers, position) in positions.items()
        }
        self._count(executed)
        for key, step in self.steps.items():
            self.made[step.op.output] = _Pixels(self.places.output[key])
            self.made[step.op.output].write(step, executed[key])
        for key, step in self.steps.items():
            if not step.op.receives:
                self._read(step, executed[key], rows)
        pixels = self._pixels(rows)
        private = list(self._private(executed))
        cut = pieces(pixels)
        demand(apart(cut))
        for i, one in enumerate(private):
            for other in (pixels, *private[:i]):
                demand(not overlap(one, other))
        leave(self.arena, cut, private)
        self.source.pushed = rows.pushed

    def _positions(self) -> dict[int, tuple[Ints, Ints]]:
        numbers: dict[int, list[int]] = {key: [] for key in self.steps}
        positions: dict[int, list[int]] = {key: [] for key in self.steps}
        for position, step in enumerate(run_order(self.number, self.group, self.steps)):
            numbers[step.stage.op].append(step.done)
            positions[step.stage.op].append(position)
        return {key: (np.array(numbers[key], np.int64), np.array(positions[key], np.int64)) for key in self.steps}

    def _count(self, executed: Mapping[int, Executed]) -> None:
        demand(sum(len(one.numbers) for one in executed.values()) == self.group.iterations)
        for key, step in self.steps.items():
            numbers = executed[key].numbers[step.channel_group[executed[key].numbers] < step.channel_groups]
            step.pixels = int((step.x1 - step.x0)[numbers].sum())
        demand(sum(step.macs for step in self.steps.values()) == self.group.macs)

    def _source_needs(self, positions: Mapping[int, tuple[Ints, Ints]]) -> Iterator[tuple[Ints, Ints]]:
        for key, step in self.steps.items():
            for k, place in enumerate(self.places.inputs[key]):
                if place.moves:
                    numbers, position = positions[key]
                    some = step.windows[k].some[numbers]
                    yield position[some], step.windows[k].bottom[numbers[some]]

    def _read(self, step: StageNest, executed: Executed, rows: SourceRows) -> None:
        moments = executed.moments + (EARLY if step.in_place else LATE)
        if step.in_place:
            demand(step.nest.channel_groups == 1 and not step.sums)
        for k, place in enumerate(self.places.inputs[step.stage.op]):
            if place.moves:
                demand(not step.in_place or rows.clear_of(self.arena, self.made[step.op.output].lives(step)[0]))
                rows.read(step.windows[k].of(executed.numbers), executed.positions, moments)
                continue
            if step.in_place:
                demand(in_order(step, self.places.output[step.stage.op], k, place, executed.numbers))
            if place.tensor in self.made:
                pixels = self.made[place.tensor]
                demand(pixels.place.seen == place.seen)
            else:
                pixels = self.found.setdefault((place.tensor, place.seen), _Pixels(place))
            pixels.read_by(step, k, executed.numbers, moments)

    def _pixels(self, rows: SourceRows) -> LiveRanges:
        found = [rows.lives(self.arena)]
        for pixels in self.found.values():
            before = pixels.before()
            self.arena.read_pixels(pixels.place.tensor, before.at, before.marks, pixels.place.seen.c, "a group")
            found.append(before)
        for step in self.steps.values():
            found += [] if step.op.sends else self.made[step.op.output].lives(step)
        lives = joined(found)
        demand((lives.at >= 0).all() and (lives.end <= self.arena.end).all())
        return lives

    def _private(self, executed: Mapping[int, Executed]) -> Iterator[LiveRanges]:
        every = max((int(one.moments[-1]) for one in executed.values() if len(one.moments)), default=BEFORE) + MOMENTS
        begin, end = np.array([1]), np.array([every])
        yield self._live(Role.COUNTERS, self.number, 8 * len(self.steps), begin, end)
        for tensor in self.arena.copied(step.op.output for step in self.steps.values()):
            yield self._live(Role.WEIGHTS, tensor, 0, begin, end)
        for key, step in self.steps.items():
            mine = executed[key]
            scratch = np.full(len(mine.numbers), step.scratch)
            for k, place in enumerate(self.places.inputs[key]):
                if place.moves:
                    converted = self.source.converted(step.op, step.window_bytes(k))
                    scratch += np.where(step.windows[k].some[mine.numbers], converted, 0)
            for nbytes in np.unique(scratch[scratch > 0]).tolist():
                m = mine.moments[scratch == nbytes]
                yield self._live(Role.SCRATCH, self.number, nbytes, m + SCRATCH, m + SCRATCH_READ, exactly=True)
            if step.sums and len(mine.numbers):
                opens = np.flatnonzero(step.opens[mine.numbers])
                demand(opens[:1] == [0])
                closes = np.append(opens[1:], len(mine.numbers)) - 1
                read = mine.moments[closes] + SUMS_READ
                yield self._live(Role.ACCUMULATOR, step.op.output, step.sum_bytes, mine.moments[opens] + SUMS, read)

    def _live(
        self, role: Role, key: int, nbytes: int, written: Ints, read: Ints, *, exactly: bool = False
    ) -> LiveRanges:
        buffer, at = self.arena.at(role, key, nbytes)
        start = np.full_like(written, at)
        end = start + (nbytes if exactly else buffer.nbytes)
        return LiveRanges(start, end, written, read, self.arena.mark((role.value, key), 0, start))


class _Pixels:
    def __init__(self, place: Place) -> None:
        maker, seen = place.maker, place.seen
        self.place = place
        self._groups = maker.nest.channel_groups if maker and maker.splits else 1
        self._lo = maker.lo if maker and maker.makes_again else None
        stripes, self._rows = (
            (1, seen.h) if maker is None or self._lo is None else (len(self._lo), int(maker.made.max(initial=0)))
        )
        self._written = np.full(stripes * self._groups * self._rows * seen.w, BEFORE, dtype=np.int64)
        self._read = self._written.copy()

    def _index(self, stripe: Ints, channel_group: Ints, y: Ints, x: Ints) -> Ints:
        layer = channel_group if self._groups > 1 else 0 * channel_group
        if self._lo is not None:
            layer, y = layer + stripe * self._groups, y - self._lo[stripe]
        return (layer * self._rows + y) * self.place.seen.w + x

    def write(self, step: StageNest, executed: Executed) -> None:
        numbers, moments = executed.numbers, executed.moments + (LATE if step.in_place else EARLY)
        if step.stage.iterative:  # Operators that add to sums write all output pixels in the last iteration.
            last = np.flatnonzero(numbers == len(step) - 1)
            counts, x0, y = np.full(len(last), step.op.writes.w), 0 * last, 0 * last
            numbers, moments = numbers[last], moments[last]
        else:
            if step.nest.sums:  # Only the last channel group writes pixels.
                some = step.channel_group[numbers] == step.nest.channel_groups - 1
                numbers, moments = numbers[some], moments[some]
            counts, x0, y = step.x1[numbers] - step.x0[numbers], step.x0[numbers], step.row[numbers]
        of = np.repeat(np.arange(len(numbers)), counts)
        x = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts - x0, counts)
        numbers, y = numbers[of], y[of]
        self._made = step.stripe[numbers], step.channel_group[numbers], y, x
        self._ends = np.append(of[1:] != of[:-1], True)[: len(of)]
        self._written[self._index(*self._made)] = moments[of]

    def read_by(self, step: StageNest, k: int, numbers: Ints, moments: Ints) -> None:
        """Record an operator's reads of input k. Pixels that the group makes must exist when they are read."""
        reads = step.windows[k].some[numbers]
        numbers, moments = numbers[reads], moments[reads]
        window, stripe, channel_group = step.windows[k].of(numbers), step.stripe[numbers], step.channel_group[numbers]
        demand(self._groups == 1 or (channel_group < self._groups).all())
        if self._lo is not None and self.place.maker:
            demand((window.top >= self._lo[stripe]).all() and (window.bottom <= self.place.maker.hi[stripe]).all())
        first = self._index(stripe, channel_group, window.top, window.left)
        height, width = window.bottom - window.top, window.right - window.left
        for dy in range(int(height.max(initial=0))):
            for dx in range(int(width.max(initial=0))):
                some = (dy < height) & (dx < width)
                index, moment = (first + (dy * self.place.seen.w + dx))[some], moments[some]
                if self.place.maker:
                    demand(((self._written[index] > BEFORE) & (self._written[index] <= moment)).all())
                np.maximum.at(self._read, index, moment)

    def before(self) -> LiveRanges:
        y, x = np.divmod(np.flatnonzero(self._read), self.place.seen.w)
        at = self.place.at(0, y, x)
        return LiveRanges(
            at, at + self.place.seen.c, 0 * at + BEFORE, self._read[self._read > 0], self.place.marks(y, x, at)
        )

    def lives(self, step: StageNest) -> list[LiveRanges]:
        stripe, channel_group, y, x = self._made
        index = self._index(*self._made)
        first = channel_group * step.pixel_bytes if step.splits else 0 * y
        nbytes = np.minimum(step.pixel_bytes, step.op.writes.c - first)
        at = self.place.at(stripe, y, x)
        demand((at >= 0).all())
        at = at if self.place.inside else at + first
        written, marks = self._written[index], self.place.marks(y, x, at, first)
        if not step.ends_late:
            return [LiveRanges(at, at + nbytes, written, np.maximum(written, self._read[index]), marks)]
        late = written - EARLY + LAST  # Some kernels write the last byte of an output after all reads.
        read, end, ends = np.maximum(late, self._read[index]), at + nbytes, self._ends
        return [
            LiveRanges(at, end - ends, written, read, marks),
            LiveRanges((end - 1)[ends], end[ends], late[ends], read[ends], marks[ends]),
        ]


def in_order(step: StageNest, output: Place, k: int, place: Place, numbers: Ints) -> bool:
    """Return whether computing pixels from first to last reads each byte of input k before the byte is overwritten."""
    window, stripe = step.windows[k].of(numbers), step.stripe[numbers]
    made, read = step.x1[numbers] - step.x0[numbers], window.right - window.left
    demand((window.bottom == window.top + 1).all() and ((read == made) | (read == 1)).all())
    tile = np.arange(int(made.max(initial=0)))
    some = tile < made[:, None]
    x = np.where(some, tile, 0)
    to = output.at(stripe[:, None], step.row[numbers][:, None], step.x0[numbers][:, None] + x)
    at = place.at(stripe[:, None], window.top[:, None], window.left[:, None] + np.minimum(x, read[:, None] - 1))
    c, nbytes = place.seen.c, step.op.writes.c
    wrong = (at < to) & (to < at + c)
    if c < nbytes:
        wrong |= (to <= at) & (at < to + nbytes)
    found = (wrong & some).any()
    for d in range(1, len(tile)):
        later, out = at[:, d:], to[:, :-d]
        found |= ((out < later + c) & (later < out + nbytes) & some[:, d:]).any()
    return not found
