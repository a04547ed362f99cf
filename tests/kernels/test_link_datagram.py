"""Test custom_ops/links/tmo_link_datagram.c with lost frames and lost acknowledgements."""

import ctypes
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kernels.links import CLOCK, OK, PATIENCE, POLL, WAIT, Device, Transport, both, drawn

FRAME = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint8, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32
)
FRAME_BYTES = 250


class DatagramLink(ctypes.Structure):
    _fields_ = (
        ("received", ctypes.POINTER(ctypes.c_uint8)), ("room", ctypes.c_uint32), ("written", ctypes.c_uint32),
        ("read", ctypes.c_uint32), ("frame", ctypes.c_uint8 * FRAME_BYTES), ("bytes", ctypes.c_uint8),
        ("number", ctypes.c_uint8), ("state", ctypes.c_uint8), ("last", ctypes.c_uint8 * 2), ("has", ctypes.c_bool),
    )  # fmt: skip


class Datagrams(ctypes.Structure):
    _fields_ = (
        ("send", FRAME), ("milliseconds", CLOCK), ("radio", ctypes.c_void_p), ("links", ctypes.POINTER(DatagramLink)),
        ("n_devices", ctypes.c_uint8), ("session", ctypes.c_uint8),
    )  # fmt: skip


class Radio(Device):
    def __init__(self, library: ctypes.CDLL, number: int, rng: random.Random, *, loss: float, room: int = 1024) -> None:
        self.loss, self.room, self.time, self.refuses = loss, room, 0, 0
        self.sent: deque[bytes] = deque()
        super().__init__(library, number, rng)

    def restart(self, first: int) -> None:
        self.library.tmo_datagram_transport.restype = Transport
        self.library.tmo_datagram_done.restype = ctypes.c_bool
        self.received = (ctypes.c_uint8 * self.room)()
        self.links = (DatagramLink * 2)()
        self.links[1 - self.number].received = self.received
        self.links[1 - self.number].room = self.room
        self.datagrams = Datagrams(FRAME(self._frame), CLOCK(self._now), None, self.links, 2, first & 255)
        mine = self.library.tmo_datagram_transport(ctypes.byref(self.datagrams))
        ticks = POLL(lambda context, peer, sends, longest: mine.poll(context, peer, sends, min(longest, 1)))
        self.transport = Transport(mine.send, mine.receive, ticks, mine.context)
        self.sent.clear()
        super().restart(first)

    def has_mail(self) -> bool:
        link = self.links[1 - self.number]
        return bool(link.written != link.read)

    def rows(self, script: list[tuple[int, bool]], data: Callable[[int, int], bytes]) -> Iterator[int]:
        for status in super().rows(script, data):
            left = 0 if status == WAIT else PATIENCE
            while left and not self.library.tmo_datagram_done(ctypes.byref(self.datagrams)):
                left -= 1
                self._now()
                yield WAIT
            yield status

    def _frame(self, _radio: Any, peer: int, bytes_: Any, count: int) -> bool:
        assert peer == 1 - self.number and count <= FRAME_BYTES
        assert not self.sent, "two frames on their way"
        if self.rng.random() < 0.1:
            self.refuses += 1
            return False
        self.sent.append(bytes(bytes_[:count]))
        return True

    def _now(self) -> int:
        self.time += 1
        self.air()
        assert isinstance(self.other, Radio)
        self.other.air()
        return self.time

    def air(self) -> None:
        if self.sent and self.rng.random() < 0.5:
            frame, other = self.sent.popleft(), self.other
            assert isinstance(other, Radio)
            arrives = self.rng.random() >= self.loss
            if arrives:
                self.library.tmo_datagram_came(ctypes.byref(other.datagrams), self.number, frame, len(frame))
            told = arrives and self.rng.random() >= self.loss
            self.library.tmo_datagram_sent(ctypes.byref(self.datagrams), other.number, told)


def radios(library: ctypes.CDLL, seed: int, **settings: Any) -> tuple[Radio, Radio]:
    rng = random.Random(seed)
    first, second = Radio(library, 0, rng, **settings), Radio(library, 1, rng, **settings)
    first.other, second.other = second, first
    return first, second


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_rows_cross_by_radio(library: ctypes.CDLL, seed: int, loss: float) -> None:
    first, second = radios(library, seed, loss=loss)
    assert [both(first, second, drawn(first.rng)) for _ in range(20)] == [(OK, OK)] * 20
    assert first.refuses + second.refuses > 0


@pytest.mark.parametrize("seed", range(4))
def test_a_radio_that_begins_anew_is_right_again(library: ctypes.CDLL, seed: int) -> None:
    first, second = radios(library, seed, loss=0.1)
    for run in range(6):
        assert both(first, second, drawn(first.rng)) == (OK, OK)
        next(first.rows([(0, True), (1, False)], drawn(first.rng)))
        device = (first, second)[run % 2]
        device.restart(first.rng.randrange(1 << 16))
        assert (OK, OK) in [both(first, second, drawn(first.rng)) for _ in range(4)]


def test_a_frame_never_overwrites_what_nobody_has_read(library: ctypes.CDLL) -> None:
    first, _ = radios(library, 5, loss=0.0, room=64)
    link = first.links[1]
    for number, written in enumerate((60, 60, 60)):
        frame = bytes([1, number, *[number] * 60])
        library.tmo_datagram_came(ctypes.byref(first.datagrams), 1, frame, len(frame))
        assert link.written == written
    assert bytes(first.received[:60]) == bytes(60)
