"""Checks that devices which run one network together receive the sent rows and never deadlock.

A link keeps the order of its messages, so its sender and its receiver must list the same rows in the same order. A
simulation of all devices finds deadlocks: a sender waits for space in the link, and a receiver waits for a row.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple

from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import Message

HEAD_BYTES = 24
"""Size in bytes of a message's head, which precedes the row (TMO_LINK_HEAD in C)."""
UNLIMITED = 1 << 62


class MessageRow(NamedTuple):
    message: Message
    sends: bool
    row: int
    nbytes: int

    @property
    def ends(self) -> tuple[int, int]:
        return self.message.sender, self.message.receiver


@dataclass(frozen=True, slots=True)
class Traffic:
    sent: tuple[int, ...]
    received: tuple[int, ...]
    room: int
    """Smallest number of bytes that a link must be able to store so that no device waits forever."""
    room_for_all: int
    """Smallest number of bytes that a link must be able to store so that no sender ever waits."""


def check_devices(devices: Sequence[Sequence[MessageRow]]) -> Traffic:
    """Raise PlanError if messages of the devices do not match. The argument `devices` has the rows that are sent and
    received, in a separate list for each device.
    """
    for number, rows in enumerate(devices):
        for row in rows:
            own = row.message.sender if row.sends else row.message.receiver
            if own != number or row.ends[0] == row.ends[1] or not max(row.ends) < len(devices):
                raise PlanError(
                    f"device {number} sends or receives on the link {row.ends}, to which it does not belong"
                )
    _check_links(devices)
    most = max((HEAD_BYTES + row.nbytes for rows in devices for row in rows), default=0)
    stuck = _stuck(devices, UNLIMITED)
    if stuck is not None:
        raise PlanError(f"deadlock: device {stuck} waits for a row that depends on it")
    sent, received = (
        tuple(sum(HEAD_BYTES + row.nbytes for row in rows if row.sends is sends) for rows in devices)
        for sends in (True, False)
    )
    # A larger capacity never causes a deadlock, so bisection finds the smallest capacity without deadlock.
    room = bisect_left(range(sum(sent)), True, lo=most, key=lambda room: _stuck(devices, room) is None)
    links: dict[tuple[int, int], int] = defaultdict(int)
    for row in (row for rows in devices for row in rows if row.sends):
        links[row.ends] += HEAD_BYTES + row.nbytes
    return Traffic(sent, received, room, max(links.values(), default=0))


def _check_links(devices: Sequence[Sequence[MessageRow]]) -> None:
    links: dict[tuple[int, int], tuple[list[MessageRow], list[MessageRow]]] = defaultdict(lambda: ([], []))
    for row in chain.from_iterable(devices):
        links[row.ends][row.sends].append(row)
    for ends, (received, sent) in sorted(links.items()):
        for at, (one, other) in enumerate(zip_longest(sent, received)):
            if one != (other and other._replace(sends=True)):
                raise PlanError(
                    f"from device {ends[0]} to {ends[1]}, message {at}: sent {_said(one)}, received {_said(other)}"
                )


def _said(row: MessageRow | None) -> str:
    return f"row {row.row} of tensor {row.message.step} with {row.nbytes} bytes" if row else "nothing"


def _stuck(devices: Sequence[Sequence[MessageRow]], room: int) -> int | None:
    """Return the number of a device that waits forever if each connection stores at most `room` bytes, or None."""
    held: dict[tuple[int, int], int] = defaultdict(int)
    waiting = [deque(rows) for rows in devices]
    moved = True
    while moved:
        moved = False
        for rows in waiting:
            while rows:
                first = rows[0]
                nbytes = HEAD_BYTES + first.nbytes
                if held[first.ends] + nbytes > room if first.sends else held[first.ends] < nbytes:
                    break
                held[first.ends] += nbytes if first.sends else -nbytes
                rows.popleft()
                moved = True
    return next((number for number, rows in enumerate(waiting) if rows), None)
