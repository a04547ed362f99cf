"""Replays all reads and writes of a group in the order of the C function tmo_run().

In a group that runs row by row, the replay treats each row of a tensor as a single pixel.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.check.nest import StageNest, check_nest, run_order, steps_of
from tflm_memopt.check.places import Place, check_at_once, check_column_windows, check_message, places
from tflm_memopt.check.source import RunningGroup
from tflm_memopt.check.windows import moved
from tflm_memopt.errors import PlanError
from tflm_memopt.plan.plan import Role

COUNTER_BYTES = {False: 2, True: 8}
"""Size of an operator's counters in bytes. The key tells whether the group runs in tiles."""


class Output(NamedTuple):
    last: int
    """Address of the last byte that the iteration writes, or -1 if the iteration writes nothing."""
    write: Callable[[], None]


class GroupReplay:
    def __init__(self, running: RunningGroup, observers: Sequence[Callable[[StageNest], None]]) -> None:
        """After each iteration, each function in `observers` is called with the operator that ran."""
        self.arena, self.number, self.group, ops, self.source, self.states = running
        self.observers, self.steps, self.executed = observers, steps_of(self.group, ops), 0
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
            self.arena.write_private(*private)
        for step in run_order(self.number, self.group, self.steps):
            self._execute(step)
            for observe in self.observers:
                observe(step)
        if self.executed != self.group.iterations:
            raise PlanError(
                f"group {self.number} runs {self.executed} iterations, but the plan has {self.group.iterations}"
            )
        for private in written_once:
            self.arena.read_private(*private, f"group {self.number}")
        macs = sum(step.macs for step in self.steps.values())
        if macs != self.group.macs:
            raise PlanError(f"group {self.number} multiplies {macs} times, but the plan has {self.group.macs}")

    def _execute(self, step: StageNest) -> None:
        op, arena = step.op, self.arena
        scratch = step.scratch + (self._take_source(step) if self.source.source else 0)
        arena.write_private(Role.SCRATCH, self.number, scratch)
        if step.sums:
            if not step.opens[step.done]:
                arena.read_private(Role.ACCUMULATOR, op.output, step.sum_bytes, step)
            arena.write_private(Role.ACCUMULATOR, op.output, step.sum_bytes)
        output = self._output(step)
        if step.in_place:
            self._read(step)
            self._in_order(step)
            output.write()
        elif step.ends_late:
            arena.write_late(output.last, output.write, lambda: self._read(step))
        else:
            output.write()
            self._read(step)
        arena.read_private(Role.SCRATCH, self.number, scratch, step)
        if step.sums:
            arena.read_private(Role.ACCUMULATOR, op.output, step.sum_bytes, step)
        step.count()
        self.executed += 1

    def _take_source(self, step: StageNest) -> int:
        nbytes, op = 0, step.op
        for k, (rows, columns) in enumerate(step.reads()):
            if self.source.is_source(op.inputs[k]) and rows and columns:
                self.source.wait_for(rows[-1] + 1, step)
                taps = rows[:: op.window.dilation_h] if k == 0 else rows
                nbytes += step.window_bytes(k) if self.tiled else len(taps) * op.reads[k].row_bytes
        return self.source.converted(op, nbytes)

    def _output(self, step: StageNest) -> Output:
        op, current, place = step.op, step.current, self.places[step.stage.op][-1]
        if op.leaves:
            return Output(-1, lambda: None)
        y, columns, first, nbytes = current.row, range(current.x0, current.x1), 0, place.seen.c
        if step.stage.iterative:
            y, columns = 0, range(op.writes.w if op.scatters or step.done == len(step) - 1 else 0)
        elif step.nest.sums:
            columns = columns if current.channel_group == step.nest.channel_groups - 1 else range(0)
        elif step.splits:
            first, nbytes = step.channels(current.channel_group)
        at, marks = self._pixels(place, current.stripe, range(y, y + 1), columns, first)
        if op.scatters and step.done:  # Bytes that earlier iterations wrote must still be in the output.
            self.arena.read_pixels(op.output, at, marks, nbytes, step)
        last = at[0, -1].item() + nbytes - 1 if at.size else -1
        return Output(last, lambda: self.arena.write_pixels(at, marks, nbytes))

    def _read(self, step: StageNest) -> None:
        """Replay the reads of an iteration. A COPY reads only the bytes that it moves."""
        if step.op.receives:
            return
        inputs, stripe = self.places[step.stage.op][:-1], step.current.stripe
        copies = step.op.moves is not None and not step.op.scatters and not self.tiled
        for place, (rows, columns) in zip(inputs, step.reads(), strict=True):
            if not rows or not columns or place.tensor in self.states or (copies and not place.moves):
                continue
            first, nbytes = 0, place.seen.c
            if place.maker is not None and place.maker.splits:
                first, nbytes = place.maker.channels(step.current.channel_group)
            at, marks = self._pixels(place, stripe, rows, columns, first)
            self.arena.read_pixels(place.tensor, at, marks, nbytes, step)
        for k, row, part in moved(step.op, step.done) if copies else ():
            if k < len(inputs) and not inputs[k].moves and inputs[k].tensor not in self.states:
                at, marks = self._pixels(inputs[k], stripe, range(row, row + 1), range(1))
                self.arena.read_pixels(inputs[k].tensor, at + part.start, marks, len(part), step)

    def _in_order(self, step: StageNest) -> None:
        current, (*inputs, output) = step.current, self.places[step.stage.op]
        columns, nbytes = range(current.x0, current.x1), output.seen.c
        to = self._pixels(output, current.stripe, range(current.row, current.row + 1), columns)[0].ravel()
        for place, (rows, read) in zip(inputs, step.reads(), strict=True):
            if place.tensor in self.states:
                continue
            c, found = place.seen.c, self._pixels(place, current.stripe, rows, read)[0].ravel()
            if not found.size:
                continue
            at = np.broadcast_to(found, to.shape)
            wrong = (at < to) & (to < at + c)
            if c < nbytes:
                wrong |= (to <= at) & (at < to + nbytes)
            over_later = np.triu((to[:, None] < at + c) & (at < to[:, None] + nbytes), 1)
            if (wrong | over_later.any(axis=1)).any():
                raise PlanError(f"{step}: the output overwrites tensor {place.tensor} before it is read")

    def _pixels(self, place: Place, stripe: int, rows: range, columns: range, first: int = 0) -> tuple[Ints, Ints]:
        """Return the addresses and tags of pixels in the arena, beginning with channel `first`."""
        if place.moves:
            return self._source_pixels(place, rows, columns)
        there, at, marks = place.cells(stripe if place.in_stripes else 0)
        if rows and (rows.start < there.start or rows.stop > there.stop):
            raise PlanError(f"tensor {place.tensor}: rows {rows[0]}..{rows[-1]} of stripe {stripe} are not kept")
        window = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
        if first and place.inside:  # A rolling buffer holds the channels of only one channel group.
            return at[window], marks[window] + first
        return at[window] + first if first else at[window], marks[window]

    def _source_pixels(self, place: Place, rows: range, columns: range) -> tuple[Ints, Ints]:
        found = [(row, start) for row in rows if (start := self.source.address(row)) is not None]
        y, starts = np.array(found, np.int64).reshape(-1, 2).T[..., None]
        x = np.arange(place.seen.w)[columns.start : columns.stop]
        here = starts + x * place.seen.c
        return here, self.arena.mark(place.tensor, (y * place.seen.w + x) * place.seen.c, here)
