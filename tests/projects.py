"""Builds and runs emitted projects on a PC, with stubs for the boards' functions."""

import atexit
import functools
import re
import runpy
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from compiling import objects, run
from conftest import ROOT

TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
STRICT = ["-Wall", "-Wextra", "-Werror", "-O1"]
CORE = ROOT / "tests/packaging/arduino/core"
LIBRARY = ROOT / "custom_ops"
INCLUDE = [f"-I{LIBRARY / name}" for name in ("include", "src", "tflm")]
PROJECTS = ("arduino", "platformio", "esp-idf")

ESP_STUBS = ROOT / "tests/packaging/esp-idf"

needs_host = pytest.mark.skipif(
    bool(TFLM["missing"]()) or not shutil.which("g++"), reason=TFLM["missing"]() or "no g++"
)


def unpack(files: Mapping[str, bytes], folder: Path, arena: int = 40_000) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        larger = re.sub(rb"(?<=arena_size = )\d+", str(arena).encode(), data)
        path.write_bytes(larger if name.endswith(("_ops.h", "_app.h")) else data)


@functools.cache
def repository_library(tflm: Any) -> list[Path]:
    folder = Path(tempfile.mkdtemp(prefix="library"))
    atexit.register(shutil.rmtree, folder)
    cpp = ["g++", "-std=c++11", *STRICT, "-Wpedantic", *INCLUDE, *tflm.flags]
    made = objects(["gcc", "-std=gnu11", *STRICT, *INCLUDE], sorted((LIBRARY / "src").glob("*.c")), folder)
    return made + objects(cpp, [LIBRARY / "tflm/tmo_tflm.cpp"], folder)


def compile_library(source: Path, tflm: Any) -> list[Path]:
    ours = {path.read_bytes() for part in INCLUDE for path in Path(part[2:]).rglob("*") if path.is_file()}
    changed = [path for path in source.rglob("*") if path.is_file() and path.read_bytes() not in ours]
    mine = objects(["gcc", "-std=gnu11", *STRICT, f"-I{source}"], changed, source)
    names = {path.stem for path in source.glob("*.c*")} - {path.stem for path in changed}
    return mine + [path for path in repository_library(tflm) if path.stem in names]


def told(
    project: str, files: Mapping[str, bytes], tflm: Any, folder: Path, *flags: str, loops: int = 1, arena: int = 40_000
) -> str:
    unpack(files, folder, arena)
    source = folder / "arduino/libraries/tflm-memopt/src"
    cpp = ["g++", "-std=gnu++17", *STRICT, f"-I{source}", *tflm.flags]
    library = compile_library(source, tflm)
    (sketch,) = folder.glob("arduino/*/*.ino")
    main = {"arduino": sketch.parent, "platformio": folder / "platformio/src", "esp-idf": folder / "esp-idf/main"}[
        project
    ]
    shutil.copytree(ESP_STUBS, main, dirs_exist_ok=True)
    platform = [f"-I{main}"]
    if project != "esp-idf":
        shutil.copy(CORE / "main.cpp", main / "start.cpp")
        platform += [f"-I{CORE}", "-include", "Arduino.h"]
    command = [*cpp, *flags, *platform]
    made = objects(command, sorted(main.glob("*.cpp")), main)
    made += objects([*command, "-x", "c++"], main.glob("*.ino"), main)
    made += objects(["gcc", "-std=gnu17", *STRICT, f"-I{source}"], sorted(main.glob("*.c")), main)
    run("g++", *made, *library, *tflm.link, "-pthread", "-o", "program", cwd=main)
    return run(main / "program", cwd=main, LOOPS=str(loops))
