"""For files of other formats, the message explains how to get a .tflite file."""

import io
import zipfile
from collections.abc import Mapping

import numpy as np
import pytest

from tflm_memopt.errors import ModelError
from tflm_memopt.model.reader import read


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "content")
    return file.getvalue()


def array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


FILES: Mapping[str, tuple[bytes, str, str]] = {
    "PyTorch": (zipped("net/data.pkl", "net/version"), "a PyTorch model", "litert-torch"),
    "PyTorch of 2019": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02", "a PyTorch model", "litert-torch"),
    "Keras": (zipped("metadata.json", "config.json", "model.weights.h5"), "a Keras model", "--calibrate"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "an HDF5 file", "--calibrate"),
    "saved_model.pb": (b"\x08\x01\x12\xc0\x17\n\xa6\x0b\x12\x06", "a TensorFlow model", "optimize FOLDER"),
    "npy": (array(), "a NumPy array", "--inputs"),
    "zip": (zipped("model.tflite"), "a zip archive", "unpack it"),
    "web page": (b"\n\n<!DOCTYPE html>\n<html>", "a web page", "download the file itself"),
}


@pytest.mark.parametrize(("data", "name", "hint"), FILES.values(), ids=FILES)
def test_formats(data: bytes, name: str, hint: str) -> None:
    with pytest.raises(ModelError, match=f"^this is {name}, not a .tflite file\n  try: .*{hint}") as raised:
        read(data)
    assert raised.value.code == "not_a_model"
