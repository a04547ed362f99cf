"""Replays TFLM's GreedyMemoryPlanner to predict the offsets of activations and scratch buffers.

The order of buffers, the choice of gaps and the treatment of ties follow
tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc. Offline offsets are kept even if buffers overlap, since
TFLM does not check offline offsets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Need:
    """A buffer that is live from scope `first` to scope `last`, both included (TFLM's AllocationInfo)."""

    nbytes: int
    first: int
    last: int
    offline: int | None = None
    """Offset from the arena's start, or None if TFLM chooses the offset."""


def place(requests: Sequence[Need]) -> tuple[int, ...]:
    """Return offsets in bytes, in the order of `requests` (CalculateOffsetsIfNeeded).

    >>> place([Need(32, 0, 1), Need(64, 1, 2), Need(32, 2, 3)])
    (64, 0, 64)
    """
    offsets = [0] * len(requests)
    placed = np.zeros((4, len(requests)), np.int64)
    """Four numbers of each placed buffer: offset, end, first scope and last scope. The buffers are sorted by offset and
    then by time of placement.
    """
    for count, i in enumerate(_order(requests)):
        request = requests[i]
        there = placed[:, :count]
        offset = request.offline if request.offline is not None else _first_gap(request, there)
        offsets[i] = offset
        at = int(np.searchsorted(there[0], offset, side="right"))
        placed[:, at + 1 : count + 1] = placed[:, at:count].copy()
        placed[:, at] = offset, offset + request.nbytes, request.first, request.last
    return tuple(offsets)


def high_water(requests: Sequence[Need], offsets: Sequence[int]) -> int:
    return max((0, *(offset + request.nbytes for request, offset in zip(requests, offsets, strict=True))))


def _order(requests: Sequence[Need]) -> list[int]:
    """Return the indices of the buffers in the order in which TFLM places them: offline offsets first, then by falling
    size, then by falling index.
    """
    offline = [i for i, r in enumerate(requests) if r.offline is not None]
    online = [i for i, r in enumerate(requests) if r.offline is None]
    return offline + sorted(online, key=lambda i: (requests[i].nbytes, i), reverse=True)


def _first_gap(request: Need, placed: NDArray[np.int64]) -> int:
    """Return the lowest offset at which `request` overlaps no buffer that is live at the same time."""
    starts, ends, first, last = placed
    together = (first <= request.last) & (request.first <= last)
    candidates = np.maximum.accumulate(np.append(0, ends[together]))
    wide = starts[together] - candidates[:-1] >= request.nbytes
    return int(candidates[wide.argmax() if wide.any() else -1])
