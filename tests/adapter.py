"""Builds programs that link the library and its custom operator with a 2023 release of TFLM, as users do."""

from pathlib import Path
from typing import Any

from compiling import objects, run
from conftest import ROOT
from projects import repository_library

CUSTOM_OPS = ROOT / "custom_ops"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{CUSTOM_OPS}/include", f"-I{CUSTOM_OPS}/tflm"]


def linked(main: Path, tflm: Any, folder: Path) -> Path:
    made = objects(["g++", "-std=c++17", "-O1", *STRICT, *tflm.flags], [main], folder)
    made += repository_library(tflm)
    run("g++", *made, *tflm.link, "-pthread", "-o", main.stem, cwd=folder)
    return folder / main.stem
