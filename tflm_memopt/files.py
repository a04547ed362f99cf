"""Files: read whole, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tflm_memopt.errors import UsageError


def read_file(path: Path) -> bytes:
    """The bytes of a file; UsageError when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", code="cannot_read", hint="check the path") from error


def write_file(path: Path, data: bytes) -> None:
    """Writes `path` atomically: a reader sees the old file or the new one, and a failure leaves nothing behind.

    Makes missing folders. Raises UsageError when the place is not writable.
    """
    write_files({path: data})


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Writes several files, all or none: each is complete beside its place before the first takes its place.

    Makes missing folders. A failure leaves neither files nor folders behind. Raises UsageError when a place is not
    writable.
    """
    with contextlib.ExitStack() as undo:
        written = [(path, _write_temporary(path, data, undo)) for path, data in contents.items()]
        for path in contents:
            with _writing(path):
                if path.is_dir():  # the one thing that a file cannot replace
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        for path, temporary in written:
            with _writing(path):
                temporary.replace(path)
        undo.pop_all()


def _write_temporary(path: Path, data: bytes, undo: contextlib.ExitStack) -> Path:
    """`data` in a file beside `path`, which `undo` removes, and the folders that it needed."""
    with _writing(path):
        for folder in [p for p in reversed(path.parents) if not p.exists()]:
            folder.mkdir(exist_ok=True)
            undo.callback(_remove_empty, folder)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        undo.callback(temporary.unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.chmod(0o666 & ~_umask())
        return temporary


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", code="cannot_write", hint="another folder: -o DIR"
        ) from error


def _umask() -> int:
    """The process's file mode mask, which mkstemp does not apply; reading it means setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
