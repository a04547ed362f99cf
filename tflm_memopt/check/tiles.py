"""The checker's replay of a tiled block: each firing reads and writes pixels.

Naive, and written anew (checker.py). What lives in the block at the same time is proved to be apart all at once
(lives.py), much faster; this says what is wrong, and where, and decides what is not proved so.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.check.places import Place, Places, check_lanes, places
from tflm_memopt.check.replay import BlockReplay, Output
from tflm_memopt.check.walk import StageWalk, Unit
from tflm_memopt.errors import PlanError


class _RowPixels(NamedTuple):
    """Pixels of a row: their addresses, their marks, and how many bytes of each."""

    at: Ints
    marks: Ints
    nbytes: int


class TiledReplay(BlockReplay):
    """One tiled block."""

    counter_bytes = 8

    @cached_property
    def places(self) -> Places:
        """Where its tensors live."""
        return places(self.arena, self.frame, self.steps)

    def run(self) -> None:
        for step in self.steps.values():
            check_lanes(self.arena, step)
        super().run()

    def _output(self, step: StageWalk) -> Output:
        made = self._made(step, step.unit)
        last = made.at[0, -1].item() + made.nbytes - 1 if made.at.size else -1
        return Output(last, lambda: self.arena.write_pixels(*made))

    def _taken_in(self, step: StageWalk, k: int, rows: range) -> int:
        """As said there: those of one window."""
        return step.window_bytes(k)

    def _made(self, step: StageWalk, unit: Unit) -> _RowPixels:
        """What a unit writes: none where it only adds to sums."""
        op, place = step.op, self.places.output[step.stage.op]
        y, columns, first, nbytes = unit.row, range(unit.x0, unit.x1), 0, op.writes.c
        if step.stage.iterative:
            y, columns = 0, range(op.writes.w if step.done == len(step) - 1 else 0)
        elif step.walk.sums:
            columns = columns if unit.group == step.walk.groups - 1 else range(0)
        elif step.splits:
            first, nbytes = step.channels(unit.group)
        return _RowPixels(*self._pixels(place, unit.strip, range(y, y + 1), columns, first), nbytes)

    def _read(self, step: StageWalk) -> None:
        unit = step.unit
        for place, (rows, columns) in zip(self.places.inputs[step.stage.op], step.reads(), strict=True):
            if not rows or not columns:
                continue
            first, nbytes = 0, place.seen.c
            if place.maker is not None and place.maker.splits:
                width = -(-nbytes // place.maker.walk.groups)
                first = unit.group * width
                nbytes = min(width, nbytes - first)
            at, marks = self._pixels(place, unit.strip, rows, columns, first)
            self.arena.read_pixels(place.tensor, at, marks, nbytes, step)

    def _in_order(self, step: StageWalk) -> None:
        """As said there: pixel after pixel."""
        unit, nbytes = step.unit, step.op.writes.c
        columns = range(unit.x0, unit.x1)
        to = self._addresses(self.places.output[step.stage.op], unit, range(unit.row, unit.row + 1), columns)
        for place, (rows, read) in zip(self.places.inputs[step.stage.op], step.reads(), strict=True):
            seen = place.seen
            at = self._addresses(place, unit, rows, read)
            at = at * len(to) if len(read) < len(columns) else at  # one pixel for all
            for i, out in enumerate(to if at else ()):
                inside = at[i] < out < at[i] + seen.c or (seen.c < nbytes and out <= at[i] < out + nbytes)
                if inside or any(out < later + seen.c and later < out + nbytes for later in at[i + 1 :]):
                    raise PlanError(
                        f"{step}: the output at {out} overwrites tensor {place.tensor} before it is read",
                        code="plan_tile_in_place",
                    )

    def _addresses(self, place: Place, unit: Unit, rows: range, columns: range) -> list[int]:
        addresses: list[int] = self._pixels(place, unit.strip, rows, columns)[0].ravel().tolist()
        return addresses

    def _pixels(self, place: Place, strip: int, rows: range, columns: range, first: int = 0) -> tuple[Ints, Ints]:
        """Addresses and marks of the pixels of these rows and columns, from a channel on; none outside of the arena."""
        if place.moves:
            return self._frame_pixels(place, rows, columns)
        there, at, marks = place.cells(strip if place.in_strips else 0)
        if rows and (rows.start < there.start or rows.stop > there.stop):
            raise PlanError(
                f"tensor {place.tensor}: no lane has rows {rows[0]}..{rows[-1]} of strip {strip}", code="plan_lane_row"
            )
        window = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
        if first and place.inside:  # a lane holds the channels of one group
            return at[window], marks[window] + first
        return at[window] + first if first else at[window], marks[window]

    def _frame_pixels(self, place: Place, rows: range, columns: range) -> tuple[Ints, Ints]:
        """Addresses and marks of pixels of a streamed input, for the rows that are in the arena now."""
        found = [(row, start) for row in rows if (start := self.frame.address(row)) is not None]
        y, starts = np.array(found, np.int64).reshape(-1, 2).T[..., None]
        x = np.arange(columns.start, columns.stop)
        here = starts + x * place.seen.c
        return here, self.arena.mark(place.tensor, (y * place.seen.w + x) * place.seen.c, here)
