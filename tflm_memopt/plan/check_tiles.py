"""The checker's replay of a tiled block: unit by unit, pixel by pixel, as custom_ops/src does it.

Naive, and written anew (check.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.rowop import BINARY, RowOp, Rows
from tflm_memopt.plan.check_arena import Arena
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
        self.splits = stage.walk.groups > 1 and not stage.walk.sums
        self.done = 0
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

    def window(self, k: int, unit: Unit) -> tuple[range, range]:
        """Rows and columns of input k that a unit reads."""
        if self.stage.iterative:
            return range(unit.row, unit.row + 1), range(unit.x0, unit.x1)
        if self.walk.sums and unit.group == self.walk.groups - 1:
            return range(0), range(0)
        w, seen = self.op.window, self.op.reads[k]
        y, x0, x1 = unit.row, unit.x0, unit.x1
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
        made_again = self.walk.rows > self.walk.advance
        strip = unit.strip if made_again else self.strip_of.get(row, -1)
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
        while self.walk.rows > self.walk.advance and self.units[self.done].strip < strip:
            self.done += 1


def _from_the_end(places: range, size: int) -> range:
    """The same of `size` places, counted from the last to the first."""
    return range(size - places.stop, size - places.start)


class TiledReplay:
    """One tiled block."""

    def __init__(self, arena: Arena, number: int, block: Block, ops: Mapping[int, RowOp], frame: FrameReplay) -> None:
        self.arena, self.number, self.block, self.frame = arena, number, block, frame
        self.steps = {
            stage.op: _Step(stage, ops[stage.op], block.strips, turned=block.turned) for stage in block.stages
        }
        self.maker = {step.op.output: step for step in self.steps.values()}
        self.rows: dict[tuple[TensorId, Rows, int, int], tuple[int, int, int, int, int]] = {}
        """What _row() found."""
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
            missing = self._missing(waiting[-1])
            if missing is None:
                self._fire(waiting.pop())
            else:
                waiting.append(missing)

    def _missing(self, step: _Step) -> _Step | None:
        unit = step.units[step.done]
        for k in step.stage.operands:
            maker = self.maker.get(step.op.inputs[k])
            rows, columns = step.window(k, unit)
            if maker is None or not rows or not columns:
                continue
            wanted = maker.unit_for(unit, rows[-1], columns[-1])
            if maker.done <= wanted:
                maker.skip_to(wanted)
                return maker
        return None

    def _fire(self, step: _Step) -> None:
        unit, op, arena = step.units[step.done], step.op, self.arena
        who = f"operator {step.stage.op} {op.name}, unit {tuple(unit)}"
        arena.read_private(Role.COUNTERS, self.number, who)
        scratch = kernel_scratch(step.stage, op, step.tile) + self._take_frame(step, unit, who)
        arena.write_scratch(self.number, scratch)
        sums = step.stage.iterative or step.walk.sums
        if sums and self._opens(step, unit):
            arena.write_private(Role.ACCUMULATOR, op.output, 4 * step.sums)
        if op.in_place:
            self._read(step, unit, who)
            self._in_order(step, unit, who)
            self._write(step, unit)
        elif op.ends_late and not sums and not step.splits:
            end = self._addresses(op.output, op.writes, unit, (unit.row,), range(unit.x1 - 1, unit.x1))[0] + op.writes.c
            arena.write_late(end - 1, lambda: self._write(step, unit), lambda: self._read(step, unit, who))
        else:
            self._write(step, unit)
            self._read(step, unit, who)
        arena.read_scratch(self.number, scratch, who)
        if sums:
            arena.read_private(Role.ACCUMULATOR, op.output, who)
        arena.read_private(Role.COUNTERS, self.number, who)
        if unit.group < step.groups:
            step.pixels += unit.x1 - unit.x0
        step.done += 1
        self.fired += 1

    def _take_frame(self, step: _Step, unit: Unit, who: str) -> int:
        """Waits for rows that are pushed; bytes of the pixels of one window that are made int8."""
        nbytes = 0
        for k, tensor in enumerate(step.op.inputs):
            rows, columns = step.window(k, unit)
            if self.frame.is_frame(tensor) and rows and columns:
                self.frame.wait_for(rows[-1] + 1, who)
                w, seen = step.op.window, step.op.reads[k]
                single = step.stage.iterative or k > 0
                taps = 1 if single else min(w.kernel_h, seen.h) * min(w.kernel_w, seen.w)
                nbytes += taps * seen.c
        return self.frame.converted(step.op, nbytes)

    def _opens(self, step: _Step, unit: Unit) -> bool:
        """The first unit of the sums: of all strips, or of this one."""
        return step.done == 0 or (not step.stage.iterative and step.units[step.done - 1].strip != unit.strip)

    def _write(self, step: _Step, unit: Unit) -> None:
        op = step.op
        if step.stage.iterative:
            if step.done == len(step.units) - 1:
                self._put(step, unit, 0, range(op.writes.w), (0, op.writes.c))
        elif not step.walk.sums:
            width = -(-op.writes.c // step.walk.groups)
            first = unit.group * width
            channels = first, min(width, op.writes.c - first)
            self._put(step, unit, unit.row, range(unit.x0, unit.x1), channels)
        elif unit.group == step.walk.groups - 1:
            self._put(step, unit, unit.row, range(unit.x0, unit.x1), (0, op.writes.c))

    def _put(self, step: _Step, unit: Unit, y: int, columns: range, channels: tuple[int, int]) -> None:
        """Of these pixels of a row: the channels from the first on, so many."""
        seen, (first, nbytes) = step.op.writes, channels
        starts = self._addresses(step.op.output, seen, unit, (y,), columns)
        starts = self._in_pixels(step.op.output, starts, first)
        self.arena.write_pixels(step.op.output, starts, self._bytes(seen, (y,), columns, first), nbytes)

    def _in_pixels(self, tensor: TensorId, starts: list[int], first: int) -> list[int]:
        """Where a group's channels are, the first of them being `first`: lanes hold those of one group."""
        return starts if (Role.RING, tensor) in self.arena.home else [at + first for at in starts]

    def _bytes(self, seen: Rows, rows: Iterable[int], columns: range, first: int) -> list[int]:
        """Which byte of the tensor is the first one of each of these pixels; `first`: channel."""
        pixels = [y * seen.w + x for y in rows for x in columns]
        last = seen.h * seen.w - 1
        return [(last - i if self.block.turned else i) * seen.c + first for i in pixels]

    def _read(self, step: _Step, unit: Unit, who: str) -> None:
        for k, tensor in enumerate(step.op.inputs):
            rows, columns = step.window(k, unit)
            seen, maker = step.op.reads[k], self.maker.get(tensor)
            first, nbytes = 0, seen.c
            if maker is not None and maker.splits:
                width = -(-seen.c // maker.walk.groups)
                first, nbytes = unit.group * width, min(width, seen.c - unit.group * width)
            if rows and columns:
                starts = self._addresses(tensor, seen, unit, rows, columns)
                starts = self._in_pixels(tensor, starts, first)
                bytes_ = self._bytes(seen, rows, columns, first)
                self.arena.read_pixels(tensor, starts, bytes_[: len(starts)], nbytes, who)

    def _in_order(self, step: _Step, unit: Unit, who: str) -> None:
        """Pixel after pixel, front to back, each byte is read before its place is written."""
        op, nbytes = step.op, step.op.writes.c
        columns = range(unit.x0, unit.x1)
        to = self._addresses(op.output, op.writes, unit, (unit.row,), columns)
        for k, tensor in enumerate(op.inputs):
            seen, (rows, read) = op.reads[k], step.window(k, unit)
            at = self._addresses(tensor, seen, unit, rows, read)
            at = at * len(to) if len(read) < len(columns) else at  # one pixel for all
            for i, out in enumerate(to if at else ()):
                inside = at[i] < out < at[i] + seen.c or (seen.c < nbytes and out <= at[i] < out + nbytes)
                if inside or any(out < later + seen.c and later < out + nbytes for later in at[i + 1 :]):
                    raise PlanError(
                        f"{who}: the output at {out} overwrites tensor {tensor} before it is read",
                        code="plan_tile_in_place",
                    )

    def _addresses(self, tensor: TensorId, seen: Rows, unit: Unit, rows: Iterable[int], columns: range) -> list[int]:
        """Of the pixels of these rows and columns, row by row; none where they lie outside of the arena."""
        found = []
        for y in rows:
            if self.frame.is_frame(tensor):  # which moves
                at = self.frame.address(y)
                found += [at + x * seen.c for x in columns] if at is not None else []
                continue
            key = (tensor, seen, unit.strip, y)
            row = self.rows.get(key)
            if row is None:
                row = self.rows[key] = self._row(tensor, seen, unit.strip, y)
            start, first, step, depth, pixel = row
            found += [start + (first + x * step) % depth * pixel for x in columns]
        return found

    def _row(self, tensor: TensorId, seen: Rows, strip: int, y: int) -> tuple[int, int, int, int, int]:
        """Where a row lives: pixel x at start + (first + x * step) % depth * pixel."""
        maker = self.maker.get(tensor)
        if maker is None or (Role.RING, tensor) not in self.arena.home:
            start = self.arena.at(Role.TENSOR, tensor, seen.nbytes)[1]
            if self.block.turned:
                return start + (seen.h - 1 - y) * seen.w * seen.c, seen.w - 1, -1, seen.w, seen.c
            return start + y * seen.w * seen.c, 0, 1, seen.w, seen.c
        buffer, start = self.arena.at(Role.RING, tensor)
        walk = maker.walk
        if maker.stage.iterative:
            turn, i = 0, y
        elif walk.rows > walk.advance:
            turn, i = 0, y - (strip * walk.advance + walk.end - walk.rows)
        else:
            turn, i = divmod(y - walk.end, walk.advance)
            turn += -(-walk.end // walk.advance)
        for lane in buffer.lanes:
            if i < lane.rows:
                return start, turn * seen.w * lane.rows + i, lane.rows, lane.depth, maker.pixel_bytes
            i -= lane.rows
            start += lane.depth * maker.pixel_bytes
        raise PlanError(f"tensor {tensor}: no lane has row {y} of strip {strip}", code="plan_lane_row")
