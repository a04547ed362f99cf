"""Replays an input that is not whole in the arena.

When an operator needs rows of a streamed input, the caller pushes them over the previous rows. Rows that are still
needed are copied to a rolling buffer before a push.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Group, Role
from tflm_memopt.rowgraph.graph import InputSource


class SourceReplay:
    """Finds the rows of an input in memory while groups run."""

    def __init__(
        self, arena: TaggedArena, source: InputSource | None, foreign: NDArray[np.bool_] | None = None
    ) -> None:
        """foreign: mask by address of the bytes that other models write while the model waits for rows."""
        self.arena, self.source, self.foreign = arena, source, foreign
        self.pushed = 0
        """Number of rows that were pushed so far."""
        self.passed = False
        """Whether the group that reads a streamed input has ended."""
        if source and source.pushed:
            self._push(source)

    @property
    def streams(self) -> bool:
        return self.source is not None and self.source.pushed > 0

    def is_source(self, tensor: int) -> bool:
        return self.source is not None and tensor == self.source.tensor

    def wait_for(self, end: int, who: object) -> None:
        """Push rows until all rows before `end` have arrived."""
        source = self.source
        if source is None or not source.pushed:
            return
        if self.passed:
            raise PlanError(f"{who} reads the streamed input, which is only available in the first group")
        while self.pushed < end:
            self._keep(source)
            self.arena.wipe(self.foreign)
            self._push(source)

    def end_of_group(self) -> None:
        """Push the rows that remain before the next group starts."""
        source = self.source
        while source and self.pushed < source.height and source.pushed:
            self.arena.wipe(self.foreign)
            self._push(source)
        self.passed = True

    def address(self, row: int) -> int | None:
        """Return the address of a row in the arena, or None if the input is not streamed."""
        source = self.source
        if source is None or not source.pushed:
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
        """Return how many of the `nbytes` bytes that an operator reads are first converted to int8 in the arena."""
        source = self.source
        bytewise = op.element_bytes == 1
        return nbytes if source and not source.pushed and bytewise and source.tensor in op.inputs else 0

    def rolling_buffer(self, source: InputSource) -> tuple[int, int]:
        """Return the number of rows and the address of the rolling buffer for kept rows, or zeros without one."""
        if (Role.ROLLING_BUFFER, source.tensor) not in self.arena.home:
            return 0, 0
        buffer, offset = self.arena.at(Role.ROLLING_BUFFER, source.tensor)
        if buffer.depth * source.row_bytes != buffer.nbytes:
            raise PlanError(
                f"rolling buffer of the input: {buffer.depth} rows of {source.row_bytes} are not {buffer.nbytes} bytes"
            )
        return buffer.depth, offset

    def _keep(self, source: InputSource) -> None:
        depth, offset = self.rolling_buffer(source)
        _, start = self.arena.at(Role.TENSOR, source.tensor)
        first, size = self.pushed - source.pushed, source.row_bytes
        for row in range(max(first, self.pushed - depth), self.pushed):
            origin, target = start + (row - first) * size, offset + row % depth * size
            self.arena.copy(origin, target, size)

    def _push(self, source: InputSource) -> None:
        _, start = self.arena.at(Role.TENSOR, source.tensor, source.pushed * source.row_bytes)
        self.arena.write_run(source.tensor, start, self.pushed * source.row_bytes, source.pushed * source.row_bytes)
        self.pushed += source.pushed


class RunningGroup(NamedTuple):
    """A group that is being checked, with the data on which it runs."""

    arena: TaggedArena
    number: int
    """Number of the group's plan step."""
    group: Group
    ops: Mapping[int, RowOp]
    source: SourceReplay
