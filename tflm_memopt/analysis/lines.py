"""How long devices take together that run one network: what each computes, and how long it waits for the others.

From each device to each other one there is a line, which carries a message behind the other, at so many bytes a second;
each arrives whole, some time after its last byte was sent. A device goes on while its messages are under way.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class LineSpeed:
    """From one device to another."""

    rate: float
    """Bytes a second."""
    latency: float = 0.0
    """Milliseconds."""


class Exchange(NamedTuple):
    """What a device does one after the other: it computes, then it sends or waits for a message."""

    milliseconds: float
    ends: tuple[int, int]
    """Who sends, who receives."""
    sends: bool
    nbytes: int


def done(exchanges: Sequence[Sequence[Exchange]], rest: Sequence[float], line: LineSpeed) -> tuple[float, ...]:
    """After how many milliseconds each device is done. rest: what it computes behind its last message.

    exchanges: by device, as check_together() has found that they end.

    >>> first = [Exchange(2, (0, 1), True, 100), Exchange(0, (1, 0), False, 50)]
    >>> second = [Exchange(0, (0, 1), False, 100), Exchange(3, (1, 0), True, 50)]
    >>> done([first, second], [1, 0], LineSpeed(1e5))
    (7.5, 6.0)
    """
    now = [0.0] * len(exchanges)
    free: dict[tuple[int, int], float] = defaultdict(float)
    under_way: dict[tuple[int, int], deque[float]] = defaultdict(deque)
    left = [deque(own) for own in exchanges]
    moved = True
    while moved:
        moved = False
        for device, own in enumerate(left):
            while own and (own[0].sends or under_way[own[0].ends]):
                next_ = own.popleft()
                now[device] += next_.milliseconds
                if next_.sends:
                    free[next_.ends] = max(now[device], free[next_.ends]) + 1000 * next_.nbytes / line.rate
                    under_way[next_.ends].append(free[next_.ends] + line.latency)
                else:
                    now[device] = max(now[device], under_way[next_.ends].popleft())
                moved = True
    return tuple(a + b for a, b in zip(now, rest, strict=True))
