"""The checker's replay of a tiled block: unit by unit, pixel by pixel, as custom_ops/src does it.

Naive, and written anew (checker.py). What lives in the block at the same time is proved to be apart all at once
(lives.py), much faster; this says what is wrong, and where, and decides what is not proved so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tflm_memopt.check.arena import Ints, TaggedArena
from tflm_memopt.check.frame import FrameReplay
from tflm_memopt.check.places import Place, check_lanes, places
from tflm_memopt.check.walk import StageWalk, Unit, check_walk, firings, steps_of
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Block, Role


class _RowPixels(NamedTuple):
    """Pixels of a row: their addresses, their marks, and how many bytes of each."""

    at: Ints
    marks: Ints
    nbytes: int


class TiledReplay:
    """One tiled block."""

    def __init__(
        self,
        arena: TaggedArena,
        number: int,
        block: Block,
        ops: Mapping[int, RowOp],
        frame: FrameReplay,
        fired: Callable[[], None] = lambda: None,
    ) -> None:
        """fired: told after each firing."""
        self.arena, self.number, self.block, self.frame, self.tell = arena, number, block, frame, fired
        self.steps = steps_of(block, ops)
        self.places = places(arena, frame, self.steps)
        self.fired = 0

    def run(self) -> None:
        self.arena.write_private(Role.COUNTERS, self.number, 8 * len(self.steps))
        for step in self.steps.values():
            check_lanes(self.arena, step)
            check_walk(step)
        for step in firings(self.number, self.block, self.steps):
            self._fire(step)
            self.tell()
        if self.fired != self.block.firings:
            raise PlanError(
                f"block {self.number} fires {self.fired} times, the plan says {self.block.firings}",
                code="plan_tile_firings",
            )
        # nobody writes them a second time: what was overwritten meanwhile is seen now
        self.arena.read_private(Role.COUNTERS, self.number, f"block {self.number}")
        macs = sum(step.macs for step in self.steps.values())
        if macs != self.block.macs:
            raise PlanError(
                f"block {self.number} multiplies {macs} times, the plan says {self.block.macs}", code="plan_tile_macs"
            )

    def _fire(self, step: StageWalk) -> None:
        unit, op, arena = step.unit, step.op, self.arena
        scratch = step.scratch + (self._take_frame(step) if self.frame.frame else 0)
        arena.write_scratch(self.number, scratch)
        if step.sums and step.opens[step.done]:
            arena.write_private(Role.ACCUMULATOR, op.output, step.sum_bytes)
        made = self._made(step, unit)
        if step.in_place:
            self._read(step, unit)
            self._in_order(step, unit)
            arena.write_pixels(*made)
        elif step.ends_late:
            last = made.at[0, -1].item() + made.nbytes - 1
            arena.write_late(last, lambda: arena.write_pixels(*made), lambda: self._read(step, unit))
        else:
            arena.write_pixels(*made)
            self._read(step, unit)
        arena.read_scratch(self.number, scratch, step)
        if step.sums:
            arena.read_private(Role.ACCUMULATOR, op.output, step)
        if unit.group < step.groups:
            step.pixels += unit.x1 - unit.x0
        self.fired += 1

    def _take_frame(self, step: StageWalk) -> int:
        """Waits for rows that are pushed; bytes of the pixels of one window that are made int8."""
        nbytes = 0
        for k, (rows, columns) in enumerate(step.reads()):
            if self.frame.is_frame(step.op.inputs[k]) and rows and columns:
                self.frame.wait_for(rows[-1] + 1, step)
                nbytes += step.window_bytes(k)
        return self.frame.converted(step.op, nbytes)

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

    def _read(self, step: StageWalk, unit: Unit) -> None:
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

    def _in_order(self, step: StageWalk, unit: Unit) -> None:
        """Pixel after pixel, front to back, each byte is read before its place is written."""
        nbytes, columns = step.op.writes.c, range(unit.x0, unit.x1)
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
