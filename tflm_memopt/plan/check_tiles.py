"""The checker's replay of a tiled block: unit by unit, pixel by pixel, as custom_ops/src does it.

Naive, and written anew (check.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.rowop import BINARY, RowOp, Rows
from tflm_memopt.plan.check_arena import Arena, Ints
from tflm_memopt.plan.check_frame import FrameReplay
from tflm_memopt.plan.check_packed import kernel_scratch
from tflm_memopt.plan.plan import Block, Role, Stage


class Unit(NamedTuple):
    """What fires at once: pixels [x0, x1) of a row, in a strip, for a channel group."""

    strip: int
    group: int
    row: int
    x0: int
    x1: int


Window = tuple[range, range]
"""Rows and columns of a tensor."""


class _Step:
    """An operator of the block, and how far it got."""

    def __init__(self, stage: Stage, op: RowOp, strips: int, *, turned: bool) -> None:
        self.stage, self.op, self.walk, self.turned = stage, op, stage.walk, turned
        self.walked: Rows = op.reads[0] if stage.iterative else op.writes
        self.strips = [self._strip(m) for m in range(strips)]
        self.strip_of = {row: m for m, (first, end) in enumerate(self.strips) for row in range(first, end)}
        self.units = list(self._units())
        tile = self.walk.tile or self.walked.w
        self.number = {(u.strip, u.group, u.row, u.x0 // tile): i for i, u in enumerate(self.units)}
        self.tile = tile
        self.scratch = kernel_scratch(stage, op, tile)
        self.in_place, self.ends_late = op.in_place, op.ends_late
        self.window = cache(self._window)
        self.splits = stage.walk.groups > 1 and not stage.walk.sums
        self.makes_again = stage.walk.rows > stage.walk.advance
        self.done = 0
        self._reads: tuple[int, list[Window]] = -1, []
        self.needs: tuple[int, list[tuple[_Step, int]]] = -1, []
        """Of a unit: which units of others must be done before."""
        self.pixels = 0
        """Walked so far, those of each group."""

    @property
    def groups(self) -> int:
        """Without the pass that only writes sums."""
        return self.walk.groups - self.walk.sums

    @property
    def macs(self) -> int:
        """Multiply-accumulates so far."""
        return self.op.macs * self.pixels // (self.walked.h * self.walked.w * self.groups)

    @property
    def sums(self) -> int:
        """int32 sums that it keeps."""
        rows = 1 if self.stage.iterative else max(end - first for first, end in self.strips)
        return rows * self.op.writes.w * self.op.writes.c

    def _strip(self, m: int) -> tuple[int, int]:
        def clipped(row: int) -> int:
            return min(max(row, 0), self.walked.h)

        w = self.walk
        end = m * w.advance + w.end
        if w.rows > w.advance:
            return clipped(end - w.rows), clipped(end)
        return (clipped(end - w.advance) if m else 0), clipped(end)

    def _units(self) -> Iterator[Unit]:
        tile = self.walk.tile or self.walked.w
        for m, (first, end) in enumerate(self.strips):
            for group in range(self.walk.groups):
                for x0 in range(0, self.walked.w, tile):
                    for row in range(first, end):
                        yield Unit(m, group, row, x0, min(x0 + tile, self.walked.w))

    def __str__(self) -> str:
        return f"operator {self.stage.op} {self.op.name}, unit {tuple(self.units[self.done])}"

    def reads(self) -> list[Window]:
        """What the unit that is next reads of each input."""
        number, windows = self._reads
        if number != self.done:
            unit = self.units[self.done]
            inputs = range(len(self.op.inputs))
            if self.walk.sums and unit.group == self.walk.groups - 1:
                windows = [(range(0), range(0)) for _ in inputs]
            else:
                windows = [self.window(k, unit.row, unit.x0, unit.x1) for k in inputs]
            self._reads = self.done, windows
        return windows

    def _window(self, k: int, y: int, x0: int, x1: int) -> Window:
        """What any unit that makes pixels [x0, x1) of row y reads of input k."""
        if self.stage.iterative:
            return range(y, y + 1), range(x0, x1)
        w, seen = self.op.window, self.op.reads[k]
        if self.turned:
            made = self.op.writes
            y, x0, x1 = made.h - 1 - y, made.w - x1, made.w - x0
        top, left = y * w.stride_h - w.pad_top, x0 * w.stride_w - w.pad_left
        right = (x1 - 1) * w.stride_w - w.pad_left + (w.kernel_w - 1) * w.dilation_w + 1
        if self.op.kind in BINARY:  # an operand of one row, or of one column, has no other
            top, left = min(top, seen.h - 1), min(left, seen.w - 1)
        rows = range(max(0, top), min(seen.h, top + (w.kernel_h - 1) * w.dilation_h + 1))
        columns = range(max(0, left), min(seen.w, right))
        if self.turned:
            rows, columns = _from_the_end(rows, seen.h), _from_the_end(columns, seen.w)
        return rows, columns

    def unit_for(self, unit: Unit, row: int, column: int) -> int:
        """Number of the unit that makes a pixel for a reader's unit."""
        if self.stage.iterative:
            return len(self.units) - 1
        strip = unit.strip if self.makes_again else self.strip_of.get(row, -1)
        group = unit.group if self.splits else self.walk.groups - 1
        try:
            return self.number[strip, group, row, column // self.tile]
        except KeyError:
            raise PlanError(
                f"operator {self.stage.op}: row {row} is not made in strip {strip}, group {group}",
                code="plan_unmade_row",
            ) from None

    @property
    def pixel_bytes(self) -> int:
        """Of its output as it is kept inside the block."""
        return -(-self.op.writes.c // self.walk.groups) if self.splits else self.op.writes.c

    def skip_to(self, wanted: int) -> None:
        """Where the overlap is made again, strips that nobody asked for are not made."""
        strip = self.units[wanted].strip
        while self.makes_again and self.units[self.done].strip < strip:
            self.done += 1


def _from_the_end(places: range, size: int) -> range:
    """The same of `size` places, counted from the last to the first."""
    return range(size - places.stop, size - places.start)


@dataclass(frozen=True)
class _Place:
    """Where a tensor is for an operator of the block."""

    tensor: TensorId
    seen: Rows
    maker: _Step | None
    """In the block."""
    inside: bool
    """In lanes."""
    moves: bool
    """It is the input that is not in the arena as a whole."""
    cells: Callable[[int], Cells]
    """Of a strip; where no rows are made again, all strips have those of strip 0."""

    @cached_property
    def strips(self) -> bool:
        """Whether rows are made again, strip by strip."""
        return self.inside and self.maker is not None and self.maker.makes_again


class Cells(NamedTuple):
    """Of all pixels of a tensor: where they live, and their marks. `there`: the rows that do."""

    there: range
    at: Ints
    marks: Ints


class _Pixels(NamedTuple):
    """Of a row: addresses, marks, and how many bytes of each pixel."""

    at: Ints
    marks: Ints
    nbytes: int


class TiledReplay:
    """One tiled block."""

    def __init__(self, arena: Arena, number: int, block: Block, ops: Mapping[int, RowOp], frame: FrameReplay) -> None:
        self.arena, self.number, self.block, self.frame = arena, number, block, frame
        self.steps = {
            stage.op: _Step(stage, ops[stage.op], block.strips, turned=block.turned) for stage in block.stages
        }
        self.maker = {step.op.output: step for step in self.steps.values()}
        self.inputs = {
            key: [self._place(t, rows) for t, rows in zip(step.op.inputs, step.op.reads, strict=True)]
            for key, step in self.steps.items()
        }
        self.output = {key: self._place(step.op.output, step.op.writes) for key, step in self.steps.items()}
        self.fired = 0

    def run(self) -> None:
        self.arena.write_private(Role.COUNTERS, self.number, 8 * len(self.steps))
        for step in self.steps.values():
            self._check_lanes(step)
            self._check_groups(step)
        for sink in self.block.sinks:
            if sink not in self.steps:
                raise PlanError(
                    f"block {self.number} wants all rows of operator {sink}, which is not in it", code="plan_tile_sink"
                )
            step = self.steps[sink]
            while step.done < len(step.units):
                self._demand(step)
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

    def _check_groups(self, step: _Step) -> None:
        """Every group has channels."""
        channels = step.op.reads[0].c if step.walk.sums else step.op.writes.c
        if step.groups < 1 or (step.groups - 1) * -(-channels // step.groups) >= channels:
            raise PlanError(
                f"operator {step.stage.op}: {channels} channels in {step.groups} groups", code="plan_groups"
            )

    def _check_lanes(self, step: _Step) -> None:
        """The lanes hold a strip's rows, and fill their buffer."""
        tensor = step.op.output
        if (Role.RING, tensor) in self.arena.home:
            buffer, _ = self.arena.at(Role.RING, tensor)
            rows = 1 if step.stage.iterative else step.walk.rows
            if [lane for lane in buffer.lanes if lane.depth < 1] or sum(lane.rows for lane in buffer.lanes) != rows:
                raise PlanError(
                    f"ring of tensor {tensor}: its lanes are not the {rows} rows of a strip", code="plan_lane_rows"
                )
            nbytes = sum(lane.depth for lane in buffer.lanes) * step.pixel_bytes
            if nbytes != buffer.nbytes:
                raise PlanError(
                    f"ring of tensor {tensor}: its lanes take {nbytes} bytes, not {buffer.nbytes}",
                    code="plan_lane_bytes",
                )

    def _demand(self, step: _Step) -> None:
        waiting = [step]
        while waiting:
            step = waiting[-1]
            for maker, wanted in self._needs(step):
                if maker.done <= wanted:
                    maker.skip_to(wanted)
                    waiting.append(maker)
                    break
            else:
                self._fire(waiting.pop())

    def _needs(self, step: _Step) -> list[tuple[_Step, int]]:
        """Which units of others must be done before the next one, in the order of demand."""
        number, needs = step.needs
        if number != step.done:
            unit, windows, inputs = step.units[step.done], step.reads(), self.inputs[step.stage.op]
            needs = [
                (maker, maker.unit_for(unit, rows[-1], columns[-1]))
                for k in step.stage.operands
                if (maker := inputs[k].maker) and (rows := windows[k][0]) and (columns := windows[k][1])
            ]
            step.needs = step.done, needs
        return needs

    def _fire(self, step: _Step) -> None:
        unit, op, arena = step.units[step.done], step.op, self.arena
        scratch = step.scratch + (self._take_frame(step) if self.frame.frame else 0)
        arena.write_scratch(self.number, scratch)
        sums = step.stage.iterative or step.walk.sums
        if sums and self._opens(step, unit):
            arena.write_private(Role.ACCUMULATOR, op.output, 4 * step.sums)
        made = self._made(step, unit)
        if step.in_place:
            self._read(step, unit)
            self._in_order(step, unit)
            arena.write_pixels(*made)
        elif step.ends_late and not sums and not step.splits:
            last = made.at[0, -1].item() + made.nbytes - 1
            arena.write_late(last, lambda: arena.write_pixels(*made), lambda: self._read(step, unit))
        else:
            arena.write_pixels(*made)
            self._read(step, unit)
        arena.read_scratch(self.number, scratch, step)
        if sums:
            arena.read_private(Role.ACCUMULATOR, op.output, step)
        if unit.group < step.groups:
            step.pixels += unit.x1 - unit.x0
        step.done += 1
        self.fired += 1

    def _take_frame(self, step: _Step) -> int:
        """Waits for rows that are pushed; bytes of the pixels of one window that are made int8."""
        nbytes = 0
        for k, (rows, columns) in enumerate(step.reads()):
            if self.frame.is_frame(step.op.inputs[k]) and rows and columns:
                self.frame.wait_for(rows[-1] + 1, step)
                w, seen = step.op.window, step.op.reads[k]
                single = step.stage.iterative or k > 0
                taps = 1 if single else min(w.kernel_h, seen.h) * min(w.kernel_w, seen.w)
                nbytes += taps * seen.c
        return self.frame.converted(step.op, nbytes)

    def _opens(self, step: _Step, unit: Unit) -> bool:
        """The first unit of the sums: of all strips, or of this one."""
        return step.done == 0 or (not step.stage.iterative and step.units[step.done - 1].strip != unit.strip)

    def _made(self, step: _Step, unit: Unit) -> _Pixels:
        """What a unit writes: none where it only adds to sums."""
        op, place = step.op, self.output[step.stage.op]
        y, columns, first, nbytes = unit.row, range(unit.x0, unit.x1), 0, op.writes.c
        if step.stage.iterative:
            y, columns = 0, range(op.writes.w if step.done == len(step.units) - 1 else 0)
        elif step.walk.sums:
            columns = columns if unit.group == step.walk.groups - 1 else range(0)
        elif step.splits:
            width = -(-op.writes.c // step.walk.groups)
            first = unit.group * width
            nbytes = min(width, op.writes.c - first)
        return _Pixels(*self._pixels(place, unit.strip, range(y, y + 1), columns, first), nbytes)

    def _read(self, step: _Step, unit: Unit) -> None:
        for place, (rows, columns) in zip(self.inputs[step.stage.op], step.reads(), strict=True):
            if not rows or not columns:
                continue
            first, nbytes = 0, place.seen.c
            if place.maker is not None and place.maker.splits:
                width = -(-nbytes // place.maker.walk.groups)
                first = unit.group * width
                nbytes = min(width, nbytes - first)
            at, marks = self._pixels(place, unit.strip, rows, columns, first)
            self.arena.read_pixels(place.tensor, at, marks, nbytes, step)

    def _in_order(self, step: _Step, unit: Unit) -> None:
        """Pixel after pixel, front to back, each byte is read before its place is written."""
        nbytes, columns = step.op.writes.c, range(unit.x0, unit.x1)
        to = self._addresses(self.output[step.stage.op], unit, range(unit.row, unit.row + 1), columns)
        for place, (rows, read) in zip(self.inputs[step.stage.op], step.reads(), strict=True):
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

    def _addresses(self, place: _Place, unit: Unit, rows: range, columns: range) -> list[int]:
        addresses: list[int] = self._pixels(place, unit.strip, rows, columns)[0].ravel().tolist()
        return addresses

    def _pixels(self, place: _Place, strip: int, rows: range, columns: range, first: int = 0) -> tuple[Ints, Ints]:
        """Addresses and marks of the pixels of these rows and columns, from a channel on; none outside of the arena."""
        if place.moves:
            return self._frame_pixels(place, rows, columns)
        there, at, marks = place.cells(strip if place.strips else 0)
        if rows and (rows.start < there.start or rows.stop > there.stop):
            raise PlanError(
                f"tensor {place.tensor}: no lane has rows {rows[0]}..{rows[-1]} of strip {strip}", code="plan_lane_row"
            )
        window = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
        if first and place.inside:  # a lane holds the channels of one group
            return at[window], marks[window] + first
        return at[window] + first if first else at[window], marks[window]

    def _frame_pixels(self, place: _Place, rows: range, columns: range) -> tuple[Ints, Ints]:
        """Of the input that is not in the arena as a whole, where it is now."""
        found = [(row, start) for row in rows if (start := self.frame.address(row)) is not None]
        y, starts = np.array(found, np.int64).reshape(-1, 2).T[..., None]
        x = np.arange(columns.start, columns.stop)
        here = starts + x * place.seen.c
        return here, self.arena.mark(place.tensor, (y * place.seen.w + x) * place.seen.c, here)

    def _place(self, tensor: TensorId, seen: Rows) -> _Place:
        maker, inside = self.maker.get(tensor), (Role.RING, tensor) in self.arena.home
        cells = cache(partial(self._cells, tensor, seen))
        return _Place(tensor, seen, maker, inside, self.frame.is_frame(tensor), cells)

    def _cells(self, tensor: TensorId, seen: Rows, strip: int) -> Cells:
        y, x = np.arange(seen.h, dtype=np.int64)[:, None], np.arange(seen.w, dtype=np.int64)
        pixel = (seen.h * seen.w - 1 - y * seen.w - x) if self.block.turned else y * seen.w + x
        maker, there = self.maker.get(tensor), range(seen.h)
        if maker is None or (Role.RING, tensor) not in self.arena.home:
            at = self.arena.at(Role.TENSOR, tensor, seen.nbytes)[1] + pixel * seen.c
            return Cells(there, at, self.arena.mark(tensor, pixel * seen.c, at))
        buffer, start = self.arena.at(Role.RING, tensor)
        walk = maker.walk
        if maker.stage.iterative:
            turn, i, there = 0 * y, y, range(1)
        elif walk.rows > walk.advance:
            turn, i = 0 * y, y - (strip * walk.advance + walk.end - walk.rows)
            first = strip * walk.advance + walk.end - walk.rows
            there = range(max(0, first), min(seen.h, first + walk.rows))
        else:
            turn, i = np.divmod(y - walk.end, walk.advance)
            turn += -(-walk.end // walk.advance)
        at = np.full_like(pixel, -1)
        for lane in buffer.lanes:
            slot = (turn * seen.w * lane.rows + i + x * lane.rows) % lane.depth
            at = np.where((i >= 0) & (i < lane.rows), start + slot * maker.pixel_bytes, at)
            i = np.where(i < lane.rows, -1, i - lane.rows)
            start += lane.depth * maker.pixel_bytes
        return Cells(there, at, self.arena.mark(tensor, pixel * seen.c, at))
