"""Reads whole files, and writes files so that they are complete or absent."""

import contextlib
import errno
import os
import re
import signal
import stat
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePath
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from tflm_memopt.errors import Code, ModelError, UsageError, about
from tflm_memopt.model import c_array, flatbuffer, formats

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")
NOT_IN_NAMES = frozenset('<>:"/\\|?*')
"""Characters that Windows forbids in file names, including the slashes that separate folders."""
DEVICES = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"
}
"""File names for which Windows opens a device, even if an extension follows."""
NAME_HINT = "a name of letters, digits, '_', '-' and '.'"


def read_file(path: Path) -> bytes:
    """Raises UsageError if the file cannot be read."""
    with _reading(path):
        return path.read_bytes()


def start_of(path: Path, nbytes: int) -> bytes:
    """Return the first bytes of a file. Raises UsageError if the file cannot be read or is not a regular file."""
    with _reading(path):
        _demand_regular(path, "a file on disk")
        with path.open("rb") as file:
            return file.read(nbytes)


def read_model(path: Path) -> bytes:
    """Return the bytes of a .tflite file, or of the model in a C or C++ source file.

    A file that does not start like a model is refused before its remaining bytes are read. Raises UsageError if the
    file cannot be read or is not regular (a pipe, a device), and ModelError if the file holds no model.
    """
    with _reading(path):
        if (path / "saved_model.pb").is_file():
            raise formats.SAVED_MODEL.refused()
        _demand_regular(path, "a .tflite file: cat PIPE > model.tflite")
        with path.open("rb") as file:
            start, in_source = file.read(flatbuffer.START), path.suffix.lower() in c_array.SUFFIXES
            in_source = in_source and not start.startswith(flatbuffer.GIT_LFS) and start[4:8] != flatbuffer.IDENTIFIER
            if not in_source:
                _demand_no_other(path, start)
                flatbuffer.check_start(start)
            most = c_array.MOST_SOURCE_BYTES if in_source else flatbuffer.MOST_BYTES
            if (nbytes := os.fstat(file.fileno()).st_size) > most:
                raise ModelError(
                    f"{nbytes:,} B exceed the largest possible model of {most:,} B",
                    code="not_a_model",
                    hint="use a smaller model: no microcontroller has this much flash",
                )
            data = start + file.read()
    return c_array.model_of(data) if in_source else data


def _demand_no_other(path: Path, start: bytes) -> None:
    if start[4:8] == flatbuffer.IDENTIFIER or start.startswith(flatbuffer.GIT_LFS):
        return
    named = formats.BY_SUFFIX.get(path.suffix.lower())
    if named and formats.format_of(start) in (None, formats.ZIP):
        raise named.refused()


GivenModel = bytes | bytearray | memoryview | str | os.PathLike[str]
"""A model as users pass it: its bytes, or the path of its file."""


class Loaded(NamedTuple):
    data: bytes
    name: str
    path: Path | None = None


def loaded(model: GivenModel, name: str = "") -> Loaded:
    """Return a model's bytes and name, which by default is the name of the model's file. Raises the same errors as
    read_model().
    """
    name = name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Loaded(bytes(model), name or "model")
    path = Path(model)
    with about(path):
        return Loaded(read_model(path), name or shown(path), path)


def stem(name: str) -> str:
    """Return a model's name without folder and extension.

    >>> stem("models/kws v2.1.tflite"), stem("kws v2.1"), stem("model_data.cc")
    ('kws v2.1', 'kws v2.1', 'model_data')
    """
    return re.sub(r"(?<=.)\.[A-Za-z]\w*$", "", PurePath(name).name)


def name_fault(name: str) -> str:
    """Return the reason why a file name is invalid on some operating system, or "" for a valid name.

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
    """Return whether `name` is the name of a device on Windows, such as NUL or CON, which no file can have."""
    return name.partition(".")[0].rstrip(" ").casefold() in DEVICES


def same_on_disk(name: str) -> str:
    """Return a key that is equal for names that macOS or Windows cannot distinguish."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def paths_below(folder: Path, contents: Mapping[str, T]) -> dict[Path, T]:
    """Map the path of each file below `folder` to the contents of the file. In the name of a file, "/" separates
    folders.

    Raises UsageError for names that lead out of the folder, are invalid on some system, or differ only in case.
    """
    known: dict[str, str] = {}
    for name in contents:
        if fault := next(filter(None, map(name_fault, name.split("/"))), ""):
            raise UsageError(f"invalid file name {name!r}: {fault}", code="bad_file_name", hint=NAME_HINT)
        if (other := known.setdefault(same_on_disk(name), name)) != name:
            raise UsageError(
                f"'{name}' and '{other}' would be the same file on Windows and macOS",
                code="bad_file_name",
                hint="choose another name",
            )
    return {folder / name: content for name, content in contents.items()}


@contextlib.contextmanager
def _opening(path: Path, what: str, code: Code, hint: str) -> Iterator[None]:
    if "\0" in str(path):  # Without the check, open() would raise ValueError.
        raise UsageError(f"cannot {what} {path}: a path cannot contain a NUL character", code=code, hint=hint)
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot {what} {path}: {error.strerror}", code=code, hint=hint) from error


_reading = partial(_opening, what="read", code="file_unreadable", hint="check the path")
_writing = partial(_opening, what="write", code="file_unwritable", hint="choose another folder")


def _demand_regular(path: Path, hint: str) -> None:
    """Raise UsageError for a pipe or a device, because reading a pipe would wait for a writer."""
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise UsageError(f"{path} is not a regular file", code="file_unreadable", hint=hint)


def shown(path: Path) -> str:
    """Return a file's name as text, in which bytes that are not UTF-8 are replaced.

    >>> shown(Path("folder/model.tflite"))
    'model.tflite'
    """
    return printable(path).name


def printable(path: Path) -> Path:
    """Bytes of a path that are not UTF-8 are replaced."""
    return Path(os.fsencode(path).decode("utf-8", "replace"))


def for_reports(path: Path) -> Path:
    """Return a path for a report. An absolute path loses its folders, because they exist on the user's machine only.

    >>> for_reports(Path("/home/me/out")).as_posix(), for_reports(Path("out/kws.tflite")).as_posix()
    ('out', 'out/kws.tflite')
    """
    return printable(Path(path.name) if path.is_absolute() else path)


def write_files(contents: Mapping[Path, bytes], sources: Iterable[Path] = ()) -> list[Path]:
    """Write all files and return their paths, or write no file if one file cannot be written.

    Missing folders are created, and removed after a failure. Ctrl-C has no effect until all files are written. Raises
    UsageError if a path is not writable, or if a file would overwrite a model in `sources`.
    """
    for source in sources:
        keep(source, contents)
    # Temporary files are renamed only when all files are complete.
    with _uninterrupted(), contextlib.ExitStack() as undo:
        written = [(path, _write_temporary(path, data, undo)) for path, data in contents.items()]
        for path in contents:
            with _writing(path):
                if path.is_dir():  # A file must not replace a folder.
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        for path, temporary in written:
            with _writing(path):
                before = path.read_bytes() if path.is_file() else None
                temporary.replace(path)
            undo.callback(_restore, path, before)
        undo.pop_all()
    return list(contents)


def _write_temporary(path: Path, data: bytes, undo: contextlib.ExitStack) -> Path:
    """Write `data` to a temporary file in the folder of `path`. The stack `undo` gets functions that remove the
    temporary file and the new folders.
    """
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
    """Delay Ctrl-C until the block ends. Outside the main thread, the block runs without a delay, because Python passes
    Ctrl-C only to the main thread.
    """
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


def _restore(path: Path, before: bytes | None) -> None:
    with contextlib.suppress(OSError):
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _umask() -> int:
    """Python has no function that reads the umask without setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def keep(model: Path, files: Iterable[Path], what: str = "model") -> None:
    """Raise UsageError if one of the files to write is the input file `model`."""
    for path in files:
        if path.exists() and model.exists() and path.samefile(model):
            raise UsageError(
                f"{path} is the {what} itself and would be overwritten",
                code="would_overwrite",
                hint="choose another folder: -o DIR",
            )


def toml(data: bytes, hint: str) -> Mapping[str, Any]:
    """Parse a TOML file, which may start with a byte order mark. Raises UsageError for invalid TOML."""
    try:
        document: Mapping[str, Any] = tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"invalid TOML: {error}", code="bad_config", hint=hint) from error
    return document
