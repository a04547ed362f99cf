"""PlatformIO builds and tests the library on a PC and on a Cortex-M4 in QEMU, without a network."""

import configparser
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from built import arduino_library
from conftest import ROOT

PIO = runpy.run_path(str(ROOT / "scripts/platformio.py"))
TOOLS = ("gcc", "arm-none-eabi-gcc", "qemu-system-arm")
MISSING = PIO["missing"]() or ", ".join(f"{tool} is missing" for tool in TOOLS if not shutil.which(tool))

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING or "present")]


def pio(workspace: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    arduino_library()
    command, environment = PIO["command"](arguments)
    environment = {**environment, "PLATFORMIO_WORKSPACE_DIR": str(workspace), **settings}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def outcomes(said: str) -> dict[str, str]:
    rows = re.findall(r"^(\w+) +(?:\w+ +)?(SUCCESS|FAILED|PASSED|ERRORED|SKIPPED) +[\d:.]+$", said, re.MULTILINE)
    return dict(rows)


def test_programs_pass_their_tests(tmp_path: Path) -> None:
    done = pio(tmp_path, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    config = configparser.ConfigParser()
    config.read(ROOT / "platformio.ini")
    environments = {name.strip() for name in config["platformio"]["default_envs"].split(",")}
    assert outcomes(done.stdout) == dict.fromkeys(environments, "PASSED")
