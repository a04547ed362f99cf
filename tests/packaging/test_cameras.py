"""Test the camera code of emitted projects with simulated cameras."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiling import run
from conftest import ROOT
from kernels import camera as expected
from models import Net
from numpy.typing import NDArray
from projects import TFLM, needs_host

import tflm_memopt
from tflm_memopt.answers.optimized import Sample
from tflm_memopt.emit import program
from tflm_memopt.emit.border import border
from tflm_memopt.emit.resolver import ops_header
from tflm_memopt.model.reader import read

CAMERAS = Path(__file__).parent / "cameras"
LIBRARY = ROOT / "custom_ops"
OV7675, ESP32 = 1, 2
SIZES = {OV7675: (160, 120), ESP32: (320, 240)}
"""Width and height of the camera's picture for a model with an input of 170 x 100 pixels."""
MAIN = """
#include <stdio.h>
#include "net_camera.h"
static %(type)s image[%(height)d * %(width)d * %(channels)d];
int main() {
  tmo_camera view;
  if (!camera_begin()) return 1;
  for (int again = 0; again < 2; ++again) { /* a picture that is kept would be the last one */
    if (!camera_grab(&view)) return 2;
    fill_rows(view, 0, 3, image);
    fill_rows(view, 3, %(height)d - 3, image + 3 * %(width)d * %(channels)d);
    camera_release();
  }
  return fwrite(image, 1, sizeof(image), stdout) != sizeof(image);
}
"""

pytestmark = needs_host


def network(shape: tuple[int, ...], dtype: str, affine: tuple[float, int] | None) -> bytes:
    net = Net(1)
    x = net.input(shape, affine, dtype=dtype)
    return net.model(net.unary("QUANTIZE", x) if dtype == "UINT8" else net.unary("RELU", x, dtype=dtype, out=affine))


def seen(model: bytes, which: int, frame: NDArray[np.uint8], folder: Path) -> bytes:
    parsed = read(model)
    ports = border(parsed, parsed)
    report = tflm_memopt.optimize(model).report
    subject = program.Subject("net", report, ports, Sample((), ()))
    image = subject.image
    assert image is not None
    (folder / "net_ops.h").write_text(ops_header("net", parsed, report, ports))
    for name, text in program.camera(subject).items():
        (folder / name).write_text(text)
    sizes = {"type": image.type, "height": image.height, "width": image.width, "channels": image.channels}
    (folder / "main.cpp").write_text(MAIN % sizes)
    (folder / "frame.bin").write_bytes(frame.tobytes())
    include = [f"-I{path}" for path in (CAMERAS, LIBRARY / "include", LIBRARY / "tflm")]
    strict = ["-Wall", "-Wextra", "-Werror", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    tflm: Any = TFLM["SPRING"]
    sources = [f"-DTMO_CAMERA={which}", "main.cpp", "-x", "c", LIBRARY / "src/tmo_camera.c"]
    command = ["g++", *strict, *include, *tflm.flags, "-o", "main", *sources]
    run(*command, cwd=folder)
    return subprocess.run([folder / "main"], cwd=folder, capture_output=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "channels", "dtype", "affine", "black", "white"),
    [(ESP32, 3, "INT8", (0.0071, -9), -1, 1), (OV7675, 3, "FLOAT32", None, 0, 1)],
)
def test_a_picture_becomes_the_models_input(
    which: int, channels: int, dtype: str, affine: tuple[float, int] | None, black: int, white: int, tmp_path: Path
) -> None:
    height, width = 100, 170
    model = network((1, height, width, channels), dtype, affine)
    w, h = SIZES[which]
    form = expected.GRAY8 if channels == 1 else expected.RGB565_BE
    part_width, part_height = min(w, h * width // height), min(h, w * height // width)
    part = (w - part_width) // 2, (h - part_height) // 2, part_width, part_height
    case = expected.Case(form, part, (w - part_width - part[0], 0), (height, width, channels), 0)
    frame = np.random.default_rng(5).integers(0, 256, (h, case.stride), dtype=np.uint8)
    brightness = expected.whole(case, frame, (np.arange(256) - 128).astype(np.int8)).astype(np.float32) + 128
    real = np.float32(black) + (np.float32(white) - np.float32(black)) * brightness / np.float32(255)
    got = np.frombuffer(seen(model, which, frame, tmp_path), dtype.lower()).reshape(height, width, channels)
    if affine is None:
        np.testing.assert_array_equal(got, real)
        return
    scaled = real / np.float32(affine[0])
    limits = np.iinfo(got.dtype)
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)) + affine[1]
    np.testing.assert_array_equal(got, np.clip(rounded, limits.min, limits.max).astype(got.dtype))


@pytest.mark.parametrize("shape", [(1, 32, 32, 4), (2, 32, 32, 1), (1, 49, 10, 1), (1, 1024), (1, 4000, 32, 1)])
def test_what_is_no_image_gets_no_camera(shape: tuple[int, ...]) -> None:
    parsed = read(network(shape, "INT8", (0.1, 0)))
    assert program.image_of(border(parsed), None) is None
    assert program.image_of(border(read(network((1, 32, 32, 1), "INT32", None))), None) is None


@pytest.mark.parametrize(
    ("affine", "black", "white"),
    [
        ((1 / 255, -128), 0, 1),
        ((0.8 / 255, -128), 0, 1),
        ((2 / 255, 0), -1, 1),
        ((1.0, -128), 0, 255),
        ((4.5 / 255, -11), -117 * 4.5 / 255, 138 * 4.5 / 255),
    ],
)
def test_black_and_white_follow_from_the_scale(affine: tuple[float, int], black: float, white: float) -> None:
    parsed = read(network((1, 32, 32, 3), "INT8", affine))
    image = program.image_of(border(parsed), None)
    assert image is not None and "a guess" in image.why
    assert (image.black, image.white) == pytest.approx((black, white))
    known = program.image_of(border(parsed), (127.5, 51.0))
    assert known is not None and "metadata" in known.why
    assert (known.black, known.white) == (-2.5, 2.5)
