"""Links between processes with a rate and a latency, for tests and benchmarks: bytes arrive later.

    with SlowLines(speed, ports) as lines:
        lines.ports(device)     # where that device finds the others

Every pair of devices has a link. Its two directions are independent of each other and of the computation. Bytes are
sent in order and arrive in pieces.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType

from tflm_memopt.devices.links import LinkSpeed

PIECE, PIECES = 64, 1000
"""Least bytes that arrive together, and most pieces per second, because shorter waits than 1 ms are inaccurate."""
UNREAD = 4096
"""Approximate number of bytes that a link buffers. A sender waits when the buffer is full."""
HOST = "127.0.0.1"


class SlowLines:
    """Listen for the connections of each device to those with lower numbers, and forward them."""

    def __init__(self, speed: LinkSpeed, ports: Sequence[int]) -> None:
        self.speed, self.of = speed, ports
        self.piece = max(PIECE, int(speed.rate / PIECES))
        self.closing = contextlib.ExitStack()
        self.found: dict[tuple[int, int], int] = {}

    def __enter__(self) -> SlowLines:
        for device in range(len(self.of)):
            for other in range(device):
                listening = self.closing.enter_context(socket.create_server((HOST, 0)))
                self.found[device, other] = listening.getsockname()[1]
                _start(partial(self._joined, listening, self.of[other]))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.closing.close()

    def ports(self, device: int) -> list[int]:
        """Return the ports of all devices as seen by `device`."""
        return [self.found.get((device, other), port) for other, port in enumerate(self.of)]

    def _joined(self, listening: socket.socket, port: int) -> None:
        with contextlib.suppress(OSError):  # closed before a connection
            one, _ = listening.accept()
            other = socket.create_connection((HOST, port))
            other.sendall(one.recv(1))  # the device number is not delayed
            for end in (one, other):
                self.closing.callback(end.close)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for a, b in ((one, other), (other, one)):
                coming: queue.Queue[tuple[float, bytes]] = queue.Queue(max(1, UNREAD // self.piece))
                _start(partial(self._leave, a, coming))
                _start(partial(_arrive, b, coming))

    def _leave(self, sender: socket.socket, coming: queue.Queue[tuple[float, bytes]]) -> None:
        """Compute when each piece arrives, after those before it."""
        free = 0.0
        with contextlib.suppress(OSError):
            while piece := sender.recv(self.piece):
                free = max(time.monotonic(), free) + len(piece) / self.speed.rate
                coming.put((free + self.speed.latency / 1000, piece))
        coming.put((free, b""))


def _arrive(receiver: socket.socket, coming: queue.Queue[tuple[float, bytes]]) -> None:
    with contextlib.suppress(OSError):
        while True:
            due, piece = coming.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not piece:
                receiver.shutdown(socket.SHUT_WR)
                return
            receiver.sendall(piece)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()
