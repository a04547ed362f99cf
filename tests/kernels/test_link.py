"""The messages between devices (custom_ops/links/tmo_link.c), over lines that lose, repeat, delay and damage them."""

from __future__ import annotations

import ctypes
import os
import random
import tty
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tflm_memopt.analysis.lines import Exchange, LineSpeed, done
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
        self.blocked = 0
        """Milliseconds for which nothing arrives any more."""
        self.fails = False
        """Its program starts again."""
        self.wrong = 0
        """Rows of an older inference: one that the first device has given up, whose answer it passes over."""
        self.transport = Transport(MOVE(self._send), MOVE(self._receive), POLL(self._poll), None)
        self.restart(1)

    def restart(self, first: int) -> None:
        self.link, self.peers = Link(), (ctypes.c_uint8 * 256)()
        self.library.tmo_link_open(
            ctypes.byref(self.link), ctypes.byref(self.transport), self.peers, self.number, 2, first, PATIENCE
        )

    def has_mail(self) -> bool:
        """Whether something came that nobody has read."""
        return bool(self.inbox)

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

    def _poll(self, *_: Any) -> int:
        self.blocked = max(0, self.blocked - 1)
        return 1

    def _receive(self, _context: Any, _peer: int, bytes_: Any, room: int) -> int:
        if self.blocked:
            return 0
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
                if self.fails:
                    self.fails, self.pending = False, b""
                    self.restart(self.rng.randrange(1 << 16))
                    yield LINK
                    return
                if status != OK:
                    yield status
                    return
                self.wrong += place.raw != data(step, row)
                assert not self.wrong or self.number, "the device that has the output got a wrong row"
        yield OK


def both(first: Device, second: Device, data: Callable[[int, int], bytes]) -> tuple[int, int]:
    """How an inference ended: the first sends tensor 0, the second answers with tensor 1.

    The second one goes on with what came meanwhile, as it does on a device: it may have been late.
    """
    scripts = {first: [(0, True), (1, False)], second: [(0, False), (1, True)]}
    runs = {device: device.rows(script, data) for device, script in scripts.items()}
    ended: dict[Device, int] = {}
    turns = 0
    while len(ended) < len(runs):
        for device, run in runs.items():
            if device not in ended and (status := next(run)) != WAIT:
                ended[device] = status
        if ended.get(second) == OK and first not in ended and second.has_mail():
            del ended[second]
            runs[second] = second.rows(scripts[second], data)
        turns += 1
        assert turns < 8 * PATIENCE * ROWS * 2, "no status within the time"
    assert first.wrong == 0
    assert second.wrong == 0 or set(ended.values()) != {OK}
    return ended[first], ended[second]


def pair(library: ctypes.CDLL, seed: int, identity: int = 7) -> tuple[Device, Device]:
    rng = random.Random(seed)
    first, second = Device(library, 0, rng), Device(library, 1, rng, identity)
    first.other, second.other = second, first
    return first, second


def drawn(rng: random.Random) -> Callable[[int, int], bytes]:
    rows = {(step, row): rng.randbytes(ROW) for step in range(2) for row in range(ROWS)}
    return lambda step, row: rows[step, row]


def damaged(device: Device, message: bytes) -> bytes:
    at = device.rng.randrange(len(message))
    return message[:at] + bytes([message[at] ^ 1 << device.rng.randrange(8)]) + message[at + 1 :]


def late(device: Device, message: bytes) -> bytes:
    """The line stops for less than the patience, for all of it, or for more."""
    if device.other:
        device.other.blocked = device.rng.choice((PATIENCE // 2, PATIENCE, 2 * PATIENCE))
    return message


def foreign(device: Device, message: bytes) -> bytes:
    """A whole message of another program comes in front."""
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
@pytest.mark.parametrize("seed", range(10))
def test_no_fault_leads_to_a_wrong_row(library: ctypes.CDLL, kind: str, seed: int) -> None:
    """Six faults in a row, 480 in all; each ends in a status, and soon an inference is right again."""
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
        first.inbox.clear(), second.inbox.clear()  # the line is opened anew
        first.pending = second.pending = b""
        assert (OK, OK) in [both(first, second, drawn(first.rng)) for _ in range(3)]


READ = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32)
CLOCK = ctypes.CFUNCTYPE(ctypes.c_uint32)


class Uart(ctypes.Structure):
    """tmo_uart."""

    _fields_ = (
        ("read", READ), ("write", READ), ("port", ctypes.c_void_p), ("ahead", ctypes.c_uint8), ("has", ctypes.c_bool),
    )  # fmt: skip


class Uarts(ctypes.Structure):
    _fields_ = (("lines", ctypes.POINTER(Uart)), ("n_devices", ctypes.c_uint8), ("milliseconds", CLOCK))


class Serial(Device):
    """One that has a serial port."""

    def __init__(self, library: ctypes.CDLL, number: int, port: int, rng: random.Random) -> None:
        self.port, self.time, self.line = port, 0, bytearray()
        super().__init__(library, number, rng)
        library.tmo_uart_transport.restype = Transport
        line = Uart(READ(self._read), READ(self._write))
        self.lines = (Uart * 2)(line, line)
        self.uarts = Uarts(self.lines, 2, CLOCK(self._now))
        self.transport = library.tmo_uart_transport(ctypes.byref(self.uarts))
        self.restart(1)

    def _now(self) -> int:
        self.time += 1
        return self.time

    def _read(self, _port: Any, bytes_: Any, room: int) -> int:
        try:
            found = os.read(self.port, self.rng.randint(1, room))
        except BlockingIOError:
            return 0
        ctypes.memmove(bytes_, found, len(found))
        return len(found)

    def _write(self, _port: Any, bytes_: Any, count: int) -> int:
        try:
            return os.write(self.port, bytes(bytes_[: self.rng.randint(1, count)]))
        except BlockingIOError:
            return 0


@pytest.mark.parametrize("seed", range(3))
def test_rows_cross_a_serial_line(library: ctypes.CDLL, seed: int) -> None:
    """Through a pseudo-terminal; what somebody else wrote to it is passed over, or ends an inference with a status."""
    ends = os.openpty()
    try:
        for end in ends:
            tty.setraw(end)
            os.set_blocking(end, False)
        rng = random.Random(seed)
        first, second = (Serial(library, number, end, rng) for number, end in enumerate(ends))
        for run in range(4):
            if run % 2:
                os.write(ends[run // 2], rng.randbytes(rng.randrange(1, 60)))
            found = both(first, second, drawn(rng))
            assert set(found) <= {OK, LINK, PEER}
            assert run or found == (OK, OK)
        assert (OK, OK) in [both(first, second, drawn(rng)) for _ in range(3)]
    finally:
        for end in ends:
            os.close(end)


def test_a_serial_line_without_a_peer_ends_in_time(library: ctypes.CDLL) -> None:
    ends = os.openpty()
    try:
        os.set_blocking(ends[1], False)
        device = Serial(library, 1, ends[1], random.Random(1))
        *_, last = device.rows([(0, False)], drawn(device.rng))
        assert last == LINK
        assert device.time < 3 * PATIENCE
        assert next(device.rows([(0, False)], drawn(device.rng))) == WAIT
    finally:
        for end in ends:
            os.close(end)


FRAME = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint8, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32
)
FRAME_BYTES = 250


class DatagramLine(ctypes.Structure):
    """tmo_datagram_line."""

    _fields_ = (
        ("ring", ctypes.POINTER(ctypes.c_uint8)), ("room", ctypes.c_uint32), ("written", ctypes.c_uint32),
        ("read", ctypes.c_uint32), ("frame", ctypes.c_uint8 * FRAME_BYTES), ("bytes", ctypes.c_uint8),
        ("number", ctypes.c_uint8), ("state", ctypes.c_uint8), ("last", ctypes.c_uint8 * 2), ("has", ctypes.c_bool),
    )  # fmt: skip


class Datagrams(ctypes.Structure):
    _fields_ = (
        ("send", FRAME), ("milliseconds", CLOCK), ("radio", ctypes.c_void_p), ("lines", ctypes.POINTER(DatagramLine)),
        ("n_devices", ctypes.c_uint8), ("session", ctypes.c_uint8),
    )  # fmt: skip


class Radio(Device):
    """One whose frames are lost, or their acknowledgements, with a probability of `loss` each."""

    def __init__(self, library: ctypes.CDLL, number: int, rng: random.Random, *, loss: float, room: int = 1024) -> None:
        self.loss, self.room, self.time, self.refuses = loss, room, 0, 0
        self.sent: deque[bytes] = deque()
        super().__init__(library, number, rng)

    def restart(self, first: int) -> None:
        self.library.tmo_datagram_transport.restype = Transport
        self.library.tmo_datagram_done.restype = ctypes.c_bool
        self.ring = (ctypes.c_uint8 * self.room)()
        self.lines = (DatagramLine * 2)()
        self.lines[1 - self.number].ring = self.ring
        self.lines[1 - self.number].room = self.room
        self.datagrams = Datagrams(FRAME(self._frame), CLOCK(self._now), None, self.lines, 2, first & 255)
        mine = self.library.tmo_datagram_transport(ctypes.byref(self.datagrams))
        # A tick at a time: the other device has its turn in between.
        ticks = POLL(lambda context, peer, sends, longest: mine.poll(context, peer, sends, min(longest, 1)))
        self.transport = Transport(mine.send, mine.receive, ticks, mine.context)
        self.sent.clear()
        super().restart(first)

    def has_mail(self) -> bool:
        line = self.lines[1 - self.number]
        return bool(line.written != line.read)

    def rows(self, script: list[tuple[int, bool]], data: Callable[[int, int], bytes]) -> Iterator[int]:
        """The end of the last message may lie in a frame that is not full, or that was lost."""
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
        """The end of the frame on its way."""
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
    """What is lost is sent again, and what comes twice is taken once: no inference ends with an error."""
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


def test_frames_without_room_end_in_a_status(library: ctypes.CDLL) -> None:
    """A ring smaller than what a line holds: rows are missing, and none is wrong."""
    first, second = radios(library, 3, loss=0.0, room=64)
    ends = [both(first, second, drawn(first.rng)) for _ in range(4)]
    assert {status for end in ends for status in end} <= {OK, LINK, PEER}
    assert any(LINK in end for end in ends)


def test_a_frame_never_overwrites_what_nobody_has_read(library: ctypes.CDLL) -> None:
    first, _ = radios(library, 5, loss=0.0, room=64)
    line = first.lines[1]
    for number, written in enumerate((60, 60, 60)):
        frame = bytes([1, number, *[number] * 60])
        library.tmo_datagram_came(ctypes.byref(first.datagrams), 1, frame, len(frame))
        assert line.written == written
    assert bytes(first.ring[:60]) == bytes(60)


def test_what_is_no_frame_of_a_peer_is_passed_over(library: ctypes.CDLL) -> None:
    first, second = radios(library, 4, loss=0.0)
    for peer, frame in ((2, b"abc"), (255, b""), (1, b"a"), (1, b"")):
        library.tmo_datagram_came(ctypes.byref(first.datagrams), peer, frame, len(frame))
        library.tmo_datagram_sent(ctypes.byref(first.datagrams), peer, True)
    assert both(first, second, drawn(first.rng)) == (OK, OK)


class Slow(Device):
    """One whose line has a rate and a latency: what it sends arrives later, by a clock of its own."""

    speed = LineSpeed(40_000, 3)

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
    """To the millisecond that a wait is rounded up to."""
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
