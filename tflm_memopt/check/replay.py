"""Replays all reads and writes of a group in the order of the C function tmo_run().

In a group that runs row by row, the replay treats each row of a tensor as a single pixel.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import Accesses, Ints, TaggedArena
from tflm_memopt.check.nest import StageNest, check_nest, run_order, steps_of
from tflm_memopt.check.places import Place, SourceReplay, check_at_once, check_column_windows, check_message, places
from tflm_memopt.check.windows import moved
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Group, Role

COUNTER_BYTES = {False: 2, True: 8}
"""Bytes of an operator's loop counters: without tiles (False) and with tiles (True)."""
MOST_PAIRS = 1 << 20
"""Maximum number of pairs of pixels that are compared at once."""


class IterationPhase(enum.IntEnum):
    """The phases of an iteration, in the order in which they happen."""

    INPUT_ARRIVES = 0
    SCRATCH = 1
    OLD_SUMS = 2
    SUMS = 3
    OLD_OUTPUT = 4
    FIRST = 5
    """In the phase FIRST, kernels that work in place read inputs, and all other kernels write outputs."""
    SECOND = 6
    """In the phase SECOND, kernels that work in place write outputs, and all other kernels read inputs."""
    LAST_BYTE = 7
    END = 8
    DONE = 9


class Pixels(NamedTuple):
    """Pixels that an operator's iterations access, in arrays with one element per access."""

    stripe: Ints
    y: Ints
    x: Ints
    time: Ints


class StageIterations(NamedTuple):
    """Iterations of one operator, with the time of the first phase of each iteration."""

    step: StageNest
    number: Ints
    time: Ints

    def each(self) -> Iterator[tuple[int, int]]:
        return zip(self.number.tolist(), self.time.tolist(), strict=True)

    def where(self, some: NDArray[np.bool_]) -> StageIterations:
        return StageIterations(self.step, self.number[some], self.time[some])

    def name(self, time: int) -> str:
        return self.step.name(int(self.number[self.time.searchsorted(time, side="right") - 1]))

    def by_channel_group(self, maker: StageNest | None, nbytes: int) -> Iterator[tuple[StageIterations, int, int]]:
        """Yield the iterations for each range of channels, with the first channel and the number of channels.

        The argument `maker` is the operator that writes the pixels, and `nbytes` is the size of a pixel.
        """
        if maker is None or not maker.splits:
            yield self, 0, nbytes
            return
        group = self.step.channel_group[self.number]
        for one in np.unique(group).tolist():
            yield self.where(group == one), *maker.channels(one)


class GroupReplay:
    def __init__(
        self,
        arena: TaggedArena,
        number: int,
        group: Group,
        ops: Mapping[int, RowOp],
        source: SourceReplay,
        states: Collection[TensorId],
        observers: Sequence[Callable[[StageNest], None]],
    ) -> None:
        """After each iteration, each function in `observers` is called with the operator that ran."""
        self.arena, self.number, self.group, self.source, self.states = arena, number, group, source, states
        self.observers, self.steps = observers, steps_of(group, ops)
        self.tiled = self.group.stripes > 0
        self.places = places(self.arena, self.source, self.steps, tiled=self.tiled)

    def run(self) -> None:
        for step in self.steps.values():
            check_column_windows(self.arena, step)
            if self.tiled:
                check_message(self.arena, step)
            check_nest(step)
            check_at_once(self.arena, step)
        written_once = [(Role.COUNTERS, self.number, COUNTER_BYTES[self.tiled] * len(self.steps))]
        for tensor in self.arena.copied(step.op.output for step in self.steps.values()):
            written_once.append((Role.WEIGHTS, tensor, self.arena.at(Role.WEIGHTS, tensor)[0].nbytes))
        for private in written_once:
            self.arena.private(*private)
        began = self.arena.now + 1
        batches = [
            StageIterations(step, number, began + len(IterationPhase) * at)
            for step, at, number in run_order(self.number, self.group, self.steps)
        ]
        executed = sum(len(batch.number) for batch in batches)
        if executed != self.group.iterations:
            raise PlanError(f"group {self.number} runs {executed} iterations, but the plan has {self.group.iterations}")
        self._run(batches)
        self.arena.now = began + len(IterationPhase) * executed
        for private in written_once:
            self.arena.private(*private, reader=lambda _: f"group {self.number}")
        macs = sum(batch.step.macs(batch.number) for batch in batches)
        if macs != self.group.macs:
            raise PlanError(f"group {self.number} multiplies {macs} times, but the plan has {self.group.macs}")

    def _run(self, batches: Sequence[StageIterations]) -> None:
        scratch = {batch.step.stage.op: np.full(len(batch.number), batch.step.scratch) for batch in batches}
        source = {b.step.stage.op for b in batches if any(map(self.source.is_source, b.step.op.inputs))}
        one_by_one = [b for b in batches if self.observers or b.step.stage.op in source]
        in_turn = ((time, i, b.step, number) for b in one_by_one for i, (number, time) in enumerate(b.each()))
        for time, i, step, number in sorted(in_turn, key=itemgetter(0)):
            self.arena.now, step.done = time, number
            if step.stage.op in source:
                scratch[step.stage.op][i] += self._take_source(step)
            self.arena.now = time + IterationPhase.DONE
            for observe in self.observers:
                observe(step)
        for batch in batches:
            if len(batch.number):
                self._execute(batch, scratch[batch.step.stage.op])

    def _execute(self, batch: StageIterations, scratch: Ints) -> None:
        step, time, arena = batch.step, batch.time, self.arena
        for nbytes in np.unique(scratch).tolist():
            during = time[scratch == nbytes]
            arena.private(Role.SCRATCH, self.number, nbytes, during + IterationPhase.SCRATCH)
            arena.private(Role.SCRATCH, self.number, nbytes, during + IterationPhase.END, batch.name)
        if step.sums:
            # Every iteration updates all sums, so the first and the last iteration prove that the sums stay intact.
            sums, opens = (Role.ACCUMULATOR, step.op.output, step.sum_bytes), step.opens[batch.number]
            first = np.flatnonzero(opens)
            last = np.append(first[first > 0], len(opens)) - 1
            arena.private(*sums, time[: first.min(initial=1)] + IterationPhase.OLD_SUMS, batch.name)
            arena.private(*sums, time[first] + IterationPhase.SUMS)
            arena.private(*sums, time[last] + IterationPhase.END, batch.name)
        self._write(batch)
        self._read(batch)
        if step.in_place:
            self._in_order(batch)

    def _take_source(self, step: StageNest) -> int:
        """Replay the reads of the model's input, and return how many bytes are converted to int8 in scratch memory."""
        nbytes, op, found = 0, step.op, []
        for k, (rows, columns) in enumerate(step.reads()):
            if self.source.is_source(op.inputs[k]) and rows and columns:
                self.source.wait_for(rows[-1] + 1, step)
                taps = rows[:: op.window.dilation_h] if k == 0 else rows
                nbytes += step.window_bytes(k) if self.tiled else len(taps) * op.reads[k].row_bytes
                found += [(self.places[step.stage.op][k], row, columns) for row in rows]
        self.arena.now += IterationPhase.FIRST if step.in_place else IterationPhase.SECOND
        for place, row, columns in found:
            if (start := self.source.address(row)) is not None:
                width, c, x = place.seen.w, place.seen.c, columns.start
                end = min(columns.stop, width)
                self.arena.run(place.tensor, start + x * c, (row * width + x) * c, (end - x) * c, str(step))
        return self.source.converted(op, nbytes)

    def _write(self, batch: StageIterations) -> None:
        step, op, place = batch.step, batch.step.op, self.places[batch.step.stage.op][-1]
        phase = IterationPhase.SECOND if step.in_place else IterationPhase.FIRST
        for some, first, nbytes in batch.by_channel_group(step, place.seen.c) if not op.leaves else ():
            pixels = _made(some, place.seen.w)
            at, marks = self._pixels(place, pixels, first)
            if op.scatters:  # Bytes that earlier iterations wrote must still be in the output.
                later = pixels.time > batch.time[:1]
                time = pixels.time[later] + IterationPhase.OLD_OUTPUT
                self.arena.access(Accesses(op.output, at[later], marks[later], nbytes, time, batch.name))
            late = step.ends_late & (np.diff(pixels.time, append=-1) != 0)
            early, last = pixels.time[~late] + phase, at[late] + nbytes - 1
            for part in (
                Accesses(op.output, at[~late], marks[~late], nbytes, early),
                Accesses(op.output, at[late], marks[late], nbytes - 1, pixels.time[late] + phase),
                Accesses(op.output, last, marks[late], 1, pixels.time[late] + IterationPhase.LAST_BYTE),
            ):
                self.arena.access(part)

    def _read(self, batch: StageIterations) -> None:
        """A COPY reads only the bytes that it moves."""
        step = batch.step
        if step.op.receives:
            return
        phase, inputs = (
            IterationPhase.FIRST if step.in_place else IterationPhase.SECOND,
            self.places[step.stage.op][:-1],
        )
        copies = step.op.moves is not None and not step.op.scatters and not self.tiled
        for k, place in enumerate(inputs):
            if place.moves or copies or place.tensor in self.states:
                continue
            for some, first, nbytes in batch.by_channel_group(place.maker, place.seen.c):
                pixels = self._window(some, place, k)
                if not place.in_stripes:  # A pixel is written once, so its first and last read prove the others.
                    pixels = _first_and_last(pixels, place.seen.w)
                at, marks = self._pixels(place, pixels, first)
                self.arena.access(Accesses(place.tensor, at, marks, nbytes, pixels.time + phase, batch.name))
        if copies:
            self._read_moved(batch, inputs)

    def _read_moved(self, batch: StageIterations, inputs: Sequence[Place]) -> None:
        for number, time in batch.each():
            for k, row, part in moved(batch.step.op, number):
                if k < len(inputs) and not inputs[k].moves and inputs[k].tensor not in self.states:
                    pixels = Pixels(*(np.array([value]) for value in (0, row, 0, time + IterationPhase.SECOND)))
                    at, marks = self._pixels(inputs[k], pixels)
                    moves = Accesses(inputs[k].tensor, at + part.start, marks, len(part), pixels.time, batch.name)
                    self.arena.access(moves)

    def _window(self, batch: StageIterations, place: Place, k: int) -> Pixels:
        """Return the pixels of input `k` that the iterations read, possibly with repeated pixels at the border."""
        top, bottom, left, right = (edge[batch.number] for edge in batch.step.windows[k])
        some = (bottom > top) & (right > left) & (left < place.seen.w)
        top, bottom, left, right = (edge[some][:, None, None] for edge in (top, bottom, left, right))
        right = np.minimum(right, place.seen.w)
        height, width = (int((end - start).max(initial=1)) for start, end in ((top, bottom), (left, right)))
        y = np.minimum(top + np.arange(height)[:, None], bottom - 1)
        x = np.minimum(left + np.arange(width), right - 1)
        others = batch.step.stripe[batch.number][some][:, None, None], batch.time[some][:, None, None]
        stripe, y, x, time = (axis.ravel() for axis in np.broadcast_arrays(others[0], y, x, others[1]))
        return Pixels(stripe, y, x, time)

    def _in_order(self, batch: StageIterations) -> None:
        *inputs, output = self.places[batch.step.stage.op]
        length = (np.minimum(batch.step.x1, output.seen.w) - batch.step.x0)[batch.number]
        for columns in np.unique(length).tolist():
            alike, most = batch.where(length == columns), max(1, MOST_PAIRS // max(1, columns * columns))
            for start in range(0, len(alike.number), most):
                part = StageIterations(batch.step, *(axis[start : start + most] for axis in alike[1:]))
                for k, place in enumerate(inputs):
                    if place.tensor not in self.states and not place.moves:
                        self._compare_in_order(part, columns, place, k)

    def _compare_in_order(self, batch: StageIterations, columns: int, place: Place, k: int) -> None:
        step, output, count = batch.step, self.places[batch.step.stage.op][-1], len(batch.number)
        stripe, y, x0 = (axis[batch.number][:, None] for axis in (step.stripe, step.row, step.x0))
        pixels = np.broadcast_arrays(stripe, y, x0 + np.arange(columns), batch.time[:, None])
        to = self._pixels(output, Pixels(*(axis.ravel() for axis in pixels)))[0].reshape(count, columns)
        read = self._window(batch, place, k)
        if not len(read.y):
            return
        at = np.broadcast_to(self._pixels(place, read)[0].reshape(count, -1), to.shape)
        c, nbytes = place.seen.c, output.seen.c
        wrong = (at < to) & (to < at + c)
        if c < nbytes:
            wrong |= (to <= at) & (at < to + nbytes)
        over = (to[:, :, None] < at[:, None, :] + c) & (at[:, None, :] < to[:, :, None] + nbytes)
        late = (wrong | np.triu(over, 1).any(axis=2)).any(axis=1)
        if late.any():
            name = step.name(int(batch.number[late.argmax()]))
            raise PlanError(f"{name}: the output overwrites tensor {place.tensor} before it is read")

    def _pixels(self, place: Place, pixels: Pixels, first: int = 0) -> tuple[Ints, Ints]:
        """Return the arena addresses and the marks of pixels, from the channel `first` on."""
        stripe, y, x, _ = pixels
        if not len(y):
            return y, y
        low, high = place.rows(stripe)
        if (wrong := (y < low) | (y >= high)).any():
            i = int(wrong.argmax())
            raise PlanError(f"tensor {place.tensor}: row {y[i]} of stripe {stripe[i]} is not kept")
        at = place.at(stripe, y, x)
        marks = place.marks(y, x, at)
        if first and place.inside:  # A rolling buffer holds the channels of only one channel group.
            return at, marks + first
        return at + first if first else at, marks


def _made(batch: StageIterations, width: int) -> Pixels:
    """Return the pixels that iterations write to an output of `width` columns."""
    step, number = batch.step, batch.number
    y, x0, x1 = step.row[number], step.x0[number], step.x1[number]
    if step.stage.iterative:
        # Any iteration may write any scattered pixel, so only the first and the last iteration are replayed.
        writes = (number == len(step) - 1) | (step.op.scatters & np.isin(number, [*number[:1], *number[-1:]]))
        y, x0, x1 = 0 * y, 0 * x0, writes * step.op.writes.w
    elif step.nest.sums:
        x1 = np.where(step.channel_group[number] == step.nest.channel_groups - 1, x1, x0)
    length = np.maximum(np.minimum(x1, width) - x0, 0)
    each = np.repeat(np.arange(len(number)), length)
    x = np.arange(len(each)) - (length.cumsum() - length - x0)[each]
    return Pixels(step.stripe[number][each], y[each], x, batch.time[each])


def _first_and_last(pixels: Pixels, width: int) -> Pixels:
    """Return the first and the last access to each pixel, in the order of their times."""
    number = pixels.y * width + pixels.x
    last = np.full(int(number.max(initial=-1)) + 1, -1)
    first = last.copy()
    last[number] = np.arange(len(number))  # If an index occurs twice, NumPy keeps the last value.
    first[number[::-1]] = np.arange(len(number))[::-1]
    some = np.unique(np.concatenate([first[first >= 0], last[last >= 0]]))
    return Pixels(*(axis[some] for axis in pixels))
