"""Estimates how long several devices take to run one network together.

Any two devices have a link in each direction. A link sends one message at a time at a fixed rate. A message arrives as
a whole after the link's latency. A device continues to compute while its messages are being sent.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    rate: float
    """Rate of the link in bytes per second."""
    latency: float = 0.0
    """Milliseconds between the sending and the receiving of a message."""


class Exchange(NamedTuple):
    milliseconds: float
    ends: tuple[int, int]
    """Index of the sending device, and index of the receiving device."""
    sends: bool
    nbytes: int


def done(exchanges: Sequence[Sequence[Exchange]], rest: Sequence[float], link: LinkSpeed) -> tuple[float, ...]:
    """Return for each device the time in milliseconds at which the device ends its work.

    The argument `exchanges` has the messages of each device in order, and must not contain a deadlock. The argument
    `rest` states for how many milliseconds each device computes after its last message.

    >>> first = [Exchange(2, (0, 1), True, 100), Exchange(0, (1, 0), False, 50)]
    >>> second = [Exchange(0, (0, 1), False, 100), Exchange(3, (1, 0), True, 50)]
    >>> done([first, second], [1, 0], LinkSpeed(1e5))
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
                    free[next_.ends] = max(now[device], free[next_.ends]) + 1000 * next_.nbytes / link.rate
                    under_way[next_.ends].append(free[next_.ends] + link.latency)
                else:
                    now[device] = max(now[device], under_way[next_.ends].popleft())
                moved = True
    return tuple(a + b for a, b in zip(now, rest, strict=True))
