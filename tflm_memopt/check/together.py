"""The check of devices that run one network together: what is sent is what is received, and nobody waits for ever.

Every device's plan is replayed alone (checker.py), which gives the rows that it sends and receives, in order. A line
between two devices keeps the order of what goes through it: so both ends must name the same rows one after the other.
Then all devices run at once, each as far as it can, over lines with room for so many bytes; a device that sends waits
for room, one that receives for the row.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import Crossing

HEAD_BYTES = 24
"""In a message, in front of its row: TMO_LINK_HEAD."""
UNLIMITED = 1 << 62


class RowCrosses(NamedTuple):
    """A firing of SEND or RECEIVE."""

    crossing: Crossing
    sends: bool
    row: int
    nbytes: int
    """The row's."""

    @property
    def line(self) -> tuple[int, int]:
        return self.crossing.sender, self.crossing.receiver

    @property
    def message(self) -> tuple[int, int, int, int]:
        """What both ends say of it."""
        return self.crossing.identity, self.crossing.step, self.row, self.nbytes


@dataclass(frozen=True, slots=True)
class Traffic:
    """What goes over the lines in one inference, in bytes of messages."""

    sent: tuple[int, ...]
    """By device."""
    received: tuple[int, ...]
    room: int
    """Bytes that each line has to hold: with less, devices would wait for each other."""


def check_together(devices: Sequence[Sequence[RowCrosses]]) -> Traffic:
    """Raises PlanError where the devices, in the order of their numbers, do not fit together."""
    for number, rows in enumerate(devices):
        for row in rows:
            own = row.crossing.sender if row.sends else row.crossing.receiver
            if own != number or row.line[0] == row.line[1] or not max(row.line) < len(devices):
                raise PlanError(f"device {number} takes part in what crosses from {row.line}", code="devices_line")
    _check_lines(devices)
    most = max((HEAD_BYTES + row.nbytes for rows in devices for row in rows), default=0)
    total = sum(HEAD_BYTES + row.nbytes for rows in devices for row in rows if row.sends)
    stuck = _stuck(devices, UNLIMITED)
    if stuck is not None:
        raise PlanError(f"device {stuck} waits for a row that waits for it", code="devices_deadlock")
    return Traffic(_bytes(devices, sends=True), _bytes(devices, sends=False), _least_room(devices, most, total))


def _bytes(devices: Sequence[Sequence[RowCrosses]], *, sends: bool) -> tuple[int, ...]:
    return tuple(sum(HEAD_BYTES + row.nbytes for row in rows if row.sends is sends) for rows in devices)


def _check_lines(devices: Sequence[Sequence[RowCrosses]]) -> None:
    lines: Mapping[bool, dict[tuple[int, int], list[tuple[int, ...]]]] = {
        True: defaultdict(list),
        False: defaultdict(list),
    }
    for rows in devices:
        for row in rows:
            lines[row.sends][row.line].append(row.message)
    for line in sorted(lines[True].keys() | lines[False].keys()):
        sent, received = lines[True][line], lines[False][line]
        if sent != received:
            at = next((i for i, both in enumerate(zip(sent, received, strict=False)) if both[0] != both[1]), None)
            at = min(len(sent), len(received)) if at is None else at
            raise PlanError(
                f"from device {line[0]} to {line[1]}, message {at}: "
                f"sent is {_said(sent, at)}, received is {_said(received, at)}",
                code="devices_order",
            )


def _said(messages: Sequence[tuple[int, ...]], at: int) -> str:
    if at >= len(messages):
        return "nothing"
    _, step, row, nbytes = messages[at]
    return f"row {row} of tensor {step} with {nbytes} bytes"


def _least_room(devices: Sequence[Sequence[RowCrosses]], least: int, most: int) -> int:
    """The fewest bytes with which nobody waits for ever: more never make it worse."""
    while least < most:
        middle = (least + most) // 2
        if _stuck(devices, middle) is None:
            most = middle
        else:
            least = middle + 1
    return least


def _stuck(devices: Sequence[Sequence[RowCrosses]], room: int) -> int | None:
    """A device that cannot end, with lines of so many bytes."""
    held: dict[tuple[int, int], int] = defaultdict(int)
    waiting = [deque(rows) for rows in devices]
    moved = True
    while moved:
        moved = False
        for rows in waiting:
            while rows:
                first = rows[0]
                nbytes = HEAD_BYTES + first.nbytes
                if held[first.line] + nbytes > room if first.sends else held[first.line] < nbytes:
                    break
                held[first.line] += nbytes if first.sends else -nbytes
                rows.popleft()
                moved = True
    return next((number for number, rows in enumerate(waiting) if rows), None)
