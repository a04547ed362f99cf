"""Simulates the arena for the checker. Each arena byte has a tag, which names the tensor byte that was last written
there.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.plan import Buffer, Plan, Role, SlowTensor

Ints = NDArray[np.int64]
Content = TensorId | tuple[str, int]
"""Contents of arena bytes are identified by a tensor's number, or by the role and key of a private buffer."""
SLOW_ALIGN = 16
LEAST_ALIGN = {Role.ACCUMULATOR: 4, Role.COUNTERS: 2, Role.SCRATCH: 4, Role.WEIGHTS: 16}
"""Required alignment of each buffer in bytes: int32 sums, uint16 counters, pairs of int16 in scratch, vectors of
weights.
"""


class TaggedArena:
    """An arena with one tag per byte. A tag combines the number of a tensor or private buffer with a byte position."""

    def __init__(self, plan: Plan, sizes: Mapping[TensorId, int]) -> None:
        self.sizes, self.head, self.end = sizes, plan.head, plan.head + plan.slow_bytes
        self._marks = np.full(self.end, -1 << 62, dtype=np.int64)
        """Difference of each byte's tag and address, which is constant within a tensor."""
        self.home = {(b.role, b.key): (b, o) for b, o in plan.placed()}
        for slow in plan.slow:
            self._add_slow(slow, plan.slow_bytes)
        self._base: dict[Content, int] = {}
        self._runs = cache(partial(sliding_window_view, self._marks, writeable=True))
        self._private = cache(self._private_run)
        self.is_reversed = False
        for buffer, offset in plan.placed():
            align = max(buffer.align, LEAST_ALIGN.get(buffer.role, 1))
            if offset < 0 or offset % align or offset + buffer.nbytes > plan.head:
                raise PlanError(f"{buffer} at {offset} is misaligned or outside of the head of {plan.head} bytes")

    def _add_slow(self, slow: SlowTensor, nbytes: int) -> None:
        key = Role.TENSOR, slow.tensor
        if slow.offset < 0 or slow.offset % SLOW_ALIGN or slow.offset + slow.nbytes > nbytes or key in self.home:
            raise PlanError(f"{slow} is misaligned, outside of slow memory or also in the arena")
        buffer = Buffer(Role.TENSOR, slow.tensor, slow.nbytes, slow.first, slow.last, SLOW_ALIGN)
        self.home[key] = buffer, self.head + slow.offset

    def span(self, tensor: TensorId, row: int, row_bytes: int) -> int:
        """Return the address of a tensor's row, which may be in a rolling buffer."""
        if (Role.ROLLING_BUFFER, tensor) in self.home:
            buffer, offset = self.home[Role.ROLLING_BUFFER, tensor]
            if row_bytes * buffer.depth != buffer.nbytes:
                raise PlanError(
                    f"rolling buffer of {tensor}: {buffer.depth} rows of {row_bytes} B are not {buffer.nbytes} B"
                )
            return offset + row % buffer.depth * row_bytes
        buffer, offset = self.at(Role.TENSOR, tensor)
        if (row + 1) * row_bytes > buffer.nbytes:
            raise PlanError(f"row {row} of {row_bytes} bytes is outside of tensor {tensor}")
        return offset + self._in_memory(tensor, row, row_bytes) * row_bytes

    def _in_memory(self, tensor: TensorId, row: int, row_bytes: int) -> int:
        """If a group runs in reverse, its row 0 is the last row of the tensor."""
        if not self.is_reversed or (Role.TENSOR, tensor) not in self.home:
            return row
        return self.home[Role.TENSOR, tensor][0].nbytes // row_bytes - 1 - row

    def write_late(self, last: int, write: Callable[[], None], read: Callable[[], None]) -> None:
        """Replay an iteration that writes the byte at `last` after its reads, and all other bytes before its reads."""
        held = self._marks[last]
        write()
        written, self._marks[last] = self._marks[last], held
        read()
        self._marks[last] = written

    def write_whole(self, tensor: TensorId) -> None:
        buffer, at = self.at(Role.TENSOR, tensor, self.sizes[tensor])
        self.write_run(tensor, at, 0, buffer.nbytes)

    def write_run(self, content: Content, at: int, first: int, nbytes: int) -> None:
        """Tag `nbytes` bytes of the arena at address `at`. The tags mean the bytes of a tensor or private buffer from
        byte `first` to byte `first + nbytes - 1`.
        """
        self._run(at, nbytes)[:] = self._base_of(content) + first - at

    def read_run(self, content: Content, at: int, first: int, nbytes: int, who: object) -> None:
        mark = self._base_of(content) + first - at
        self._expect(self._run(at, nbytes) == mark, content, mark, at, who)

    def _run(self, at: int, nbytes: int) -> Ints:
        found = self._marks[at : at + nbytes]
        if at < 0 or len(found) != nbytes:
            raise PlanError(f"{nbytes} bytes at {at} are outside of the arena")
        return found

    def mark(self, content: Content, first: Ints | int, at: Ints) -> Ints:
        return self._base_of(content) + first - at

    def write_pixels(self, at: Ints, marks: Ints, nbytes: int) -> None:
        if at.size == 1:
            self._run(at.item(), nbytes)[:] = marks.item()
        else:
            self._runs(nbytes)[at] = marks[..., None]

    def read_pixels(self, tensor: TensorId, at: Ints, marks: Ints, nbytes: int, who: object) -> None:
        held = self._run(at.item(), nbytes) if at.size == 1 else self._runs(nbytes)[at]
        self._expect(held == marks[..., None], tensor, marks, at, who)

    def _expect(
        self, right: NDArray[np.bool_], content: Content, marks: Ints | int, at: Ints | int, who: object
    ) -> None:
        if not right.all():
            role, key = ("tensor", content) if isinstance(content, int) else content
            run, byte = divmod(int(right.argmin()), right.shape[-1])
            byte += int(np.ravel(marks + at - self._base_of(content))[run])
            raise PlanError(f"{who}, {role} {key}: byte {byte} was overwritten or never written")

    def wipe(self, foreign: NDArray[np.bool_] | None) -> None:
        if foreign is not None:
            self._marks[: self.head][foreign[: self.head]] = -1 << 62

    def copy(self, source: int, target: int, nbytes: int) -> None:
        self._marks[target : target + nbytes] = self._marks[source : source + nbytes] + (source - target)

    def copied(self, outputs: Iterable[TensorId]) -> list[TensorId]:
        return [tensor for tensor in outputs if (Role.WEIGHTS, tensor) in self.home]

    def write_private(self, role: Role, key: int, nbytes: int) -> None:
        if nbytes:
            held, mark, _ = self._private(role, key, nbytes)
            held[:] = mark

    def read_private(self, role: Role, key: int, nbytes: int, who: object) -> None:
        if nbytes:
            held, mark, at = self._private(role, key, nbytes)
            self._expect(held == mark, (role.value, key), mark, at, who)

    def _private_run(self, role: Role, key: int, nbytes: int) -> tuple[Ints, int, int]:
        """Return the tags of a private buffer, their expected value, and the buffer's address."""
        at = self.at(role, key, nbytes)[1]
        return self._run(at, nbytes), self._base_of((role.value, key)) - at, at

    def at(self, role: Role, key: int, nbytes: int = 0) -> tuple[Buffer, int]:
        """Return a buffer and its offset, or raise PlanError if it is missing or smaller than `nbytes`."""
        if (role, key) not in self.home:
            raise PlanError(f"there is no {role.value} buffer for {key}")
        if self.home[role, key][0].nbytes < nbytes:
            raise PlanError(
                f"{role.value} {key} needs {nbytes} bytes, but has {self.home[role, key][0].nbytes} in the plan"
            )
        return self.home[role, key]

    def _base_of(self, content: Content) -> int:
        return self._base.setdefault(content, len(self._base) + 1 << 40)
