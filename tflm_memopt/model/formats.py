"""Recognises files of other formats by their first bytes, and explains how to convert them to .tflite."""

from collections.abc import Callable
from dataclasses import dataclass

from tflm_memopt.errors import ModelError

PAGE = "https://github.com/tflm-memopt/tflm-memopt/blob/main/docs/models.md"
START = 256
"""Number of bytes at a file's start that suffice to identify its format."""


@dataclass(frozen=True, slots=True)
class OtherFormat:
    name: str
    hint: str

    def refused(self) -> ModelError:
        return ModelError(f"this is {self.name}, not a .tflite file", code="not_a_model", hint=self.hint)


KERAS = OtherFormat(
    "a Keras model", "run tflm-memopt optimize FILE.keras --calibrate X.npy, which converts it to int8 first"
)
HDF5 = OtherFormat("an HDF5 file", "if it is a Keras model, run tflm-memopt optimize FILE.h5 --calibrate X.npy")
ONNX = OtherFormat(
    "an ONNX model",
    f"run onnx2tf -i FILE.onnx -o FOLDER, then tflm-memopt optimize FOLDER --calibrate X.npy; {PAGE}#onnx",
)
PYTORCH = OtherFormat(
    "a PyTorch model",
    "convert it where its class is defined, with litert-torch and ai-edge-quantizer, or export it to ONNX; "
    f"{PAGE}#pytorch",
)
SAVED_MODEL = OtherFormat(
    "a TensorFlow model", "run tflm-memopt optimize FOLDER --calibrate X.npy, which converts it to int8 first"
)
NUMPY = OtherFormat("a NumPy array", "give a .tflite file; arrays belong to --inputs, --calibrate or --test")
ZIP = OtherFormat("a zip archive", "unpack it and give the .tflite file")
BY_SUFFIX = {".pt": PYTORCH, ".pth": PYTORCH, ".pt2": PYTORCH, ".onnx": ONNX}
"""Formats of files that cannot be identified by their content."""
WEB_PAGE = OtherFormat("a web page", "download the file itself; on GitHub use Raw or Download")


def format_of(start: bytes) -> OtherFormat | None:
    r"""Return the format of a file, or None if the format is unknown. The argument `start` has at least the first
    START bytes of the file.

    >>> format_of(b"\x93NUMPY\x01\x00").name
    'a NumPy array'
    """
    return next((found for is_it, found in _FORMATS if is_it(start[:START])), None)


def _first_in_zip(start: bytes) -> bytes:
    """Return the name of a zip archive's first file, or b"" if the data is not a zip archive."""
    if not start.startswith(b"PK\x03\x04"):
        return b""
    return start[30 : 30 + int.from_bytes(start[26:28], "little")] or b"?"


def _is_torch(start: bytes) -> bool:
    """Return whether PyTorch wrote the file, as a zip that starts with NAME/data.pkl or as an older pickle."""
    return b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19" in start[:32] or _first_in_zip(start).endswith(b".pkl")


_FORMATS: tuple[tuple[Callable[[bytes], bool], OtherFormat], ...] = (
    (lambda start: start.startswith(b"\x89HDF\r\n\x1a\n"), HDF5),
    (_is_torch, PYTORCH),
    (lambda start: _first_in_zip(start) in (b"metadata.json", b"config.json"), KERAS),
    (lambda start: start.startswith(b"\x93NUMPY") or _first_in_zip(start).endswith(b".npy"), NUMPY),
    (lambda start: bool(_first_in_zip(start)), ZIP),
    (lambda start: start.startswith(b"\x08\x01\x12"), SAVED_MODEL),
    (lambda start: start.lstrip().lower().startswith((b"<!doctype html", b"<html")), WEB_PAGE),
)
