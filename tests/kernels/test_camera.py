"""The C library converts camera frames row by row, with the same values as NumPy."""

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.camera import GRAY8, RGB565_BE, RGB565_LE, Case, whole
from tflm_memopt.runtime.native import native_library


class Camera(ctypes.Structure):
    _fields_ = [
        ("pixels", ctypes.c_void_p),
        ("stride", ctypes.c_uint32),
        *((name, ctypes.c_uint16) for name in ("left", "top", "width", "height")),
        ("format", ctypes.c_int),
    ]


class Image(ctypes.Structure):
    _fields_ = [
        ("width", ctypes.c_uint16),
        ("height", ctypes.c_uint16),
        ("channels", ctypes.c_uint8),
        ("levels", ctypes.c_void_p),
    ]


small = st.integers(1, 40)
cases = st.builds(
    Case,
    st.sampled_from((GRAY8, RGB565_LE, RGB565_BE)),
    st.tuples(st.integers(0, 5), st.integers(0, 5), small, small),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.tuples(small, small, st.sampled_from((1, 3))),
    st.integers(0, 2**32 - 1),
)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(native_library("tmo_host")))
    loaded.tmo_camera_fits.restype = ctypes.c_bool
    loaded.tmo_camera_fits.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    loaded.tmo_camera_source_row.restype = ctypes.c_uint16
    return loaded


def structs(case: Case, frame: NDArray[np.uint8], levels: NDArray[np.int8] | None) -> tuple[Camera, Image]:
    height, width, channels = case.image
    return (
        Camera(frame.ctypes.data, case.stride, *case.part, case.format),
        Image(width, height, channels, None if levels is None else levels.ctypes.data),
    )


def by_rows(library: ctypes.CDLL, case: Case, frame: NDArray[np.uint8], levels: Any) -> NDArray[np.int8]:
    source, image = structs(case, frame, levels)
    assert library.tmo_camera_fits(ctypes.byref(source), frame.size, ctypes.byref(image))
    assert not library.tmo_camera_fits(ctypes.byref(source), used(case) - 1, ctypes.byref(image))
    out = np.zeros(case.image, np.int8)
    for row in range(len(out)):
        library.tmo_camera_row(ctypes.byref(source), ctypes.byref(image), row, ctypes.c_void_p(out[row].ctypes.data))
    return out


def used(case: Case) -> int:
    left, top, width, height = case.part
    return (top + height - 1) * case.stride + (left + width) * case.pixel


@given(cases)
def test_rows_are_those_of_the_converted_frame(library: ctypes.CDLL, case: Case) -> None:
    frame = case.bytes()
    plain = (np.arange(256) - 128).astype(np.int8)
    np.testing.assert_array_equal(by_rows(library, case, frame, None), whole(case, frame, plain))
    own = np.random.default_rng(case.seed).integers(-128, 128, 256, dtype=np.int8)
    np.testing.assert_array_equal(by_rows(library, case, frame, own), whole(case, frame, own))


@given(cases)
def test_lines_come_in_order_and_need_no_frame(library: ctypes.CDLL, case: Case) -> None:
    frame = case.bytes()
    source, image = structs(case, frame, None)
    rows = [library.tmo_camera_source_row(ctypes.byref(source), ctypes.byref(image), y) for y in range(case.image[0])]
    assert rows == sorted(rows)
    expected = by_rows(library, case, frame, None)
    source.pixels = None
    out = np.zeros(case.image[1:], np.int8)
    for y, row in enumerate(rows):
        line = ctypes.c_void_p(frame[row].ctypes.data)
        library.tmo_camera_line(ctypes.byref(source), ctypes.byref(image), line, ctypes.c_void_p(out.ctypes.data))
        np.testing.assert_array_equal(out, expected[y])


@pytest.mark.parametrize(
    "change",
    [
        {"format": 0},
        {"format": 4},
        {"part": (0, 0, 0, 8)},
        {"part": (0, 0, 8, 0)},
        {"image": (0, 4, 1)},
        {"image": (4, 0, 1)},
        {"image": (4, 4, 2)},
    ],
)
def test_impossible_frames_are_refused(library: ctypes.CDLL, change: dict[str, Any]) -> None:
    good = {"format": GRAY8, "part": (0, 0, 8, 8), "margin": (0, 0), "image": (4, 4, 1), "seed": 0}
    frame = Case(**good).bytes()
    for settings, fits in ((good, True), ({**good, **change}, False)):
        case = Case(**settings)
        source, image = structs(case, frame, None)
        source.stride = 16
        assert library.tmo_camera_fits(ctypes.byref(source), 1 << 30, ctypes.byref(image)) is fits
