"""Simulates the arena for the checker: a tag of each arena byte names the tensor byte that was last written there.

Reads and writes are first listed with their time, and settle() then replays the list at once. A sort by
address and time finds the last write before each read of a byte.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.plan import Buffer, Plan, Role

Ints = NDArray[np.int64]
Content = TensorId | tuple[str, int]
"""Identifies the content of arena bytes: a tensor's number, or the role and the key of a private buffer."""
FOREIGN = "foreign", 0
SLOW_ALIGN = 16
LEAST_ALIGN = {Role.ACCUMULATOR: 4, Role.COUNTERS: 2, Role.SCRATCH: 4, Role.WEIGHTS: 16}
"""Required alignment of buffers in bytes, for int32 sums, uint16 counters, pairs of int16, and vectors of weights."""
MOST_AT_ONCE = 1 << 20
"""Approximate number of accesses that are sorted at once, which limits the checker's memory."""
UNKNOWN = -1 << 62
"""Mark of bytes that no operator has written yet, or that another model has written."""


class Accesses(NamedTuple):
    """Reads or writes of `nbytes` bytes at each address in `at`. Accesses at equal times happen in list order."""

    content: Content
    at: Ints
    marks: Ints
    """A mark is the tag of an arena byte minus the byte's address. All bytes of a tensor have the same mark."""
    nbytes: int
    time: Ints
    reader: Callable[[int], object] | None = None
    """Function that returns the name of the operator that reads at a given time, or None for writes."""


class TaggedArena:
    """An arena with one tag per byte: the number of a tensor or private buffer, combined with a byte position."""

    def __init__(self, plan: Plan, sizes: Mapping[TensorId, int]) -> None:
        self.sizes, self.head, self.end = sizes, plan.head, plan.head + plan.slow_bytes
        self._marks = np.full(self.end, UNKNOWN, dtype=np.int64)
        self._listed: list[Accesses] = []
        self.now = 1
        """Time of an access that is listed without a time."""
        self.home = {(b.role, b.key): (b, o) for b, o in plan.placed()}
        for slow in plan.slow:
            end, key = slow.offset + slow.nbytes, (Role.TENSOR, slow.tensor)
            if slow.offset < 0 or slow.offset % SLOW_ALIGN or end > plan.slow_bytes or key in self.home:
                raise PlanError(f"{slow} is misaligned, outside of slow memory or also in the arena")
            buffer = Buffer(Role.TENSOR, slow.tensor, slow.nbytes, slow.first, slow.last, SLOW_ALIGN)
            self.home[key] = buffer, self.head + slow.offset
        self._base: dict[Content, int] = {}
        for buffer, offset in plan.placed():
            align = max(buffer.align, LEAST_ALIGN.get(buffer.role, 1))
            if offset < 0 or offset % align or offset + buffer.nbytes > plan.head:
                raise PlanError(f"{buffer} at {offset} is misaligned or outside of the head of {plan.head} bytes")

    def run(self, content: Content, at: int, first: int, nbytes: int, reader: object = None) -> None:
        """Write bytes `first` to `first + nbytes - 1` of a tensor or buffer to the arena from address `at` on. If
        `reader` is the name of an operator, the operator reads the bytes, and nothing is written.
        """
        one, now = np.array([at], np.int64), np.array([self.now], np.int64)
        who = (lambda _: reader) if reader else None
        self.access(Accesses(content, one, self.mark(content, first, one), nbytes, now, who))

    def mark(self, content: Content, first: Ints | int, at: Ints) -> Ints:
        return self._base_of(content) + first - at

    def access(self, accesses: Accesses) -> None:
        if not len(accesses.at) or not accesses.nbytes:
            return
        low, high = int(accesses.at.min()), int(accesses.at.max()) + accesses.nbytes
        if low < 0 or high > self.end:
            at = low if low < 0 else high - accesses.nbytes
            raise PlanError(f"{accesses.nbytes} bytes at {at} are outside of the arena")
        self._listed.append(accesses)

    def settle(self) -> None:
        """Replay the listed accesses, and raise PlanError if an operator reads other bytes than it needs."""
        if not self._listed:
            return
        start = np.flatnonzero(np.diff(self._marks, prepend=self._marks[0] - 1))
        before = np.diff(start, append=self.end), np.zeros(len(start), np.bool_), self._marks[start], 0 * start
        each = [len(accesses.at) for accesses in self._listed]
        at = np.concatenate([start, *(accesses.at for accesses in self._listed)])
        nbytes = np.append(before[0], np.repeat([accesses.nbytes for accesses in self._listed], each))
        is_read = np.append(before[1], np.repeat([accesses.reader is not None for accesses in self._listed], each))
        marks = np.concatenate([before[2], *(accesses.marks for accesses in self._listed)])
        time = np.concatenate([before[3], *(accesses.time for accesses in self._listed)])
        edges = np.unique(np.concatenate([at, at + nbytes]))
        number = np.zeros(self.end + 1, np.int64)
        number[edges] = np.arange(len(edges))
        first, stop = number[at], number[at + nbytes]
        refused, last = list[tuple[int, int, int]](), list[Ints]()
        for low, high in _blocks(first, stop):
            access, piece = _in_pieces(np.maximum(first, low), np.minimum(stop, high), time)
            # The first access to each piece is a write of the bytes that the piece already held.
            write = np.maximum.accumulate(np.where(is_read[access], 0, np.arange(len(access))))
            wrong = np.flatnonzero(is_read[access] & (marks[access[write]] != marks[access]))
            refused += zip(time[access[wrong]], access[wrong], edges[piece[wrong]], strict=True)
            last.append(marks[access[write[np.flatnonzero(np.diff(piece, append=-1))]]])
        if refused:
            _, which, address = min(refused)
            self._refuse(int(which) - len(start), int(address))
        self._marks = np.repeat(np.concatenate(last), np.diff(edges))
        self._listed.clear()

    def _refuse(self, number: int, address: int) -> None:
        for accesses in self._listed:
            if number < len(accesses.at):
                break
            number -= len(accesses.at)
        content, who = accesses.content, accesses.reader(int(accesses.time[number])) if accesses.reader else ""
        role, key = ("tensor", content) if isinstance(content, int) else content
        byte = int(accesses.marks[number]) + address - self._base_of(content)
        raise PlanError(f"{who}, {role} {key}: byte {byte} was overwritten or never written")

    def wipe(self, foreign: NDArray[np.bool_] | None) -> None:
        """Forget the contents of the bytes that other models write."""
        mask = np.zeros(0, np.bool_) if foreign is None else foreign[: self.head]
        edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
        for start, end in edges.reshape(-1, 2):
            one = np.full(1, start)
            now = np.full_like(one, self.now)
            self.access(Accesses(FOREIGN, one, np.full_like(one, UNKNOWN), int(end - start), now))

    def copied(self, outputs: Iterable[TensorId]) -> list[TensorId]:
        return [tensor for tensor in outputs if (Role.WEIGHTS, tensor) in self.home]

    def private(
        self, role: Role, key: int, nbytes: int, time: Ints | None = None, reader: Callable[[int], object] | None = None
    ) -> None:
        """List accesses to the first `nbytes` bytes of a private buffer: reads if `reader` is given, writes if not."""
        when = np.full(1, self.now) if time is None else time
        if nbytes and len(when):
            at = np.full(len(when), self.at(role, key, nbytes)[1])
            marks = self.mark((role.value, key), 0, at)
            self.access(Accesses((role.value, key), at, marks, nbytes, when, reader))

    def at(self, role: Role, key: int, nbytes: int = 0) -> tuple[Buffer, int]:
        """Return a buffer and its offset, or raise PlanError for a missing buffer or a buffer of fewer than `nbytes`
        bytes.
        """
        if (role, key) not in self.home:
            raise PlanError(f"there is no {role.value} buffer for {key}")
        if self.home[role, key][0].nbytes < nbytes:
            raise PlanError(
                f"{role.value} {key} needs {nbytes} bytes, but has {self.home[role, key][0].nbytes} in the plan"
            )
        return self.home[role, key]

    def _base_of(self, content: Content) -> int:
        return self._base.setdefault(content, len(self._base) + 1 << 40)


def _blocks(first: Ints, stop: Ints) -> Iterator[tuple[int, int]]:
    """Divide the pieces of memory into blocks with about MOST_AT_ONCE accesses.

    Each access begins and ends at a border between pieces.
    """
    count = int(stop.max())
    each = (np.bincount(first, minlength=count + 1) - np.bincount(stop, minlength=count + 1))[:-1].cumsum()
    edges = np.flatnonzero(np.diff(each.cumsum() // MOST_AT_ONCE, prepend=-1)).tolist()
    yield from itertools.pairwise([*edges, count])


def _in_pieces(first: Ints, stop: Ints, time: Ints) -> tuple[Ints, Ints]:
    """Return pairs of an access and a piece that the access covers, ordered by piece and then by time."""
    count = np.maximum(stop - first, 0)
    access = np.repeat(np.arange(len(first)), count)
    piece = np.arange(len(access)) - (count.cumsum() - count - first)[access]
    order = (piece * (int(time.max()) + 1) + time[access]).argsort(kind="stable")
    return access[order], piece[order]
