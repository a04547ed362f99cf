"""Reads the user's arrays from .npy files, and explains how to convert files of other formats."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from tflm_memopt.errors import UsageError
from tflm_memopt.files import start_of
from tflm_memopt.runtime.stimuli import Array

START = 512
IMAGES = "numpy.save('X.npy', numpy.stack([numpy.asarray(PIL.Image.open(f)) for f in FILES])), scaled as for training"
FORMATS: Sequence[tuple[bytes, str, str]] = (
    *((start, "an image", IMAGES) for start in (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM")),
    (b"RIFF", "a sound", "numpy.save('X.npy', FEATURES): what the model gets, computed as for training"),
    (b"\x89HDF", "an HDF5 file", "numpy.save('X.npy', h5py.File('FILE')['NAME'][:])"),
    (b"\x80", "a pickle", "numpy.save('X.npy', numpy.array(pickle.load(open('FILE', 'rb'))))"),
)
SAVE = "numpy.save('X.npy', X): numbers, examples stacked along the first axis"
TEXT = "numpy.save('X.npy', numpy.loadtxt('FILE', delimiter=','))"


def load(paths: Sequence[Path]) -> list[Array]:
    """Return the arrays of .npy files, or of .npz files with a single array. Raises UsageError for files of different
    formats.
    """
    return [_load(path) for path in paths]


def _load(path: Path) -> Array:
    start = start_of(path, START)
    if start.startswith(b"PK\x03\x04"):
        return _from_archive(path)
    if not start.startswith(npy.MAGIC_PREFIX):
        raise _refused(path, *_found(start))
    try:
        with path.open("rb") as file:
            array: Array = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        objects = "Object arrays" in str(error)
        found = "an array of Python objects, lists of different lengths perhaps" if objects else "a damaged .npy file"
        raise _refused(path, found, SAVE if objects else "write or download it again") from error
    return _of_numbers(path, array)


def _from_archive(path: Path) -> Array:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            names = list(archive.files)
            if len(names) == 1:
                return _of_numbers(path, archive[names[0]])
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise _refused(path, "a zip archive that NumPy cannot read", SAVE) from error
    save = f"numpy.save('X.npy', numpy.load('{path.name}')['{names[0] if names else 'NAME'}']), a file for each input"
    raise _refused(path, f"an archive of {len(names)} arrays: {', '.join(names)}", save)


def _of_numbers(path: Path, array: Array) -> Array:
    if array.dtype.kind not in "biuf":
        raise _refused(path, f"an array of type {array.dtype}", "numpy.save('X.npy', X.astype('float32'))")
    if not array.ndim or not array.size:
        raise _refused(path, f"an array of shape {list(array.shape)}", SAVE)
    return array


def _found(start: bytes) -> tuple[str, str]:
    if not start:
        return "an empty file", SAVE
    if start[4:8] == b"TFL3":
        return "a .tflite model", SAVE
    for begin, name, hint in FORMATS:
        if start.startswith(begin):
            return name, hint
    try:
        text = start.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last bytes may be the first part of a UTF-8 character.
        text = start[: error.start].decode("utf-8") if error.start > START - 4 else "\0"
    is_text = all(c.isprintable() or c.isspace() for c in text)
    return ("a text file", TEXT) if is_text else ("a file of an unknown format", SAVE)


def _refused(path: Path, found: str, hint: str) -> UsageError:
    return UsageError(f"this is {found}; a .npy file is needed", code="bad_data", where=str(path), hint=hint)
