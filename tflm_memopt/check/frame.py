"""The checker's replay of an input that is not whole in the arena.

When an operator needs them, the caller pushes rows over the previous ones, after rows that are still needed were copied
to the rolling buffer. The replay shares nothing with the planner.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Role
from tflm_memopt.rowgraph.graph import InputSource


class FrameReplay:
    """Location of the input's rows while groups run."""

    def __init__(self, arena: TaggedArena, frame: InputSource | None, foreign: NDArray[np.bool_] | None = None) -> None:
        """foreign: bytes that others write while the model waits for rows, by address."""
        self.arena, self.frame, self.foreign = arena, frame, foreign
        self.pushed = 0
        """Number of rows pushed so far."""
        self.passed = False
        """Whether the group that reads a streamed input is complete."""
        if frame and frame.pushed:
            self._push(frame)

    @property
    def streams(self) -> bool:
        """Whether rows are pushed."""
        return self.frame is not None and self.frame.pushed > 0

    def is_frame(self, tensor: int) -> bool:
        return self.frame is not None and tensor == self.frame.tensor

    def wait_for(self, end: int, who: object) -> None:
        """Push rows until those before `end` exist."""
        frame = self.frame
        if frame is None or not frame.pushed:
            return
        if self.passed:
            raise PlanError(f"{who} reads the streamed input, which is only available in the first group")
        while self.pushed < end:
            self._keep(frame)
            self.arena.wipe(self.foreign)
            self._push(frame)

    def end_of_group(self) -> None:
        """Push the remaining rows before the next group starts."""
        frame = self.frame
        while frame and self.pushed < frame.height and frame.pushed:
            self.arena.wipe(self.foreign)
            self._push(frame)
        self.passed = True

    def address(self, row: int) -> int | None:
        """Return the address of a row's first byte in the arena, or None if the input is not streamed."""
        frame = self.frame
        if frame is None or not frame.pushed:
            return None
        _, start = self.arena.at(Role.TENSOR, frame.tensor)
        first = self.pushed - frame.pushed
        if row >= first:
            return start + (row - first) * frame.row_bytes
        depth, offset = self.rolling_buffer(frame)
        if not depth:
            raise PlanError(
                f"row {row} of the streamed input is read when only rows {first}.. exist, and it is not kept"
            )
        return offset + row % depth * frame.row_bytes

    def converted(self, op: RowOp, nbytes: int) -> int:
        """Return how many of the `nbytes` that an operator reads of the input are first converted to int8
        in the arena.
        """
        frame = self.frame
        bytewise = op.element_bytes == 1
        return nbytes if frame and not frame.pushed and bytewise and frame.tensor in op.inputs else 0

    def rolling_buffer(self, frame: InputSource) -> tuple[int, int]:
        """Return number of rows and address of the rolling buffer of kept rows, or zeros without one."""
        if (Role.ROLLING_BUFFER, frame.tensor) not in self.arena.home:
            return 0, 0
        buffer, offset = self.arena.at(Role.ROLLING_BUFFER, frame.tensor)
        if buffer.depth * frame.row_bytes != buffer.nbytes:
            raise PlanError(
                f"rolling buffer of the input: {buffer.depth} rows of {frame.row_bytes} are not {buffer.nbytes} bytes"
            )
        return buffer.depth, offset

    def _keep(self, frame: InputSource) -> None:
        """Copy the last rows to the rolling buffer."""
        depth, offset = self.rolling_buffer(frame)
        _, start = self.arena.at(Role.TENSOR, frame.tensor)
        first, size = self.pushed - frame.pushed, frame.row_bytes
        for row in range(max(first, self.pushed - depth), self.pushed):
            source, target = start + (row - first) * size, offset + row % depth * size
            self.arena.copy(source, target, size)

    def _push(self, frame: InputSource) -> None:
        _, start = self.arena.at(Role.TENSOR, frame.tensor, frame.pushed * frame.row_bytes)
        self.arena.write_run(frame.tensor, start, self.pushed * frame.row_bytes, frame.pushed * frame.row_bytes)
        self.pushed += frame.pushed
