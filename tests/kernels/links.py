"""Simulates devices that exchange rows of two tensors through custom_ops/links/."""

import ctypes
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from tflm_memopt.ops.message import options
from tflm_memopt.ops.rowop import Message

OK, WAIT, LINK, PEER = 0, 2, -12, -13
HEAD, ROW, ROWS, PATIENCE = 24, 40, 5, 60
MOVE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint8, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32
)
POLL = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint8, ctypes.c_bool, ctypes.c_uint32)
CLOCK = ctypes.CFUNCTYPE(ctypes.c_uint32)
EXCHANGE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_bool, ctypes.c_uint16, ctypes.c_char_p, ctypes.c_uint32
)


class Transport(ctypes.Structure):
    _fields_ = (("send", MOVE), ("receive", MOVE), ("poll", POLL), ("context", ctypes.c_void_p))


class Link(ctypes.Structure):
    """Structure with the fields of the first member of the C struct tmo_link."""

    _fields_ = (("exchange", EXCHANGE), ("others", ctypes.c_uint8 * 256))


class Device:
    """The function `fault` may change a message between two simulated devices."""

    patience = PATIENCE

    def __init__(self, library: ctypes.CDLL, number: int, rng: random.Random, identity: int = 7) -> None:
        self.library, self.number, self.rng, self.identity = library, number, rng, identity
        self.inbox: deque[int] = deque()
        self.other: Device | None = None
        self.fault: Callable[[bytes], bytes] | None = None
        self.pending = b""
        self.blocked = 0
        self.fails = False
        self.wrong = 0
        self.transport = Transport(MOVE(self._send), MOVE(self._receive), POLL(self._poll), None)
        self.restart(1)

    def restart(self, first: int) -> None:
        self.link, self.peers = Link(), (ctypes.c_uint8 * 256)()
        self.library.tmo_link_open(
            ctypes.byref(self.link), ctypes.byref(self.transport), self.peers, self.number, 2, first, self.patience
        )

    def has_mail(self) -> bool:
        return bool(self.inbox)

    def _send(self, _context: Any, _peer: int, bytes_: Any, count: int) -> int:
        taken = self.rng.randint(0, count)
        self.pending += bytes(bytes_[:taken])
        size = int.from_bytes(self.pending[16:18], "little") if len(self.pending) >= HEAD else 0
        whole = self.pending.startswith(b"TM") and len(self.pending) >= HEAD + size > HEAD
        if self.fault is not None and self.pending.startswith(b"T") and not whole:
            return taken
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
        """Send and receive the rows of an inference. Yield WAIT while the device waits, and a status at the end."""
        self.wrong = 0
        self.library.tmo_link_begin(ctypes.byref(self.link))
        for step, sent in script:
            ends = (self.number, 1 - self.number) if sent else (1 - self.number, self.number)
            what = options(Message(self.identity, step, *ends))
            for row in range(ROWS):
                place = ctypes.create_string_buffer(data(step, row) if sent else b"\x55" * ROW, ROW)
                while (status := self.link.exchange(ctypes.addressof(self.link), what, sent, row, place, ROW)) == WAIT:
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
