"""Compile and run the programs of examples/two_cores on this machine, with a thread as the second core.

Stubs replace the functions of the Pico SDK and FreeRTOS that the programs call.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from compiling import objects
from conftest import EXAMPLE, ROOT
from projects import ESP_HEADERS

import tflm_memopt
from tflm_memopt.emit import bundle
from tflm_memopt.runtime.verify import sample

LIBRARY = ROOT / "custom_ops"
PROGRAMS = ROOT / "examples/two_cores"
TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
STUBS = {
    "pico/stdlib.h": """\
#include <stdlib.h>
inline void stdio_init_all() {}
inline void sleep_ms(int) { exit(0); }
""",
    "pico/multicore.h": """\
#include <thread>
inline void multicore_launch_core1(void (*run)()) { std::thread(run).detach(); }
""",
    **ESP_HEADERS,
}


@pytest.mark.slow
@pytest.mark.skipif(bool(TFLM["missing"]()) or not shutil.which("g++"), reason=TFLM["missing"]() or "no g++")
def test_the_programs_run(tmp_path: Path) -> None:
    """The programs run in a TFLM of 2023; only the arena is larger, for 64-bit pointers."""
    model = EXAMPLE.read_bytes()
    converted = tflm_memopt.optimize(model, cores=2, abi="lp64")
    given = bundle.Extras(lambda: sample(model, converted.model), model)
    for name, data in bundle.files(converted, EXAMPLE.stem, ("cpp",), given).items():
        (tmp_path / name).write_bytes(data)
    for name, text in STUBS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    folders = (tmp_path, PROGRAMS, LIBRARY / "include", LIBRARY / "src", LIBRARY / "tflm", EXAMPLE.parent)
    tflm, strict = TFLM["AUTUMN"], ["-Wall", "-Wextra", "-Werror", "-O1", *(f"-I{f}" for f in folders)]
    shared = [PROGRAMS / "classify.cpp", tmp_path / "shapes_int8_model.cpp", *(LIBRARY / "tflm").glob("*.cpp")]
    programs = {"host": [PROGRAMS / "host.cpp"], "pico": [PROGRAMS / "pico/main.cpp"],
                "esp32": [PROGRAMS / "esp32/main/main.cpp", tmp_path / "start.cpp"]}  # fmt: skip

    def compiled(name: str, command: list[str], files: Iterable[Path]) -> list[Path]:
        folder = tmp_path / f"objects_{name}"
        folder.mkdir(exist_ok=True)
        return objects(command, files, folder)

    cpp = ["g++", "-std=gnu++17", *strict, *tflm.flags]
    library = compiled(
        "shared", ["gcc", "-std=gnu17", *strict], [tmp_path / "shapes_int8_library.c", *(LIBRARY / "src").glob("*.c")]
    )
    library += compiled("shared", cpp, shared)
    for name, files in programs.items():
        mine = compiled(name, cpp, files)
        program = tmp_path / f"{name}.out"
        subprocess.run(["g++", *mine, *library, *tflm.link, "-pthread", "-o", program], check=True)
        said = subprocess.run([program], capture_output=True, text=True, check=True, timeout=600).stdout
        assert said == "star, the same scores as on a PC\n", name
