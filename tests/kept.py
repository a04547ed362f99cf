"""What tests would make again and again, kept in a folder for the next test, worker or run: each under a digest of all
that it depends on.
"""

from __future__ import annotations

import functools
import os
import tempfile
import threading
import time
from pathlib import Path

FOLDER = Path(tempfile.gettempdir()) / f"tmo_kept_{os.getuid()}"
UNUSED = 24 * 3600
"""Seconds after which what nobody asked for is deleted."""


def find(name: str) -> bytes | None:
    """What is kept under a name."""
    path = folder() / name
    try:
        found = path.read_bytes()
        os.utime(path)
    except FileNotFoundError:
        return None
    return found


def keep(name: str, data: bytes) -> None:
    """For find() of everybody."""
    partial = folder() / f"{name}.{os.getpid()}.{threading.get_ident()}"  # others may make the same one
    partial.write_bytes(data)
    partial.replace(folder() / name)


@functools.cache
def folder() -> Path:
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    for path in FOLDER.iterdir():
        try:
            if path.stat().st_mtime < time.time() - UNUSED:
                path.unlink()
        except FileNotFoundError:  # by another worker
            pass
    return FOLDER
