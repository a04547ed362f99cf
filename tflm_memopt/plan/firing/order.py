"""In which order the operators of a block fire: there a program says who is next, and nobody needs to search.

Demands lead to the same order strip after strip, and in a strip column after column, but to follow them takes the
executor as long as a small kernel takes for a pixel. A byte for each firing of one strip is enough. What repeats itself
nowhere, as at the borders of the map, is listed in full where that stays short.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

ORDER = np.dtype([("first", "<u4"), ("count", "<u4"), ("ops", "<u4"), ("period", "<u2"), ("reserved", "<u2")])
"""tmo_order of program.h."""
MOST_OPS = 255
"""Operators of a block with an order, at most: their numbers are bytes, and 255 is a firing out of order."""
MOST_BYTES = 1024
"""Bytes of an order, at most."""
WORTH = 2
"""Firings that need no search, for each byte: those of its record, too."""
LEAST_LISTED = ORDER.itemsize
"""Firings that are listed in full: they take a byte each, and the record."""
MOST_LISTED = MOST_BYTES
"""In a block."""
MOST_BLOCKS = 64
"""Blocks that are remembered, with their orders."""
_TRUE = np.True_.tobytes()
MOST_LOOKS = 64
"""For something that repeats itself, in a block: the longest parts are looked at first."""


@dataclass(frozen=True, slots=True)
class Order:
    """The firings [start, start + count) of a run, all of one block, are those of these operators, over and over."""

    start: int
    count: int
    ops: tuple[int, ...]
    """Counted from the block's first; of one period."""


def orders_of(ops: NDArray[np.int64], units: NDArray[np.int64], before: int = 0) -> tuple[Order, ...]:
    """The parts of a block's firings that a program tells, one after the other.

    ops: operator of each firing, counted from the block's first. units: which of its firings. before: firings of the
    run before the block.

    >>> ops = np.array([0, 0, *[0, 1] * 30, 1, *[2] * 50])
    >>> orders_of(ops, np.array([np.sum(ops[:i] == op) for i, op in enumerate(ops)]))
    (Order(start=2, count=60, ops=(0, 1)), Order(start=63, count=50, ops=(2,)))
    """
    if len(ops) == 0 or int(ops.max()) >= MOST_OPS:
        return ()
    found = np.where(_in_turn(ops, units), ops, MOST_OPS).astype(np.uint8)
    return tuple(replace(order, start=before + order.start) for order in _parts(found.tobytes()))


@functools.lru_cache(maxsize=MOST_BLOCKS)
def _parts(firings: bytes) -> tuple[Order, ...]:
    """The parts of a block that starts with the run: a block is lowered, and its cost is told.

    firings: operators, MOST_OPS where one is not in order.
    """
    found = np.frombuffer(firings, dtype=np.uint8)
    parts, rest, left = [], [(-len(found), 0)], found.copy()
    for _ in range(MOST_LOOKS):
        if not rest:
            break
        length, at = heapq.heappop(rest)
        best = _best(found[at : at - length])
        if best:
            end = best.start + best.count
            parts.append(replace(best, start=at + best.start))
            left[at + best.start : at + end] = MOST_OPS
            heapq.heappush(rest, (-best.start, at))
            heapq.heappush(rest, (length + end, at + end))
    return tuple(sorted([*parts, *_listed(left)], key=lambda order: order.start))


def _listed(left: NDArray[np.uint8]) -> Iterator[Order]:
    """The longest parts that are in order, as they are. MOST_OPS: not in order, or known."""
    room = MOST_LISTED
    starts, ends = _runs(left != MOST_OPS)
    for k in np.argsort(starts - ends, kind="stable").tolist():
        count = min(int(ends[k] - starts[k]), room)
        if count < LEAST_LISTED:
            return
        start = int(starts[k])
        room -= count
        yield Order(start, count, tuple(left[start : start + count].tolist()))


def _best(found: NDArray[np.uint8]) -> Order | None:
    """What repeats itself, and saves most. MOST_OPS: not in order."""
    best, saved, in_order = None, 0, found != MOST_OPS
    for period in range(1, min(MOST_BYTES, len(found) // WORTH) + 1):
        cost = WORTH * (period + ORDER.itemsize)
        if len(found) - cost <= saved:
            break
        again = (found[period:] == found[:-period]) & in_order[period:]
        if _TRUE * (saved + cost - period + 1) not in again.tobytes():
            continue
        start, length = _longest(again)
        saved = length + period - cost
        best = Order(start, length + period, tuple(found[start : start + period].tolist()))
    return best


def _in_turn(ops: NDArray[np.int64], units: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Firings that make the unit after the operator's last; a block's first is searched for, always.

    Where an operator leaves out rows that nobody asks for, the executor has to notice.
    """
    result = np.zeros(len(ops), dtype=np.bool_)
    for op in np.unique(ops):
        at = np.flatnonzero(ops == op)
        result[at] = np.diff(units[at], prepend=-1) == 1
    result[0] = False
    return result


def _longest(true: NDArray[np.bool_]) -> tuple[int, int]:
    """Start and length of the longest run, the first of several; there is one."""
    starts, ends = _runs(true)
    k = int(np.argmax(ends - starts))
    return int(starts[k]), int(ends[k] - starts[k])


def _runs(true: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends of the runs, in turn."""
    edges = np.flatnonzero(np.diff(true, prepend=False, append=False))
    return edges[::2], edges[1::2]
