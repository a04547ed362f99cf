"""Replays the reads and writes of each iteration of a tiled group, for the plan checker.

The proof of all iterations at once (proof.py) is much faster, but the replay finds the place of a fault.
"""

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.check.nest import StageNest
from tflm_memopt.check.places import Place, check_column_windows, check_message, places
from tflm_memopt.check.replay import NO_OUTPUT, GroupReplay, Output
from tflm_memopt.errors import PlanError


class TiledReplay(GroupReplay):
    counter_bytes = 8

    def run(self) -> None:
        self.places = places(self.arena, self.source, self.steps)
        for step in self.steps.values():
            check_column_windows(self.arena, step)
            check_message(self.arena, step)
        super().run()

    def _output(self, step: StageNest) -> Output:
        op, current = step.op, step.current
        if op.sends:
            return NO_OUTPUT
        y, columns, first, nbytes = current.row, range(current.x0, current.x1), 0, op.writes.c
        if step.stage.iterative:
            y, columns = 0, range(op.writes.w if step.done == len(step) - 1 else 0)
        elif step.nest.sums:
            columns = columns if current.channel_group == step.nest.channel_groups - 1 else range(0)
        elif step.splits:
            first, nbytes = step.channels(current.channel_group)
        at, marks = self._pixels(self.places.output[step.stage.op], current.stripe, range(y, y + 1), columns, first)
        last = at[0, -1].item() + nbytes - 1 if at.size else -1
        return Output(last, lambda: self.arena.write_pixels(at, marks, nbytes))

    def _taken_in(self, step: StageNest, k: int, rows: range) -> int:
        return step.window_bytes(k)

    def _read(self, step: StageNest) -> None:
        if step.op.receives:
            return
        current = step.current
        for place, (rows, columns) in zip(self.places.inputs[step.stage.op], step.reads(), strict=True):
            if not rows or not columns:
                continue
            first, nbytes = 0, place.seen.c
            if place.maker is not None and place.maker.splits:
                first, nbytes = place.maker.channels(current.channel_group)
            at, marks = self._pixels(place, current.stripe, rows, columns, first)
            self.arena.read_pixels(place.tensor, at, marks, nbytes, step)

    def _in_order(self, step: StageNest) -> None:
        current, nbytes = step.current, step.op.writes.c
        columns, output = range(current.x0, current.x1), self.places.output[step.stage.op]
        to = self._pixels(output, current.stripe, range(current.row, current.row + 1), columns)[0].ravel().tolist()
        for place, (rows, read) in zip(self.places.inputs[step.stage.op], step.reads(), strict=True):
            seen = place.seen
            at = self._pixels(place, current.stripe, rows, read)[0].ravel().tolist()
            at = at * len(to) if len(read) < len(columns) else at  # a single pixel is broadcast
            for i, out in enumerate(to if at else ()):
                inside = at[i] < out < at[i] + seen.c or (seen.c < nbytes and out <= at[i] < out + nbytes)
                if inside or any(out < later + seen.c and later < out + nbytes for later in at[i + 1 :]):
                    raise PlanError(f"{step}: the output at {out} overwrites tensor {place.tensor} before it is read")

    def _pixels(self, place: Place, stripe: int, rows: range, columns: range, first: int = 0) -> tuple[Ints, Ints]:
        """Return addresses and tags of pixels from channel `first` on. Pixels outside the arena are left out."""
        if place.moves:
            return self._source_pixels(place, rows, columns)
        there, at, marks = place.cells(stripe if place.in_stripes else 0)
        if rows and (rows.start < there.start or rows.stop > there.stop):
            raise PlanError(f"tensor {place.tensor}: rows {rows[0]}..{rows[-1]} of stripe {stripe} are not kept")
        window = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
        if first and place.inside:  # A pixel in a rolling buffer has the channels of one channel group only.
            return at[window], marks[window] + first
        return at[window] + first if first else at[window], marks[window]

    def _source_pixels(self, place: Place, rows: range, columns: range) -> tuple[Ints, Ints]:
        found = [(row, start) for row in rows if (start := self.source.address(row)) is not None]
        y, starts = np.array(found, np.int64).reshape(-1, 2).T[..., None]
        x = np.arange(columns.start, columns.stop)
        here = starts + x * place.seen.c
        return here, self.arena.mark(place.tensor, (y * place.seen.w + x) * place.seen.c, here)
