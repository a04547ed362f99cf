"""Reacts to Ctrl-C while modules are imported and while a command runs."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def fatal() -> Iterator[None]:
    """Let Ctrl-C end the process without a traceback. An interrupted import would print several tracebacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def listed() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on Ctrl-C and record it, because extension modules may swallow the exception."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def interrupt(number: int, _: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)
