"""Test how input arrays are read from files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph, Op, Quantization, Tensor
from tflm_memopt.runtime.arrays import load
from tflm_memopt.runtime.stimuli import every_value, from_files


def test_arrays_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(3))
    np.savez(tmp_path / "b.npz", x=np.zeros((2, 2), np.int8))
    one, other = load([tmp_path / "a.npy", tmp_path / "b.npz"])
    assert (one.tolist(), other.tolist()) == ([1, 1, 1], [[0, 0], [0, 0]])


def _truncated(path: Path) -> None:
    np.save(path, np.ones(300))
    path.write_bytes(path.read_bytes()[:-9])


def _archive(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, images=np.ones(3), labels=np.ones(2))


def _objects(path: Path) -> None:
    np.save(path, np.array([[1], [1, 2]], object))


REFUSED: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "text": (lambda p: p.write_text("1, 2, 3\n"), "a text file", "loadtxt"),
    "long text": (lambda p: p.write_text("é" * 4000), "a text file", "loadtxt"),
    "image": (lambda p: p.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(60)), "an image", "PIL.Image"),
    "sound": (lambda p: p.write_bytes(b"RIFF" + bytes(60)), "a sound", "as for training"),
    "pickle": (lambda p: p.write_bytes(b"\x80\x04\x95" + bytes(60)), "a pickle", "pickle.load"),
    "model": (lambda p: p.write_bytes(bytes(4) + b"TFL3" + bytes(60)), "a .tflite model", "numpy.save"),
    "empty": (lambda p: p.write_bytes(b""), "an empty file", "numpy.save"),
    "bytes": (lambda p: p.write_bytes(bytes(range(256))), "of an unknown format", "numpy.save"),
    "truncated": (_truncated, "a damaged .npy file", "again"),
    "several": (_archive, "an archive of 2 arrays: images, labels", "['images']"),
    "no archive": (lambda p: p.write_bytes(b"PK\x03\x04" + bytes(60)), "a zip archive that NumPy cannot read", "save"),
    "objects": (_objects, "an array of Python objects", "numpy.save"),
    "words": (lambda p: np.save(p, np.array(["a"])), "an array of type <U1", "astype"),
    "complex": (lambda p: np.save(p, np.ones(2, complex)), "an array of type complex128", "astype"),
    "number": (lambda p: np.save(p, np.float32(3)), "an array of shape []", "numpy.save"),
    "nothing": (lambda p: np.save(p, np.ones((0, 3))), "an array of shape [0, 3]", "numpy.save"),
}


@pytest.mark.parametrize(("write", "found", "hint"), REFUSED.values(), ids=REFUSED)
def test_other_files_are_named(tmp_path: Path, write: Callable[[Path], object], found: str, hint: str) -> None:
    path = tmp_path / "x.npy"
    write(path)
    with pytest.raises(UsageError) as raised:
        load([path])
    assert f"this is {found}" in raised.value.what or found in raised.value.what
    assert raised.value.what.endswith("; a .npy file is needed")
    assert (raised.value.where, hint in raised.value.hint) == (str(path), True)


def graph(tensor: Tensor, reader: Op | None = None, *others: Tensor) -> Graph:
    return Graph({t.id: t for t in (tensor, *others)}, () if reader is None else (reader,), (tensor.id,), ())


def test_other_floats_are_spread_over_their_range() -> None:
    tensor = Tensor(0, "x", (1, 4), "FLOAT32")
    values = np.stack([run.values[0].ravel() for run in every_value(graph(tensor), [tensor], seed=1)[:256]])
    assert all(len(set(column)) == 256 for column in values.T.tolist())
    assert -4 <= values.min() < -3.9 < 3.9 < values.max() <= 4


IMAGE = Tensor(0, "image", (1, 2, 3, 4), "INT8", Quantization((0.5,), (0,)))


@pytest.mark.parametrize(
    ("array", "says"),
    [(np.zeros((1, 2, 3, 4)), "type float64, the input is INT8"), (np.zeros((4, 3, 2), np.int8), r"shape \[4, 3, 2\]")],
)
def test_files_that_do_not_fit_are_errors(array: np.ndarray, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        from_files([IMAGE], [array])
