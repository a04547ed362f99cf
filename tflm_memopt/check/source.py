"""Replays the writes of a streamed input into the arena.

When an operator needs new input rows, the caller writes the new rows over the previous rows. Previous rows that are
still needed are first copied to a rolling buffer.
"""

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Role
from tflm_memopt.rowgraph.graph import InputSource


class SourceReplay:
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
