"""The Arduino library of `make arduino` compiles with the options of the Arduino IDE, and its sketches run."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from built import arduino_library
from compiling import objects, run
from conftest import ROOT
from kernels import camera
from projects import TFLM, needs_host, repository_library

from tflm_memopt.runtime.process import run_model

HERE = Path(__file__).parent / "arduino"
SKETCHES = sorted((ROOT / "arduino/examples").glob("*/*.ino"))

STRICT = ["-Wall", "-Wextra", "-Werror"]
BUILDER = Path("/usr/share/arduino-builder")
AVR = Path("/usr/share/arduino/hardware")
PC_ARENA = 40_000


@pytest.mark.slow
def test_arduino_would_take_every_file() -> None:
    """Symbolic links break in zip files and on Windows, and Arduino's builder skips .cc files."""
    assert not [path for path in arduino_library().rglob("*") if path.is_symlink() or path.suffix in (".cc", ".cxx")]
    assert all(sketch.stem == sketch.parent.name for sketch in SKETCHES)


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("arduino-builder") and shutil.which("avr-gcc") and AVR.is_dir()),
    reason="not installed: arduino-builder arduino-core-avr gcc-avr",
)
def test_kernels_and_layout_in_arduinos_own_build(tmp_path: Path) -> None:
    """AVR has no C++ standard library, so only the C part of the library is compiled."""
    libraries, build = tmp_path / "libraries", tmp_path / "build"
    shutil.copytree(arduino_library(), libraries / "tflm_memopt")
    build.mkdir()
    command = [
        "arduino-builder", "-compile", "-warnings", "all",
        "-hardware", AVR, "-hardware", BUILDER, "-tools", BUILDER, "-tools", "/usr/bin", "-libraries", libraries,
        "-fqbn", "arduino:avr:mega:cpu=atmega2560", "-prefs", "compiler.cpp.extra_flags=-DDECIMAL_DIG=__DECIMAL_DIG__",
        "-build-path", build, HERE / "kernels/kernels.ino",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "tmo" not in done.stdout + done.stderr
    sources = {path.name for path in (arduino_library() / "src").rglob("*") if path.suffix in (".c", ".cpp", ".S")}
    assert {path.stem for path in (build / "libraries/tflm_memopt").rglob("*.o")} == sources
    linked = run("avr-nm", build / "kernels.ino.elf", cwd=tmp_path)
    assert " tmo_" in linked


def compiled(folder: Path, sources: Iterable[Path], *flags: str) -> list[Path]:
    common = ["-O1", *STRICT, f"-I{HERE / 'core'}", f"-I{arduino_library() / 'src'}"]
    c, cpp = [], []
    for path in sorted(sources):
        (c if path.suffix in (".c", ".S") else cpp).append(path)
    made = objects(["gcc", "-std=gnu11", *common], c, folder)
    return made + objects(["g++", "-std=gnu++14", *common, *SPRING.flags, *flags], cpp, folder)


SPRING = TFLM["SPRING"]
"""The version of TFLM in Arduino's library manager is of spring 2023."""


@pytest.fixture
def library() -> list[Path]:
    return repository_library(SPRING)


@pytest.mark.slow
@needs_host
def test_the_c_library_has_no_globals(library: list[Path], tmp_path: Path) -> None:
    said = run("size", "-A", *(made for made in library if made.stem != "tmo_tflm"), cwd=tmp_path)
    found = re.findall(r"^\.(?:data|bss|tdata|tbss)(?!\.rel\.ro)\S*\s+(\d+)", said, re.MULTILINE)
    assert set(found) == {"0"}


def run_sketch(sketch: str, folder: Path, library: list[Path], *defines: str) -> str:
    source, out = folder / sketch, folder / "out"
    shutil.copytree(arduino_library() / "examples" / sketch, source)
    out.mkdir()
    for ops in source.glob("*_ops.h"):
        ops.write_text(re.sub(r"(?<=arena_size = )\d+", str(PC_ARENA), ops.read_text()))
    sources = [HERE / "core/main.cpp", source / f"{sketch}.ino", *source.glob("*.cpp"), *source.glob("*.c")]
    made = [*compiled(out, sources, *defines, "-include", "Arduino.h", "-x", "c++"), *library]
    run("g++", *made, *SPRING.link, "-pthread", "-o", "program", cwd=out)
    return run(out / "program", cwd=out)


@pytest.mark.slow
@needs_host
@pytest.mark.parametrize(
    ("sketch", "platform", "begins"),
    [
        ("shapes", (), "star, the same scores as on a PC, "),
        ("no_interpreter", (), "the same scores as on a PC\n"),
        ("two_cores", ("-DARDUINO_ARCH_RP2040=1",), "two cores: star, the same scores as on a PC, "),
    ],
)
def test_sketches_run(tmp_path: Path, sketch: str, platform: tuple[str, ...], begins: str, library: list[Path]) -> None:
    assert run_sketch(sketch, tmp_path, library, *platform).startswith(begins)


@pytest.mark.slow
@needs_host
def test_rows_of_the_camera_give_the_scores_of_the_whole_frame(
    tmp_path: Path, library: list[Path], example: bytes
) -> None:
    case = camera.Case(camera.RGB565_BE, (20, 0, 120, 120), (20, 0), (96, 96, 1), 0)
    y, x = np.mgrid[:120, :160]
    inside = (x - 84) ** 2 + (y - 57) ** 2 < 30**2
    first, last = np.where(inside, 0xC6, 0x39), np.where(inside, 0x18 + (x & 3), 0xE7)
    frame = np.stack([first, last], axis=2).astype(np.uint8).reshape(120, -1)
    image = camera.whole(case, frame, (np.arange(256) - 128).astype(np.int8))
    scores = run_model(example, [image[None, None]], 1, 1).outputs[0][0, 0]
    name, *said = run_sketch("camera", tmp_path, library, "-DCAMERA_FORMAT=TMO_RGB565_BE").split()
    assert list(map(int, said)) == scores.tolist()
    assert name in ("circle", "triangle", "square", "pentagon", "star", "cross")
