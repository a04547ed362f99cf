"""Files: read whole, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import stat
import tempfile
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from types import FrameType
from typing import NamedTuple, TypeVar

from tflm_memopt.errors import ModelError, UsageError, about
from tflm_memopt.model import c_array, flatbuffer, formats

T = TypeVar("T")
NOT_IN_NAMES = frozenset('<>:"/\\|?*')
"""Characters that no file name has on Windows; the slashes separate folders."""
DEVICES = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"
}
"""Windows opens a device under these names, whatever extension follows."""
NAME_HINT = "a name of letters, digits, '_', '-' and '.'"


def read_file(path: Path) -> bytes:
    """The bytes of a file; UsageError when it cannot be read."""
    with _reading(path):
        return path.read_bytes()


def start_of(path: Path, nbytes: int) -> bytes:
    """The first bytes of a file; UsageError when it cannot be read, or has no end."""
    with _reading(path):
        _demand_regular(path, "a file on disk")
        with path.open("rb") as file:
            return file.read(nbytes)


def read_model(path: Path) -> bytes:
    """The bytes of a .tflite file, or of the one model in a C or C++ source (c_array.SUFFIXES).

    What begins like no model is refused before the rest of it is read. Raises UsageError when it cannot be read, or is
    no file that has an end (a pipe, a device), and ModelError for what is no model.
    """
    with _reading(path):
        if (path / "saved_model.pb").is_file():
            raise formats.SAVED_MODEL.refused()
        _demand_regular(path, "a .tflite file: cat PIPE > model.tflite")
        with path.open("rb") as file:
            start, in_source = file.read(flatbuffer.START), path.suffix.lower() in c_array.SUFFIXES
            in_source = in_source and not start.startswith(flatbuffer.GIT_LFS) and start[4:8] != flatbuffer.IDENTIFIER
            if not in_source:
                flatbuffer.check_start(start)
            most = c_array.MOST_SOURCE_BYTES if in_source else flatbuffer.MOST_BYTES
            if (nbytes := os.fstat(file.fileno()).st_size) > most:
                raise ModelError(
                    f"{nbytes:,} B are more than a model can have: {most:,}",
                    code="model_too_long",
                    hint="a smaller model: no microcontroller has so much flash",
                )
            data = start + file.read()
    return c_array.model_of(data) if in_source else data


GivenModel = bytes | bytearray | memoryview | str | os.PathLike[str]
"""A model as Python users give it: its bytes, or the path of a file that has it."""


class Loaded(NamedTuple):
    """A model that a user gave."""

    data: bytes
    name: str
    path: Path | None = None
    """The file that it was read from."""


def loaded(model: GivenModel, name: str = "") -> Loaded:
    """The bytes of a model, and its name: the one given, else the file's. Raises as read_model()."""
    name = name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Loaded(bytes(model), name or "model")
    path = Path(model)
    with about(path):
        return Loaded(read_model(path), name or shown(path), path)


def stem(name: str) -> str:
    """A model's name without folder and extension, for the files that are made of it. Extensions begin with a letter.

    >>> stem("models/kws v2.1.tflite"), stem("kws v2.1"), stem("model_data.cc")
    ('kws v2.1', 'kws v2.1', 'model_data')
    """
    return re.sub(r"(?<=.)\.[A-Za-z]\w*$", "", PurePath(name).name)


def name_fault(name: str) -> str:
    """Why no file can have this name on every system; empty for a name that works everywhere.

    >>> name_fault("kws v2.1.tflite"), name_fault("../evil"), name_fault("nul.txt")
    ('', "it contains '/'", 'Windows reserves it for a device')
    """
    if name in ("", ".", ".."):
        return "it is empty" if not name else "it is the name of a folder"
    if bad := next((c for c in name if c in NOT_IN_NAMES or not c.isprintable()), ""):
        return f"it contains {bad!r}"
    if name[-1] in ". ":
        return f"it ends with {name[-1]!r}"
    return "Windows reserves it for a device" if is_device(name) else ""


def is_device(name: str) -> bool:
    """Whether Windows opens a device under this name."""
    return name.partition(".")[0].rstrip(" ").casefold() in DEVICES


def same_on_disk(name: str) -> str:
    """A key that is equal for names that macOS or Windows cannot tell apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def paths_below(folder: Path, contents: Mapping[str, T]) -> dict[Path, T]:
    """The path of each file that is written below `folder`, by its name there; '/' separates folders.

    Raises UsageError for a name that leads elsewhere, that not every system can have, or that another one equals but
    for upper and lower case. All generated files get their paths here.
    """
    known: dict[str, str] = {}
    for name in contents:
        if fault := next(filter(None, map(name_fault, name.split("/"))), ""):
            raise UsageError(f"no file can be called {name!r}: {fault}", code="file_name", hint=NAME_HINT)
        if (other := known.setdefault(same_on_disk(name), name)) != name:
            raise UsageError(
                f"'{name}' and '{other}' would be one file on Windows and macOS",
                code="names_collide",
                hint="another name",
            )
    return {folder / name: content for name, content in contents.items()}


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        _demand_no_nul(path)
        yield
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", code="cannot_read", hint="check the path") from error


def _demand_regular(path: Path, hint: str) -> None:
    """Raises UsageError for a pipe or a device: opening it would wait for a writer."""
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise UsageError(f"{path} is no regular file", code="no_regular_file", hint=hint)


def _demand_no_nul(path: Path) -> None:
    """Raises OSError, as the system would; Python raises ValueError."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a path cannot contain a NUL character")


def shown(path: Path) -> str:
    """A file's name as text: what is no UTF-8 in it is replaced.

    >>> shown(Path("folder/model.tflite"))
    'model.tflite'
    """
    return printable(path).name


def printable(path: Path) -> Path:
    """The path for people to read: what is no UTF-8 in it is replaced."""
    return Path(os.fsencode(path).decode("utf-8", "replace"))


def for_reports(path: Path) -> Path:
    """The path as reports show it: of an absolute one, whose folders are of this machine alone, the last part.

    >>> for_reports(Path("/home/me/out")).as_posix(), for_reports(Path("out/kws.tflite")).as_posix()
    ('out', 'out/kws.tflite')
    """
    return printable(Path(path.name) if path.is_absolute() else path)


def write_file(path: Path, data: bytes) -> None:
    """Writes `path` atomically: a reader sees the old file or the new one, and a failure leaves nothing behind.

    Makes missing folders. Raises UsageError when the place is not writable.
    """
    write_files({path: data})


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Writes several files, all or none: each is complete beside its place before the first takes its place.

    Makes missing folders. A failure leaves neither files nor folders behind; an interrupt waits until all is written.
    Raises UsageError when a place is not writable.
    """
    with _uninterrupted(), contextlib.ExitStack() as undo:
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
        descriptor, name = tempfile.mkstemp(prefix=".tflm-memopt.", dir=path.parent)
        temporary = Path(name)
        undo.callback(temporary.unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.chmod(0o666 & ~_umask())
        return temporary


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C. Only the main thread gets it, and only the main thread can delay it."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    pending: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interrupt: pending.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pending:
            before(*pending[0])


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        _demand_no_nul(path)
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


def keep(model: Path, files: Iterable[Path], what: str = "model") -> None:
    """Refuses to write over the model that was read, or whatever it was: UsageError if one of the files is it."""
    for path in files:
        if path.exists() and path.samefile(model):
            raise UsageError(
                f"{path} is the {what} itself and would be overwritten",
                code="would_overwrite",
                hint="another folder: -o DIR",
            )
