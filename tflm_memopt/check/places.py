"""Determines for the checker the addresses of the pixels that a group reads and writes, and of streamed input rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import Ints, TaggedArena
from tflm_memopt.check.nest import StageNest
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.packing import Packing
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.plan.plan import Role
from tflm_memopt.rowgraph.graph import InputSource


class SourceReplay:
    """Replays the writes of a streamed input into the arena. When an operator needs new input rows, the caller writes
    the new rows over the previous rows. Previous rows that are still needed are first copied to a rolling buffer.
    """

    def __init__(
        self, arena: TaggedArena, source: InputSource | None, foreign: NDArray[np.bool_] | None = None
    ) -> None:
        """The argument `foreign` marks the bytes that other models write while the model waits for rows."""
        self.arena, self.source, self.foreign = arena, source, foreign
        self.streamed = source if source and source.pushed else None
        self.pushed = 0
        """Number of input rows that the caller has written so far."""
        self.passed = False
        if self.streamed:
            self._push(self.streamed)

    def is_source(self, tensor: int) -> bool:
        return self.source is not None and tensor == self.source.tensor

    def wait_for(self, end: int, who: object) -> None:
        if self.streamed and self.passed:
            raise PlanError(f"{who} reads the streamed input, which is only available in the first group")
        while self.streamed and self.pushed < end:
            self._keep(self.streamed)
            self.arena.wipe(self.foreign)
            self._push(self.streamed)

    def end_of_group(self) -> None:
        """Replay the arrival of the last input rows, which no operator of the group has read."""
        while self.streamed and self.pushed < self.streamed.height:
            self.arena.wipe(self.foreign)
            self._push(self.streamed)
        self.passed = True

    def address(self, row: int) -> int | None:
        """Return the arena address of an input row, or None if the input is not streamed."""
        source = self.streamed
        if source is None:
            return None
        _, start = self.arena.at(Role.TENSOR, source.tensor)
        first = self.pushed - source.pushed
        if row >= first:
            return start + (row - first) * source.row_bytes
        depth, offset = self.rolling_buffer(source)
        if not depth:
            raise PlanError(
                f"row {row} of the streamed input is read when only rows {first}.. exist, and it is not kept"
            )
        return offset + row % depth * source.row_bytes

    def converted(self, op: RowOp, nbytes: int) -> int:
        """Return `nbytes` if the operator's input is first converted to int8 in the arena, and otherwise 0."""
        outside = self.source is not None and not self.streamed and self.source.tensor in op.inputs
        return nbytes if outside and op.element_bytes == 1 else 0

    def rolling_buffer(self, source: InputSource) -> tuple[int, int]:
        """Return the number of rows and the address of an input's rolling buffer, or (0, 0) without a buffer."""
        if (Role.ROLLING_BUFFER, source.tensor) not in self.arena.home:
            return 0, 0
        buffer, offset = self.arena.at(Role.ROLLING_BUFFER, source.tensor)
        if buffer.nbytes != buffer.depth * source.row_bytes:
            raise PlanError(f"rolling buffer of tensor {source.tensor}: it does not hold whole rows")
        return buffer.depth, offset

    def _keep(self, source: InputSource) -> None:
        depth, offset = self.rolling_buffer(source)
        _, start = self.arena.at(Role.TENSOR, source.tensor)
        first, size = self.pushed - source.pushed, source.row_bytes
        for row in range(max(first, self.pushed - depth), self.pushed):
            origin, target = start + (row - first) * size, offset + row % depth * size
            self.arena.run(source.tensor, origin, row * size, size, f"the copy of row {row}")
            self.arena.run(source.tensor, target, row * size, size)

    def _push(self, source: InputSource) -> None:
        _, start = self.arena.at(Role.TENSOR, source.tensor, source.pushed * source.row_bytes)
        self.arena.run(source.tensor, start, self.pushed * source.row_bytes, source.pushed * source.row_bytes)
        self.pushed += source.pushed


@dataclass(frozen=True)
class Place:
    arena: TaggedArena
    tensor: TensorId
    seen: Rows
    maker: StageNest | None
    """Operator of the group that makes the tensor, or None for a tensor that is complete before the group runs."""
    moves: bool
    """Whether the tensor is a streamed or external input of the model."""
    is_reversed: bool

    @cached_property
    def inside(self) -> bool:
        return (Role.ROLLING_BUFFER, self.tensor) in self.arena.home

    @cached_property
    def in_stripes(self) -> bool:
        return self.inside and self.maker is not None and self.maker.makes_again

    def pixels(self, y: Ints, x: Ints) -> Ints:
        """Return the index of each pixel in memory. A reversed group counts the rows from the last to the first."""
        w, last = self.seen.w, self.seen.h * self.seen.w - 1
        return last - y * w - x if self.is_reversed else y * w + x

    def at(self, stripe: Ints, y: Ints, x: Ints) -> Ints:
        """Return the addresses of pixels that the given stripes compute, or -1 for pixels without an address."""
        maker, seen = self.maker, self.seen
        if maker is None or not self.inside:
            return self.arena.at(Role.TENSOR, self.tensor, seen.nbytes)[1] + self.pixels(y, x) * seen.c
        buffer, start = self.arena.at(Role.ROLLING_BUFFER, self.tensor)
        if not maker.tiled:
            return start + (y % buffer.depth * seen.w + x) * seen.c
        nest = maker.nest
        if maker.stage.iterative:
            lap, i = 0 * y, y
        elif nest.rows > nest.advance:
            lap, i = 0 * y, y - (stripe * nest.advance + nest.end - nest.rows)
        else:
            lap, i = np.divmod(y - nest.end, nest.advance)
            lap += -(-nest.end // nest.advance)
        at = np.full(np.broadcast(y, x).shape, -1, dtype=np.int64)
        for column_window in buffer.column_windows:
            slot = (lap * seen.w * column_window.rows + i + x * column_window.rows) % column_window.depth
            at = np.where((i >= 0) & (i < column_window.rows), start + slot * maker.pixel_bytes, at)
            i = np.where(i < column_window.rows, -1, i - column_window.rows)
            start += column_window.depth * maker.pixel_bytes
        return at

    def marks(self, y: Ints, x: Ints, at: Ints) -> Ints:
        return self.arena.mark(self.tensor, self.pixels(y, x) * self.seen.c, at)

    def rows(self, stripe: Ints) -> tuple[Ints | int, Ints | int]:
        """For each stripe, return the first and the end row that the buffer of the tensor keeps."""
        if self.maker is None or not self.in_stripes:
            return 0, self.seen.h
        nest = self.maker.nest
        first = stripe * nest.advance + nest.end - nest.rows
        return np.maximum(0, first), np.minimum(self.seen.h, first + nest.rows)


def places(
    arena: TaggedArena, source: SourceReplay, steps: Mapping[int, StageNest], *, tiled: bool
) -> Mapping[int, Sequence[Place]]:
    """For each operator of a group, return the places of all inputs, followed by the place of the output."""
    maker = {step.op.output: step for step in steps.values()}

    def place(step: StageNest, t: TensorId, rows: Rows) -> Place:
        seen = rows if tiled else Rows(rows.h, 1, rows.row_bytes)
        return Place(arena, t, seen, maker.get(t), source.is_source(t), step.is_reversed)

    return {key: [place(step, t, rows) for t, rows in step.op.seen()] for key, step in steps.items()}


def check_column_windows(arena: TaggedArena, step: StageNest) -> None:
    tensor = step.op.output
    if (Role.ROLLING_BUFFER, tensor) not in arena.home:
        return
    buffer, _ = arena.at(Role.ROLLING_BUFFER, tensor)
    if not step.tiled:
        if buffer.column_windows or buffer.depth < 1 or buffer.nbytes != buffer.depth * step.op.writes.row_bytes:
            raise PlanError(f"rolling buffer of tensor {tensor}: it does not hold whole rows")
        return
    rows, windows = 1 if step.stage.iterative else step.nest.rows, buffer.column_windows
    if any(window.depth < 1 for window in windows) or sum(window.rows for window in windows) != rows:
        raise PlanError(f"rolling buffer of tensor {tensor}: it does not hold the {rows} rows of a stripe")
    nbytes = sum(window.depth for window in windows) * step.pixel_bytes
    if nbytes != buffer.nbytes:
        raise PlanError(f"rolling buffer of tensor {tensor}: it needs {nbytes} bytes, not {buffer.nbytes}")


def check_message(arena: TaggedArena, step: StageNest) -> None:
    """Raise PlanError if an operator sends or receives a row in several pieces or several times."""
    op, nest = step.op, step.nest
    if op.message is None:
        return
    if step.tile < op.writes.w or nest.channel_groups != 1 or nest.rows != nest.advance or step.stage.iterative:
        raise PlanError(f"operator {step.stage.op} {op.name} exchanges parts of rows, or rows more than once")
    tensor = op.inputs[0] if op.sends else op.output
    if (Role.ROLLING_BUFFER, tensor) in arena.home:
        windows = arena.at(Role.ROLLING_BUFFER, tensor)[0].column_windows
        if len(windows) != 1 or windows[0].rows != 1 or windows[0].depth % op.writes.w:
            raise PlanError(f"operator {step.stage.op} {op.name} exchanges rows whose bytes are not consecutive")


def check_at_once(arena: TaggedArena, step: StageNest) -> None:
    """Raise PlanError if a plan wrongly lets a kernel compute several iterations in one call.

    In one call, a convolution reads all input pixels before it writes the first output pixel. A depthwise convolution
    writes output pixels before it has read all input pixels, so its output must not overlap its input.
    """
    op, stage = step.op, step.stage
    most = int(step.tile == 1) if step.tiled else 4
    has_room = op.packing is Packing.DSP_CONV or (op.packing is Packing.MVE_CONV and not step.tiled)
    if stage.pixels and (not has_room or stage.at_once > 1 or stage.pixels > most):
        raise PlanError(f"operator {stage.op} cannot have scratch for {stage.pixels} pixels")
    if stage.at_once == 1:
        return
    nine = op.packing is Packing.DSP_DEPTHWISE and op.window.kernel_h * op.window.kernel_w == 9
    single = step.tiled and step.tile == 1 and step.nest.channel_groups == 1
    rows = not step.tiled and stage.at_once == 2 and _makes_two_rows(op)
    kind = nine or op.packing is Packing.DSP_CONV
    if not (single or rows) or not kind or stage.iterative or not 1 < stage.at_once <= 4:
        raise PlanError(f"operator {stage.op} cannot compute {stage.at_once} iterations at once")
    if nine:
        (a, start_a), (b, start_b) = (
            arena.at(Role.ROLLING_BUFFER if (Role.ROLLING_BUFFER, tensor) in arena.home else Role.TENSOR, tensor)
            for tensor in (op.inputs[0], op.output)
        )
        if start_a < start_b + b.nbytes and start_b < start_a + a.nbytes:
            raise PlanError(f"operator {stage.op} computes {stage.at_once} iterations at once over its own input")


def _makes_two_rows(op: RowOp) -> bool:
    """Return whether a kernel computes two rows at once. A convolution computes two rows at once only
    if each row has exactly five pixels and each window has at most 96 values.
    """
    w, width = op.window, op.writes.w
    if op.packing is Packing.DSP_DEPTHWISE:
        return (w.kernel_h, w.kernel_w, w.stride_w, w.dilation_w) == (3, 3, 1, 1) and width > 4 and width != 7
    row = w.kernel_w * op.reads[0].c
    return width == 5 and w.kernel_h * (row + -row % 4) <= 96
