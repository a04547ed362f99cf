"""The checker's view of where the pixels of a tiled group's tensors are located.

The code shares nothing with the planner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tflm_memopt.check.arena import Ints, TaggedArena
from tflm_memopt.check.frame import FrameReplay
from tflm_memopt.check.walk import StageWalk
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import Rows
from tflm_memopt.plan.plan import Role


class Cells(NamedTuple):
    """Addresses and marks of all pixels of a tensor. `there`: the rows that exist."""

    there: range
    at: Ints
    marks: Ints


@dataclass(frozen=True)
class Place:
    """Location of a tensor for an operator of the group."""

    arena: TaggedArena
    tensor: TensorId
    seen: Rows
    maker: StageWalk | None
    """The operator of the group that makes the tensor, or None."""
    moves: bool
    """The tensor is the input that is not whole in the arena."""
    turned: bool
    """The group counts rows and columns of whole tensors in reverse."""
    _cells: dict[int, Cells] = field(default_factory=dict)

    @cached_property
    def inside(self) -> bool:
        """Whether the tensor is in a rolling buffer."""
        return (Role.RING, self.tensor) in self.arena.home

    @cached_property
    def in_strips(self) -> bool:
        """Whether rows are recomputed for each stripe."""
        return self.inside and self.maker is not None and self.maker.makes_again

    def pixels(self, y: Ints, x: Ints) -> Ints:
        """Return the numbers of the tensor's pixels for the group's coordinates."""
        w, last = self.seen.w, self.seen.h * self.seen.w - 1
        return last - y * w - x if self.turned else y * w + x

    def at(self, strip: Ints | int, y: Ints, x: Ints) -> Ints:
        """Return the addresses of pixels, in a stripe if rows are recomputed; -1 for pixels that are not kept."""
        maker, seen = self.maker, self.seen
        if maker is None or not self.inside:
            return self.arena.at(Role.TENSOR, self.tensor, seen.nbytes)[1] + self.pixels(y, x) * seen.c
        buffer, start = self.arena.at(Role.RING, self.tensor)
        walk = maker.walk
        if maker.stage.iterative:
            turn, i = 0 * y, y
        elif walk.rows > walk.advance:
            turn, i = 0 * y, y - (strip * walk.advance + walk.end - walk.rows)
        else:
            turn, i = np.divmod(y - walk.end, walk.advance)
            turn += -(-walk.end // walk.advance)
        at = np.full(np.broadcast(y, x).shape, -1, dtype=np.int64)
        for lane in buffer.lanes:
            slot = (turn * seen.w * lane.rows + i + x * lane.rows) % lane.depth
            at = np.where((i >= 0) & (i < lane.rows), start + slot * maker.pixel_bytes, at)
            i = np.where(i < lane.rows, -1, i - lane.rows)
            start += lane.depth * maker.pixel_bytes
        return at

    def marks(self, y: Ints, x: Ints, at: Ints, first: Ints | int = 0) -> Ints:
        """Return marks of pixels' bytes from channel `first` on, located from `at` on."""
        return self.arena.mark(self.tensor, self.pixels(y, x) * self.seen.c + first, at)

    def cells(self, strip: int) -> Cells:
        """Return the pixels of a stripe. If no rows are recomputed, all stripes share those of stripe 0."""
        if strip not in self._cells:
            y, x = np.arange(self.seen.h, dtype=np.int64)[:, None], np.arange(self.seen.w, dtype=np.int64)
            at = self.at(strip, y, x)
            self._cells[strip] = Cells(self._there(strip), at, self.marks(y, x, at))
        return self._cells[strip]

    def _there(self, strip: int) -> range:
        if self.maker is None or not self.inside:
            return range(self.seen.h)
        walk = self.maker.walk
        if self.maker.stage.iterative:
            return range(1)
        first = strip * walk.advance + walk.end - walk.rows
        return range(max(0, first), min(self.seen.h, first + walk.rows)) if self.in_strips else range(self.seen.h)


@dataclass(frozen=True)
class Places:
    """Locations of a group's tensors, by operator."""

    inputs: Mapping[int, tuple[Place, ...]]
    output: Mapping[int, Place]


def places(arena: TaggedArena, frame: FrameReplay, steps: Mapping[int, StageWalk]) -> Places:
    """Return the locations for the operators of a group."""
    maker = {step.op.output: step for step in steps.values()}

    def place(tensor: TensorId, seen: Rows, *, turned: bool) -> Place:
        return Place(arena, tensor, seen, maker.get(tensor), frame.is_frame(tensor), turned)

    return Places(
        {
            key: tuple(
                place(t, rows, turned=step.turned) for t, rows in zip(step.op.inputs, step.op.reads, strict=True)
            )
            for key, step in steps.items()
        },
        {key: place(step.op.output, step.op.writes, turned=step.turned) for key, step in steps.items()},
    )


def check_lanes(arena: TaggedArena, step: StageWalk) -> None:
    """Check that the rolling buffer holds a stripe's rows and has exactly their size."""
    tensor = step.op.output
    if (Role.RING, tensor) not in arena.home:
        return
    buffer, _ = arena.at(Role.RING, tensor)
    rows = 1 if step.stage.iterative else step.walk.rows
    if [lane for lane in buffer.lanes if lane.depth < 1] or sum(lane.rows for lane in buffer.lanes) != rows:
        raise PlanError(f"rolling buffer of tensor {tensor}: it does not hold the {rows} rows of a stripe")
    nbytes = sum(lane.depth for lane in buffer.lanes) * step.pixel_bytes
    if nbytes != buffer.nbytes:
        raise PlanError(f"rolling buffer of tensor {tensor}: it needs {nbytes} bytes, not {buffer.nbytes}")
