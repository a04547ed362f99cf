"""Converts the order of a group's iterations to nested loops, which the C library runs.

The loops are short, because many stripes, and many columns of a stripe, have the same order of iterations.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflm_memopt.errors import PlanError
from tflm_memopt.format.codes import LoopCode
from tflm_memopt.format.limits import LOOP_DEPTH
from tflm_memopt.plan.nest import Ints

MAX_TIMES = 0xFFFF
LONGEST_PERIOD = 1024
REPEAT_BYTES = 4
"""Size in bytes of a loop in the program, without the loop's body."""
SKIP_BYTES = 5
"""Size in bytes of the loop code of an iteration that skips stripes; any other iteration takes one byte."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """Stands for one iteration of an operator: the first iteration that has not run yet."""

    stage: int
    skips: int = 0


@dataclass(frozen=True, slots=True)
class Repeat:
    times: int
    body: Loops


Loops = tuple[Iteration | Repeat, ...]


def iterations(loops: Loops) -> Iterator[Iteration]:
    """Yield every iteration of nested loops in order.

    >>> [i.stage for i in iterations((Iteration(0), Repeat(2, (Iteration(0), Iteration(1)))))]
    [0, 0, 1, 0, 1]
    """
    for item in loops:
        if isinstance(item, Repeat):
            body = [*iterations(item.body)]
            for _ in range(item.times):
                yield from body
        else:
            yield item


def to_json(loops: Loops) -> list[Any]:
    """An iteration becomes a number or `[stage, skips]`, and a loop becomes `{"times": ..., "body": [...]}`."""
    return [
        {"times": item.times, "body": to_json(item.body)}
        if isinstance(item, Repeat)
        else [item.stage, item.skips]
        if item.skips
        else item.stage
        for item in loops
    ]


def from_json(data: Sequence[Any]) -> Loops:
    return tuple(
        Repeat(item["times"], from_json(item["body"]))
        if isinstance(item, dict)
        else Iteration(*item)
        if isinstance(item, list)
        else Iteration(item)
        for item in data
    )


def loops_of(stages: Ints, skips: Ints) -> Loops:
    """Return loops that run the iterations `stages` in order, and skip `skips[i]` stripes before iteration i.

    >>> loops_of(np.array([0, *[0, 1] * 4, 1]), np.zeros(10, dtype=np.int64))[1:]
    (Repeat(times=4, body=(Iteration(stage=0, skips=0), Iteration(stage=1, skips=0))), Iteration(stage=1, skips=0))
    """
    finder = _Finder()
    codes, of = np.unique(stages << 32 | skips, return_inverse=True)
    for code in codes.tolist():
        finder.add(Iteration(code >> 32, code & 0xFFFFFFFF))
    return tuple(finder.items[code] for code in finder.shortened(of.astype(np.int64)).tolist())


class _Finder:
    def __init__(self) -> None:
        self.items: list[Iteration | Repeat] = []
        self._nbytes: list[int] = []
        self._depth: list[int] = []
        self._repeats: dict[tuple[int, tuple[int, ...]], int] = {}

    def add(self, item: Iteration) -> int:
        self.items.append(item)
        self._nbytes.append(SKIP_BYTES if item.skips else 1)
        self._depth.append(0)
        return len(self.items) - 1

    def shortened(self, left: Ints) -> Ints:
        period = 1
        while period <= min(LONGEST_PERIOD, len(left) // 2):
            shorter = self._folded(left, period)
            period = 1 if len(shorter) < len(left) else period + 1
            left = shorter
        return left

    def _folded(self, left: Ints, period: int) -> Ints:
        changes = np.flatnonzero(left[period:] != left[:-period])
        edges = np.concatenate(([-1], changes, [len(left) - period]))
        long = np.flatnonzero(edges[1:] - edges[:-1] > period)
        if not len(long):
            return left
        starts, ends = edges[long] + 1, edges[long + 1]
        nbytes = np.append(0, np.array(self._nbytes)[left].cumsum())
        pays = (ends - starts) // period * (nbytes[starts + period] - nbytes[starts]) > REPEAT_BYTES
        parts: list[Ints] = []
        done = 0
        for start, end in zip(starts[pays].tolist(), ends[pays].tolist(), strict=True):
            first = max(start, done)
            times = min((end - first) // period + 1, MAX_TIMES)
            if end - first < period:
                continue
            number = self._repeat(times, tuple(left[first : first + period].tolist()))
            if number is not None:
                parts += [left[done:first], np.array([number])]
                done = first + times * period
        return np.concatenate([*parts, left[done:]]) if parts else left

    def _repeat(self, times: int, body: tuple[int, ...]) -> int | None:
        """Return the index of a loop in `items`, or None if the loop is nested too deeply or saves no bytes."""
        if (times, body) not in self._repeats:
            nbytes, depth = sum(self._nbytes[i] for i in body), 1 + max(self._depth[i] for i in body)
            if depth > LOOP_DEPTH or times * nbytes <= nbytes + REPEAT_BYTES:
                return None
            self._repeats[times, body] = len(self.items)
            self.items.append(Repeat(times, tuple(self.items[i] for i in body)))
            self._nbytes.append(nbytes + REPEAT_BYTES)
            self._depth.append(depth)
        return self._repeats[times, body]


def loop_codes(loops: Loops, _: Any = None) -> bytes:
    """Encode loops as loop codes of a program, which loops_at() decodes."""
    codes = bytearray()
    for item in loops:
        if isinstance(item, Repeat):
            codes += _code(LoopCode.REPEAT, item.times) + loop_codes(item.body)
        elif item.skips:
            codes += _code(LoopCode.SKIP, item.stage, item.skips)
        elif item.stage < LoopCode.NEAR:
            codes.append(item.stage)
        else:
            codes += _code(LoopCode.FAR, item.stage)
    return bytes([*codes, LoopCode.END])


def _code(code: LoopCode, *numbers: int) -> bytes:
    if any(not 0 <= number <= MAX_TIMES for number in numbers):
        raise PlanError(f"a loop contains the number {max(numbers)}, but a program can only hold 0 to {MAX_TIMES}")
    return struct.pack(f"<B{len(numbers)}H", code, *numbers)


def loops_at(data: bytes, at: int, _: Any = None) -> Loops:
    return _loops_from(data, at)[0]


def _loops_from(data: bytes, at: int) -> tuple[Loops, int]:
    items: list[Iteration | Repeat] = []
    while (code := data[at]) != LoopCode.END:
        if code == LoopCode.REPEAT:
            body, after = _loops_from(data, at + 3)
            items.append(Repeat(struct.unpack_from("<H", data, at + 1)[0], body))
            at = after
        elif code == LoopCode.SKIP:
            items.append(Iteration(*struct.unpack_from("<HH", data, at + 1)))
            at += 5
        elif code == LoopCode.FAR:
            items.append(Iteration(*struct.unpack_from("<H", data, at + 1)))
            at += 3
        else:
            items.append(Iteration(code))
            at += 1
    return tuple(items), at + 1
