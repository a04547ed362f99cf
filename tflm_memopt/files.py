"""Files: read whole, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tflm_memopt.errors import UsageError


def read_file(path: Path) -> bytes:
    """The bytes of a file; UsageError when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint="check the path") from error


def write_file(path: Path, data: bytes) -> None:
    """Writes `path` atomically: a reader sees the old file or the new one, and a failure leaves nothing behind.

    Makes missing folders. Raises UsageError when the place is not writable.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="another folder: -o DIR") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="another folder: -o DIR") from error


def _umask() -> int:
    """The process's file mode mask, which mkstemp does not apply; reading it means setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
