"""Reacts to Ctrl-C while modules are imported and while a command runs."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

Handler = signal.Handlers | Callable[[int, FrameType | None], None]


@contextlib.contextmanager
def fatal(handler: Handler = signal.SIG_DFL) -> Iterator[None]:
    """Let Ctrl-C end the process without a traceback. An interrupted import of Python modules would print several
    tracebacks.

    With the argument `handler`, Ctrl-C calls the handler and does not end the process. Outside the main thread, the
    function does nothing, because Python does not allow a handler there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def listed() -> Iterator[list[int]]:
    """On Ctrl-C, raise KeyboardInterrupt and add the signal to the yielded list, because extension modules may swallow
    the exception.
    """
    seen: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    with fatal(interrupt):
        yield seen
