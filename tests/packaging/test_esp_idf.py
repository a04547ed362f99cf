"""Test the ESP-IDF component and its example: what they register, their dependencies, and that the program compiles.

ESP-IDF is not installed; a function that logs its arguments replaces idf_component_register().
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiling import objects
from conftest import ROOT
from projects import repository_library

COMPONENT = ROOT / "custom_ops"
EXAMPLE = ROOT / "examples/esp_idf"
TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
RECORD = """\
cmake_minimum_required(VERSION 3.20)
set(ESP_PLATFORM 1)
function(idf_component_register)
  cmake_parse_arguments(IDF "" "" "SRCS;INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES" ${ARGN})
  set(rest "${IDF_REQUIRES}|${IDF_UNPARSED_ARGUMENTS}")
  message(STATUS "registered;${CMAKE_CURRENT_LIST_DIR}|${IDF_SRCS}|${IDF_INCLUDE_DIRS}|${rest}")
endfunction()
"""


def example(folder: Path) -> Path:
    """Copy the example and examples/shapes, and convert the example's model as its README.md says."""
    copy = folder / "examples/esp_idf"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("model"))
    (folder / "examples/shapes").symlink_to(ROOT / "examples/shapes")
    (line,) = re.findall(r"^tflm-memopt (.*)$", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    run = [sys.executable, "-m", "tflm_memopt", *line.split()]
    subprocess.run(run, cwd=copy, check=True, capture_output=True)
    return copy


def registered(folder: Path, tmp_path: Path, *, script: bool) -> tuple[list[Path], list[Path]]:
    """Return sources and include folders. ESP-IDF reads a component's CMakeLists.txt twice: as a script and in a
    project.
    """
    if script:
        (tmp_path / "record.cmake").write_text(f"{RECORD}include({folder}/CMakeLists.txt)\n")
        command = ["cmake", "-P", str(tmp_path / "record.cmake")]
    else:
        (tmp_path / "CMakeLists.txt").write_text(f"{RECORD}project(idf NONE)\nadd_subdirectory({folder} component)\n")
        command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = re.findall(r"registered;(.*)", done.stdout)
    where, sources, include, requires, unparsed = line.split("|")
    assert Path(where) == folder
    assert (requires, unparsed) == ("", "")
    return [folder / name for name in sources.split(";")], [folder / name for name in include.split(";")]


@pytest.mark.parametrize("script", [True, False], ids=["script", "project"])
def test_component_registers_every_source(tmp_path: Path, script: bool) -> None:
    sources, include = registered(COMPONENT, tmp_path, script=script)
    shipped = {path for folder in ("src", "tflm") for path in (COMPONENT / folder).iterdir()}
    assert set(sources) == {path for path in shipped if path.suffix in (".c", ".cpp", ".S")}
    assert include == [COMPONENT / name for name in ("include", "src", "tflm")]


HEAP = """
#include <stdlib.h>
enum { MALLOC_CAP_SPIRAM = 1 };
inline void *heap_caps_malloc(size_t bytes, unsigned) { return malloc(bytes); }
"""


@pytest.mark.slow
@pytest.mark.skipif(bool(TFLM["missing"]()) or not shutil.which("g++"), reason=TFLM["missing"]() or "no g++")
def test_example_runs(tmp_path: Path) -> None:
    """The example runs on this machine in a TFLM of 2023; only the arena is larger, for 64-bit pointers."""
    main = example(tmp_path) / "main"
    model = main / "model"
    (main / "esp_heap_caps.h").write_text(HEAP)
    (main / "start.cpp").write_text('extern "C" void app_main();\nint main() { app_main(); }\n')
    ops = model / "shapes_int8_ops.h"
    ops.write_text(re.sub(r"(?<=arena_size = )\d+", "40000", ops.read_text()))
    folders = (main, model, COMPONENT / "include", COMPONENT / "src", COMPONENT / "tflm", ROOT / "examples/shapes")
    include = [f"-I{folder}" for folder in folders]
    tflm = TFLM["AUTUMN"]
    strict = ["-Wall", "-Wextra", "-Werror", "-O1", *include]
    cpp = [*sorted(main.glob("*.cpp")), *model.glob("*.cpp")]
    plain = ["-std=gnu++17", "-fno-rtti", "-fno-exceptions", *strict, *tflm.flags]
    made = repository_library(tflm, tmp_path / "library", "-fno-rtti", "-fno-exceptions")
    made += objects(["gcc", "-std=gnu17", *strict], model.glob("*.c"), tmp_path)
    made += objects(["g++", *plain], cpp, tmp_path)
    subprocess.run(["g++", *made, *tflm.link, "-o", "program"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout
    assert said == "star, the same scores as on a PC\n"
