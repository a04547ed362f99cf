"""The checker's arena: one tag per byte, the tensor and the byte of it that was last written there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.plan import Buffer, Plan, Role

LEAST_ALIGN = {Role.ACCUMULATOR: 4, Role.COUNTERS: 2, Role.SCRATCH: 4}
"""int32, uint16, and int16 in pairs; everything else is bytes."""


class Arena:
    """One tag per byte. A tag is the number of a buffer's content and the byte of it."""

    def __init__(self, plan: Plan, sizes: Mapping[TensorId, int]) -> None:
        self.sizes = sizes
        self.tags = np.full(plan.head, -1, dtype=np.int64)
        self.home = {(b.role, b.key): (b, o) for b, o in plan.placed()}
        self._base: dict[object, int] = {}
        self.turned = False
        """The block that runs counts the rows of whole tensors from the last to the first."""
        self._private: dict[tuple[Role, int], NDArray[np.int64]] = {}
        for buffer, offset in plan.placed():
            align = max(buffer.align, LEAST_ALIGN.get(buffer.role, 1))
            if offset < 0 or offset % align or offset + buffer.nbytes > plan.head:
                raise PlanError(
                    f"{buffer} at {offset} is misaligned or outside of the head of {plan.head} bytes",
                    code="plan_placement",
                )

    def start(self, tensor: TensorId) -> int:
        return self.at(Role.TENSOR, tensor)[1]

    def span(self, tensor: TensorId, row: int, row_bytes: int) -> int:
        """Where a row lives: in the tensor's ring, else in the whole tensor."""
        if (Role.RING, tensor) in self.home:
            buffer, offset = self.home[Role.RING, tensor]
            if row_bytes * buffer.depth != buffer.nbytes:
                raise PlanError(
                    f"ring of tensor {tensor}: {buffer.depth} rows of {row_bytes} bytes are not {buffer.nbytes}",
                    code="plan_ring",
                )
            return offset + row % buffer.depth * row_bytes
        buffer, offset = self.at(Role.TENSOR, tensor)
        if (row + 1) * row_bytes > buffer.nbytes:
            raise PlanError(f"row {row} of {row_bytes} bytes is outside of tensor {tensor}", code="plan_row")
        return offset + self._in_memory(tensor, row, row_bytes) * row_bytes

    def _in_memory(self, tensor: TensorId, row: int, row_bytes: int) -> int:
        """Which row of the tensor it is that the block calls `row`."""
        if not self.turned or (Role.TENSOR, tensor) not in self.home:
            return row
        return self.home[Role.TENSOR, tensor][0].nbytes // row_bytes - 1 - row

    def write(self, tensor: TensorId, row: int, row_bytes: int) -> None:
        at = self.span(tensor, row, row_bytes)
        self.tags[at : at + row_bytes] = self._row_tags(tensor, row, row_bytes)

    def write_late(self, last: int, write: Callable[[], None], read: Callable[[], None]) -> None:
        """A firing that writes the byte at `last` when it has read everything, and all others before."""
        held = self.tags[last]
        write()
        written, self.tags[last] = self.tags[last], held
        read()
        self.tags[last] = written

    def read(self, tensor: TensorId, row: int, row_bytes: int, who: str) -> None:
        at = self.span(tensor, row, row_bytes)
        self._expect(
            self.tags[at : at + row_bytes],
            self._row_tags(tensor, row, row_bytes),
            f"{who}, row {row} of tensor {tensor}",
        )

    def _row_tags(self, tensor: TensorId, row: int, row_bytes: int) -> NDArray[np.int64]:
        return self._tags(tensor, self._in_memory(tensor, row, row_bytes) * row_bytes, row_bytes)

    def write_whole(self, tensor: TensorId) -> None:
        buffer, at = self.at(Role.TENSOR, tensor, self.sizes[tensor])
        self.tags[at : at + buffer.nbytes] = self._tags(tensor, 0, buffer.nbytes)

    def read_whole(self, tensor: TensorId, who: str) -> None:
        buffer, at = self.at(Role.TENSOR, tensor, self.sizes[tensor])
        self._expect(
            self.tags[at : at + buffer.nbytes], self._tags(tensor, 0, buffer.nbytes), f"{who}, tensor {tensor}"
        )

    def write_pixels(self, tensor: TensorId, starts: Sequence[int], first: Sequence[int], nbytes: int) -> None:
        """Pixels at these addresses; `first`: the byte of the tensor that each starts with."""
        at, tags = self._pixels(tensor, starts, first, nbytes)
        self.tags[at] = tags

    def read_pixels(self, tensor: TensorId, starts: Sequence[int], first: Sequence[int], nbytes: int, who: str) -> None:
        at, tags = self._pixels(tensor, starts, first, nbytes)
        self._expect(self.tags[at].ravel(), tags.ravel(), f"{who}, tensor {tensor}")

    def _pixels(
        self, tensor: TensorId, starts: Sequence[int], first: Sequence[int], nbytes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        step = np.arange(nbytes, dtype=np.int64)
        base = self._base_of(tensor)
        return np.asarray(starts, np.int64)[:, None] + step, np.asarray(first, np.int64)[:, None] + (step + base)

    def write_private(self, role: Role, key: int, nbytes: int) -> None:
        buffer, at = self.at(role, key, nbytes)
        self.tags[at : at + buffer.nbytes] = self._tags((role, key), 0, buffer.nbytes)

    def read_private(self, role: Role, key: int, who: str) -> None:
        buffer, at = self.at(role, key)
        wanted = self._private.get((role, key))
        if wanted is None:
            wanted = self._private[role, key] = self._tags((role, key), 0, buffer.nbytes)
        self._expect(self.tags[at : at + buffer.nbytes], wanted, f"{who}, {role.value} {key}")

    def write_scratch(self, step: int, nbytes: int) -> None:
        """The first bytes of the step's scratch; none where nothing is wanted."""
        if nbytes:
            _, at = self.at(Role.SCRATCH, step, nbytes)
            self.tags[at : at + nbytes] = self._tags((Role.SCRATCH, step), 0, nbytes)

    def read_scratch(self, step: int, nbytes: int, who: str) -> None:
        if nbytes:
            _, at = self.at(Role.SCRATCH, step)
            self._expect(
                self.tags[at : at + nbytes], self._tags((Role.SCRATCH, step), 0, nbytes), f"{who}, scratch {step}"
            )

    def at(self, role: Role, key: int, nbytes: int = 0) -> tuple[Buffer, int]:
        """The buffer and its offset; it must have so many bytes at least."""
        if (role, key) not in self.home:
            raise PlanError(f"no {role.value} buffer for {key}", code="plan_missing_buffer")
        if self.home[role, key][0].nbytes < nbytes:
            raise PlanError(
                f"{role.value} {key} needs {nbytes} bytes, the plan gives it {self.home[role, key][0].nbytes}",
                code="plan_buffer_size",
            )
        return self.home[role, key]

    def _tags(self, content: object, first: int, nbytes: int) -> NDArray[np.int64]:
        base = self._base_of(content)
        return np.arange(base + first, base + first + nbytes, dtype=np.int64)

    def _base_of(self, content: object) -> int:
        return self._base.setdefault(content, len(self._base) << 40)

    def _expect(self, found: NDArray[np.int64], wanted: NDArray[np.int64], what: str) -> None:
        right = found == wanted
        if not right.all():
            raise PlanError(
                f"{what}: byte {int(right.argmin())} was overwritten or never written", code="plan_overwrites"
            )
