"""Run the commands of examples/two_devices, and run its two sketches on a PC, with a socket that loses frames in place
of the radio.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiling import objects, run
from conftest import ROOT
from projects import TFLM, needs_host, repository_library

HERE = Path(__file__).parent
EXAMPLE = ROOT / "examples/two_devices"
LIBRARY = ROOT / "custom_ops"
INCLUDE = (LIBRARY / "include", LIBRARY / "src", LIBRARY / "tflm")
WATCHED = "-fsanitize=thread"
PC_ARENA = 80_000


def boards(folder: Path) -> Path:
    here = folder / "examples/two_devices"
    shutil.copytree(EXAMPLE, here)
    for name in ("custom_ops", "examples/shapes"):
        (folder / name).symlink_to(ROOT / name)
    (lines,) = re.findall(r"```sh\n(.*?)```", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["sh", "-eu", "-c", lines], cwd=here, check=True, capture_output=True, env=os.environ | {"PATH": path}
    )
    return here


def compiled(folder: Path, device: int, age: str, library: list[Path]) -> Path:
    """The sketch's clock is 20 times slower than real time, so a busy PC exceeds no time limit."""
    for ops in folder.glob("*_ops.h"):
        ops.write_text(re.sub(r"(?<=arena_size = )\d+", str(PC_ARENA), ops.read_text()))
    tflm = TFLM["AGES"][0]
    places = (HERE / "radio", HERE / "arduino/core", *INCLUDE, folder)
    common = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", WATCHED, *(f"-I{place}" for place in places)]
    defined = [f"-DDEVICE={device}", "-DSLOWER=20"]
    cpp = ["g++", "-std=gnu++17", *common, *defined, *([f"-D{age}"] if age else []), *tflm.flags]
    mine = [
        *objects(["gcc", "-std=gnu11", *common], folder.glob("*.c"), folder),
        *objects(cpp, [HERE / "arduino/core/main.cpp", *folder.glob("*.cpp")], folder),
        *objects([*cpp, "-include", "Arduino.h", "-x", "c++"], [folder / "espnow.ino"], folder),
    ]
    run("g++", WATCHED, "-pthread", *mine, *library, *tflm.link, "-o", "program", cwd=folder)
    return folder / "program"


@pytest.mark.slow
@needs_host
def test_two_boards_find_the_shape_together(tmp_path: Path) -> None:
    here = boards(tmp_path)
    room = json.loads((here / "out/shapes_int8.report.json").read_text())["room_for_all"]
    source = (here / "espnow/espnow.ino").read_text()
    (nbytes,) = map(int, re.findall(r"received\[(\d+)\]", source))
    assert room <= nbytes == 1 << nbytes.bit_length() - 1
    library = repository_library(TFLM["AGES"][0])
    ages = ("", "RADIO_OF_IDF_4")
    programs = [compiled(here / f"board{n}/espnow", n, age, library) for n, age in enumerate(ages)]
    air = os.environ | {"RADIO": str(tmp_path), "LOSS": "10", "TSAN_OPTIONS": "exitcode=66"}
    helper = subprocess.Popen([programs[1]], env=air | {"ADDRESS": "1", "LOOPS": "1000000"}, stderr=subprocess.PIPE)
    try:
        asked = air | {"ADDRESS": "0", "LOOPS": "6"}
        done = subprocess.run([programs[0]], env=asked, capture_output=True, text=True, timeout=600, check=False)
        assert helper.poll() is None, "the helper ended"
    finally:
        helper.kill()
        _, complaints = helper.communicate()
    assert done.returncode == 0, done.stderr
    assert b"data race" not in complaints, complaints.decode()
    assert "OTHER" not in done.stdout
    right = done.stdout.count("star, the same scores as on a PC, ")
    assert right >= 2, done.stdout
