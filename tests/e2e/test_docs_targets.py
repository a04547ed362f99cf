"""Run the commands of docs/deploy.md, and compile its programs."""

import configparser
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from compiling import run
from conftest import EXAMPLE, QUICKLY, ROOT
from projects import TFLM, needs_host

from tflm_memopt.cli import main as cli

INCLUDE = [f"-I{ROOT / 'custom_ops/include'}", f"-I{ROOT / 'custom_ops/tflm'}"]
STRICT = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]

pytestmark = pytest.mark.slow


def blocks(section: str, language: str) -> list[str]:
    text = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    found = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", found, re.DOTALL | re.MULTILINE)


def run_commands(section: str) -> int:
    lines = [line for block in blocks(section, "sh") for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("tflm-memopt ")]
    for command in commands:
        quickly = ["--effort", str(QUICKLY)] if " optimize " in command else []
        assert cli.main([*shlex.split(command)[1:], *quickly, "--json"]) == cli.DONE, command
    return len(commands)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_bare_metal(scratch: Path) -> None:
    assert run_commands("Without an interpreter") == 3
    for program, folder in zip(blocks("Without an interpreter", "c"), ("out", "streamed"), strict=True):
        (scratch / folder / "main.c").write_text(program)
        run("gcc", "-std=c11", "-Wpedantic", *STRICT, *INCLUDE, f"{folder}/main.c", f"{folder}/shapes_int8.c")


@needs_host
def test_arduino(scratch: Path) -> None:
    assert run_commands("Arduino") == 2
    assert (scratch / "out/arduino/shapes_int8/shapes_int8.ino").is_file()
    assert "#ifndef TMO_CAMERA\n" in (scratch / "out/arduino/shapes_int8/shapes_int8_camera.h").read_text()
    core = [f"-I{ROOT / 'tests/packaging/arduino/core'}", *INCLUDE, "-include", "Arduino.h"]
    (camera,) = blocks("Arduino", "cpp")
    (scratch / "shapes/sketch.cpp").write_text(camera)
    run("g++", "-std=gnu++14", *STRICT, *core, *TFLM["SPRING"].flags, "shapes/sketch.cpp")


def test_stm32cube(scratch: Path) -> None:
    assert run_commands("STM32Cube") == 1
    assert (scratch / "out/stm32cube/.project").is_file()


@needs_host
def test_esp_idf(scratch: Path) -> None:
    assert run_commands("ESP-IDF") == 2
    assert (scratch / "out/esp-idf/sdkconfig.defaults").is_file()
    assert (scratch / "out/esp-idf/main/shapes_int8_camera.h").is_file()
    (manifest,) = (yaml.safe_load(block) for block in blocks("ESP-IDF", "yaml"))
    assert manifest["dependencies"]["tflm-memopt"]["path"].endswith("/custom_ops")
    (register,) = blocks("ESP-IDF", "cmake")
    assert all((scratch / "main" / name).is_file() for name in re.findall(r"shapes_\w+\.c\w*", register))


def test_platformio(scratch: Path) -> None:
    assert run_commands("PlatformIO") == 1
    page, emitted = configparser.ConfigParser(), configparser.ConfigParser()
    page.read_string(blocks("PlatformIO", "ini")[0])
    emitted.read(scratch / "out/platformio/platformio.ini")
    ours, written = page["env:nano33ble"], {**emitted["env"], **emitted["env:nano33ble"]}
    assert all(ours[key] == written[key] for key in ours if key != "lib_deps")
    assert ours["lib_deps"].split()[1] == written["lib_deps"].split()[-1]


@needs_host
def test_an_update_over_the_air(scratch: Path) -> None:
    (program,) = blocks("Updates over the air", "cpp")
    (scratch / "main.cpp").write_text(program)
    run("g++", "-std=gnu++14", *STRICT, *INCLUDE, *TFLM["SPRING"].flags, "main.cpp")


@needs_host
@pytest.mark.parametrize(
    ("page", "number", "where"),
    [("deploy.md", 0, "arena"), ("input.md", 0, "stream"), ("input.md", 1, "external")],
    ids=["arena", "stream", "external"],
)
def test_the_program_of_the_page_compiles(
    page: str, number: int, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        cli.main(["optimize", str(EXAMPLE), "-o", str(tmp_path), "--input", where, "--effort", "low", "--json"])
        == cli.DONE
    )
    programs = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "main.cpp").write_text(f'{programs[number]}\n#include "shapes_int8_model.cpp"\n')
    own = [f"-I{ROOT / 'custom_ops/tflm'}", f"-I{ROOT / 'custom_ops/include'}"]
    strict = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    run(*strict, *own, *TFLM["AUTUMN"].flags, "main.cpp", cwd=tmp_path)


PORT = """
#include <Arduino.h>
static struct {
  int available() { return 0; }
  int read() { return -1; }
  int availableForWrite() { return 0; }
  size_t write(const uint8_t *, uint32_t) { return 0; }
} Serial1;
"""
SECOND_CORE = """
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tmo_tflm_cores.h"
void multicore_launch_core1(void (*)());
"""


@needs_host
def test_the_programs_for_two_devices_and_two_cores_compile(tmp_path: Path) -> None:
    (uart,) = re.findall(
        r"^```cpp\n(.*?)^```$", (ROOT / "docs/several-devices.md").read_text(), re.DOTALL | re.MULTILINE
    )
    one, team = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "docs/two-cores.md").read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "pico").mkdir()
    (tmp_path / "pico/multicore.h").touch()
    (tmp_path / "uart.cpp").write_text(PORT + uart)
    start = "multicore_launch_core1(second_core);"
    assert start in team
    body = f"void begin(tflite::MicroMutableOpResolver<1> &resolver) {{\n{start}\n{one}\n}}\n"
    (tmp_path / "cores.cpp").write_text(SECOND_CORE + team + body)
    here = ["-I.", f"-I{ROOT / 'custom_ops/links'}", f"-I{ROOT / 'tests/packaging/arduino/core'}"]
    for program in ("uart.cpp", "cores.cpp"):
        run("g++", "-std=c++11", *STRICT, *here, *INCLUDE, *TFLM["AUTUMN"].flags, program, cwd=tmp_path)
