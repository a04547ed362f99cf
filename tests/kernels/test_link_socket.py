"""Test custom_ops/links/tmo_link_socket.c with real sockets and the computer's clock."""

import contextlib
import ctypes
import random
import socket
import time
from collections.abc import Iterator

import pytest

from kernels.links import LINK, OK, PATIENCE, POLL, WAIT, Device, Transport, both, drawn

PEERS = 16
LONG = 60_000


class Sockets(ctypes.Structure):
    _fields_ = (("fd", ctypes.c_int * PEERS),)


class Connected(Device):
    def __init__(self, library: ctypes.CDLL, number: int, stream: int, patience: int = LONG) -> None:
        self.patience = patience
        super().__init__(library, number, random.Random(number))
        library.tmo_socket_transport.restype = Transport
        self.sockets = Sockets((ctypes.c_int * PEERS)(*[-1] * PEERS))
        self.sockets.fd[1 - number] = stream
        mine = library.tmo_socket_transport(ctypes.byref(self.sockets))
        ticks = POLL(lambda context, peer, sends, longest: mine.poll(context, peer, sends, min(longest, 1)))
        self.transport = Transport(mine.send, mine.receive, ticks, mine.context)
        self.restart(1)


@pytest.fixture
def streams() -> Iterator[tuple[socket.socket, socket.socket]]:
    pair = socket.socketpair()
    yield pair
    for stream in pair:
        stream.close()


Streams = tuple[socket.socket, socket.socket]
ANSWER = [(0, False), (1, True)]


def test_rows_cross_a_socket(library: ctypes.CDLL, streams: Streams) -> None:
    first, second = (Connected(library, number, stream.fileno()) for number, stream in enumerate(streams))
    assert [both(first, second, drawn(first.rng)) for _ in range(20)] == [(OK, OK)] * 20


def fill(stream: socket.socket) -> int:
    stream.setblocking(False)
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            sent += stream.send(bytes(1 << 16))
    return sent


def test_a_sender_waits_while_the_line_is_full(library: ctypes.CDLL, streams: Streams) -> None:
    first, second = (Connected(library, number, stream.fileno(), PATIENCE) for number, stream in enumerate(streams))
    data = drawn(first.rng)
    full = fill(streams[0])
    sending = first.rows([(0, True)], data)
    assert next(sending) == WAIT
    while full:
        full -= len(streams[1].recv(min(full, 1 << 16)))
    assert [*sending][-1] == OK
    assert [*second.rows([(0, False)], data)][-1] == OK
    fill(streams[0])
    assert [*first.rows([(0, True)], data)][-1] == LINK


def test_a_peer_that_is_gone_ends_an_inference_at_once(library: ctypes.CDLL, streams: Streams) -> None:
    """If one device is gone, the other device gets an error, and no SIGPIPE ends the program."""
    device = Connected(library, 1, streams[1].fileno())
    waiting = device.rows(ANSWER, drawn(device.rng))
    assert next(waiting) == WAIT
    streams[0].close()
    begun = time.monotonic()
    assert next(waiting) == LINK
    first = Connected(library, 0, streams[1].fileno())
    assert next(first.rows([(0, True)], drawn(first.rng))) == LINK
    assert time.monotonic() - begun < LONG / 1000
