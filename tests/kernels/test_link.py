"""The messages between devices (custom_ops/links/tmo_link.c), over lines that lose, repeat, delay and damage them."""

from __future__ import annotations

import ctypes
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tflm_memopt.ops.crossing import options
from tflm_memopt.ops.rowop import Crossing
from tflm_memopt.runtime.native import native_library

OK, WAIT, LINK, PEER = 0, 2, -12, -13
HEAD, ROW, ROWS, PATIENCE = 24, 40, 5, 60
MOVE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint8, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32
)
POLL = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint8, ctypes.c_bool, ctypes.c_uint32)
CROSS = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_bool, ctypes.c_uint16, ctypes.c_char_p, ctypes.c_uint32
)


class Transport(ctypes.Structure):
    _fields_ = (("send", MOVE), ("receive", MOVE), ("poll", POLL), ("context", ctypes.c_void_p))


class Link(ctypes.Structure):
    """tmo_link: its first member, and room for the others."""

    _fields_ = (("cross", CROSS), ("others", ctypes.c_uint8 * 256))


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(native_library("tmo_host")))


class Device:
    """One of two, whose messages go to the other's `inbox` through `fault`."""

    def __init__(self, library: ctypes.CDLL, number: int, rng: random.Random, identity: int = 7) -> None:
        self.library, self.number, self.rng, self.identity = library, number, rng, identity
        self.inbox: deque[int] = deque()
        self.other: Device | None = None
        self.fault: Callable[[bytes], bytes] | None = None
        self.pending = b""
        self.wrong = 0
        """Rows of an older inference: one that the first device has given up, whose answer it passes over."""
        self.transport = Transport(MOVE(self._send), MOVE(self._receive), POLL(lambda *_: 1), None)
        self.restart(1)

    def restart(self, first: int) -> None:
        self.link, self.peers = Link(), (ctypes.c_uint8 * 256)()
        self.library.tmo_link_open(
            ctypes.byref(self.link), ctypes.byref(self.transport), self.peers, self.number, 2, first, PATIENCE
        )

    def _send(self, _context: Any, _peer: int, bytes_: Any, count: int) -> int:
        taken = self.rng.randint(0, count)
        self.pending += bytes(bytes_[:taken])
        whole = self.pending.startswith(b"TM") and len(self.pending) >= HEAD + ROW
        if self.fault is not None and self.pending.startswith(b"T") and not whole:
            return taken  # a fault takes a message
        if self.fault is not None and whole and self.rng.random() < 0.3:
            self.pending, self.fault = self.fault(self.pending), None
        if self.other:
            self.other.inbox.extend(self.pending)
        self.pending = b""
        return taken

    def _receive(self, _context: Any, _peer: int, bytes_: Any, room: int) -> int:
        count = min(self.rng.randint(1, room), len(self.inbox))
        for i in range(count):
            bytes_[i] = self.inbox.popleft()
        return count

    def rows(self, script: list[tuple[int, bool]], data: Callable[[int, int], bytes]) -> Iterator[int]:
        """One inference: crosses the rows of tensors, (step, sent). Yields WAIT while it waits, then how it ended."""
        self.wrong = 0
        self.library.tmo_link_begin(ctypes.byref(self.link))
        for step, sent in script:
            ends = (self.number, 1 - self.number) if sent else (1 - self.number, self.number)
            what = options(Crossing(self.identity, step, *ends))
            for row in range(ROWS):
                place = ctypes.create_string_buffer(data(step, row) if sent else b"\x55" * ROW, ROW)
                while (status := self.link.cross(ctypes.addressof(self.link), what, sent, row, place, ROW)) == WAIT:
                    if self.library.tmo_link_wait(ctypes.byref(self.link)) != OK:
                        yield LINK
                        return
                    yield WAIT
                if status != OK:
                    yield status
                    return
                self.wrong += place.raw != data(step, row)
                assert not self.wrong or self.number, "the device that has the output got a wrong row"
        yield OK


def both(first: Device, second: Device, data: Callable[[int, int], bytes]) -> tuple[int, int]:
    """How an inference ended: the first sends tensor 0, the second answers with tensor 1."""
    runs = [first.rows([(0, True), (1, False)], data), second.rows([(0, False), (1, True)], data)]
    ended: list[int | None] = [None, None]
    turns = 0
    while None in ended:
        for k, run in enumerate(runs):
            if ended[k] is None and (status := next(run)) != WAIT:
                ended[k] = status
        turns += 1
        assert turns < 4 * PATIENCE * ROWS * 2, "no status within the time"
    assert first.wrong == 0 and (ended != [OK, OK] or second.wrong == 0)
    return ended[0] or 0, ended[1] or 0


def pair(library: ctypes.CDLL, seed: int, identity: int = 7) -> tuple[Device, Device]:
    rng = random.Random(seed)
    first, second = Device(library, 0, rng), Device(library, 1, rng, identity)
    first.other, second.other = second, first
    return first, second


def drawn(rng: random.Random) -> Callable[[int, int], bytes]:
    rows = {(step, row): rng.randbytes(ROW) for step in range(2) for row in range(ROWS)}
    return lambda step, row: rows[step, row]


def damaged(rng: random.Random) -> Callable[[bytes], bytes]:
    def flip(message: bytes) -> bytes:
        at = rng.randrange(len(message))
        return message[:at] + bytes([message[at] ^ 1 << rng.randrange(8)]) + message[at + 1 :]

    return flip


FAULTS: dict[str, Callable[[random.Random], Callable[[bytes], bytes]]] = {
    "drop": lambda rng: lambda message: b"",
    "duplicate": lambda rng: lambda message: message + message,
    "damage": damaged,
    "cut": lambda rng: lambda message: message[: rng.randrange(len(message))],
    "noise": lambda rng: lambda message: rng.randbytes(rng.randrange(40)) + message,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("seed", range(10))
def test_no_fault_leads_to_a_wrong_row(library: ctypes.CDLL, kind: str, seed: int) -> None:
    """Six faults in a row, 300 in all; each ends in a status, and soon an inference is right again."""
    first, second = pair(library, 100 * seed + len(kind))
    for _ in range(6):
        for device in (first, second):
            device.pending = b""
            device.fault = FAULTS[kind](device.rng) if device.rng.random() < 0.5 else None
        assert set(both(first, second, drawn(first.rng))) <= {OK, LINK, PEER}
        first.fault = second.fault = None
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
        first.inbox.clear(), second.inbox.clear()  # the line is opened anew
        first.pending = second.pending = b""
        assert (OK, OK) in [both(first, second, drawn(first.rng)) for _ in range(3)]


def test_a_program_of_another_conversion_is_told(library: ctypes.CDLL) -> None:
    first, second = pair(library, 1, identity=8)
    assert PEER in both(first, second, drawn(first.rng))


def test_a_peer_that_says_nothing_is_lost(library: ctypes.CDLL) -> None:
    _, second = pair(library, 2)
    statuses = [*second.rows([(0, False)], drawn(second.rng))]
    assert statuses[-1] == LINK
    assert len(statuses) == PATIENCE + 1
