"""Test custom_ops/links/tmo_link_uart.c over pseudo-terminals."""

import ctypes
import os
import random
import tty
from typing import Any

import pytest

from kernels.links import CLOCK, LINK, OK, PEER, Device, Transport, both, drawn

READ = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32)


class Uart(ctypes.Structure):
    _fields_ = (
        ("read", READ), ("write", READ), ("port", ctypes.c_void_p), ("ahead", ctypes.c_uint8), ("has", ctypes.c_bool),
    )  # fmt: skip


class Uarts(ctypes.Structure):
    _fields_ = (("links", ctypes.POINTER(Uart)), ("n_devices", ctypes.c_uint8), ("milliseconds", CLOCK))


class Serial(Device):
    def __init__(self, library: ctypes.CDLL, number: int, port: int, rng: random.Random) -> None:
        self.port, self.time, self.line = port, 0, bytearray()
        super().__init__(library, number, rng)
        library.tmo_uart_transport.restype = Transport
        link = Uart(READ(self._read), READ(self._write))
        self.links = (Uart * 2)(link, link)
        self.uarts = Uarts(self.links, 2, CLOCK(self._now))
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
def test_rows_cross_a_serial_link(library: ctypes.CDLL, seed: int) -> None:
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
