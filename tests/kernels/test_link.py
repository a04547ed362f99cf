"""Test messages between devices (custom_ops/links/tmo_link.c) over lines that lose, repeat, delay and damage them."""

from __future__ import annotations

import ctypes
import random
import zlib
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from kernels.links import HEAD, LINK, OK, PATIENCE, PEER, ROW, ROWS, WAIT, Device, both, drawn, pair

from tflm_memopt.devices.links import Exchange, LinkSpeed, done


def damaged(device: Device, message: bytes) -> bytes:
    at = device.rng.randrange(len(message))
    return message[:at] + bytes([message[at] ^ 1 << device.rng.randrange(8)]) + message[at + 1 :]


def late(device: Device, message: bytes) -> bytes:
    """Delay messages by less than the patience, by all of it, or by more."""
    if device.other:
        device.other.blocked = device.rng.choice((PATIENCE // 2, PATIENCE, 2 * PATIENCE))
    return message


def foreign(device: Device, message: bytes) -> bytes:
    """Insert a whole message of another program before this one."""
    head = message[:4] + device.rng.randbytes(4) + message[8 : HEAD - 2]
    return head + (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little") + message[HEAD:] + message


def starts_again(device: Device, message: bytes) -> bytes:
    device.fails = True
    return message


FAULTS: dict[str, Callable[[Device, bytes], bytes]] = {
    "drop": lambda device, message: b"",
    "delay": late,
    "duplicate": lambda device, message: message + message,
    "damage": damaged,
    "wrong peer": foreign,
    "restart": starts_again,
    "cut": lambda device, message: message[: device.rng.randrange(len(message))],
    "noise": lambda device, message: device.rng.randbytes(device.rng.randrange(40)) + message,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_no_fault_leads_to_a_wrong_row(library: ctypes.CDLL, kind: str) -> None:
    """Each fault yields an error status, and later inferences succeed again."""
    for seed in range(4):
        first, second = pair(library, 100 * seed + [*FAULTS].index(kind))
        for _ in range(6):
            for device in (first, second):
                device.pending = b""
                device.fault = partial(FAULTS[kind], device) if device.rng.random() < 0.5 else None
            assert set(both(first, second, drawn(first.rng))) <= {OK, LINK, PEER}
            for device in (first, second):
                device.fault, device.blocked, device.fails = None, 0, False
            ends = [both(first, second, drawn(first.rng)) for _ in range(3)]
            assert (OK, OK) in ends, ends


@pytest.mark.slow
def test_a_restarted_device_is_right_again(library: ctypes.CDLL) -> None:
    for seed in range(20):
        first, second = pair(library, seed)
        assert both(first, second, drawn(first.rng)) == (OK, OK)
        half = first.rows([(0, True), (1, False)], drawn(first.rng))
        next(half)
        device = (first, second)[seed % 2]
        device.restart(first.rng.randrange(1 << 16))
        first.inbox.clear(), second.inbox.clear()  # reopen the line
        first.pending = second.pending = b""
        assert (OK, OK) in [both(first, second, drawn(first.rng)) for _ in range(3)]


class Slow(Device):
    """A device whose line has a rate and a latency: messages arrive later by a simulated clock."""

    speed = LinkSpeed(40_000, 3)

    def restart(self, first: int) -> None:
        self.now, self.free = 0.0, 0.0
        self.coming: deque[tuple[float, bytes]] = deque()
        super().restart(first)

    def _send(self, _context: Any, _peer: int, bytes_: Any, count: int) -> int:
        self.free = max(self.now, self.free) + 1000 * count / self.speed.rate
        assert isinstance(self.other, Slow)
        self.other.coming.append((self.free + self.speed.latency, bytes(bytes_[:count])))
        return count

    def _receive(self, _context: Any, _peer: int, bytes_: Any, room: int) -> int:
        while self.coming and self.coming[0][0] <= self.now:
            self.inbox.extend(self.coming.popleft()[1])
        return super()._receive(_context, _peer, bytes_, room)

    def _poll(self, *_: Any) -> int:
        self.now += 1
        return 1


def test_a_slow_line_takes_as_long_as_predicted(library: ctypes.CDLL) -> None:
    """The prediction is exact to the millisecond to which waits are rounded up."""
    rng = random.Random(5)
    first, second = Slow(library, 0, rng), Slow(library, 1, rng)
    first.other, second.other = second, first
    data = drawn(rng)
    runs = {first: first.rows([(0, True), (1, False)], data), second: second.rows([(0, False), (1, True)], data)}
    while runs:
        device = min(runs, key=lambda one: one.now)
        if (status := next(runs[device])) != WAIT:
            assert status == OK
            del runs[device]
    there, back = (Exchange(0.0, ends, True, HEAD + ROW) for ends in ((0, 1), (1, 0)))
    turns = [
        [*[there] * ROWS, *[back._replace(sends=False)] * ROWS],
        [*[there._replace(sends=False)] * ROWS, *[back] * ROWS],
    ]
    predicted = done(turns, [0, 0], Slow.speed)
    for device, milliseconds in zip((first, second), predicted, strict=True):
        assert milliseconds <= device.now <= milliseconds + 2


def test_a_program_of_another_conversion_is_told(library: ctypes.CDLL) -> None:
    first, second = pair(library, 1, identity=8)
    assert PEER in both(first, second, drawn(first.rng))


def test_a_peer_that_says_nothing_is_lost(library: ctypes.CDLL) -> None:
    _, second = pair(library, 2)
    statuses = [*second.rows([(0, False)], drawn(second.rng))]
    assert statuses[-1] == LINK
    assert len(statuses) == PATIENCE + 1
