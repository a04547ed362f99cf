"""Test the options and files of emitted projects; packaging/test_projects.py builds and runs them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from models import Net
from unit.command import Run

from tflm_memopt.cli import main as cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model of three classes."""
    net = Net(1)
    x = net.conv2d(net.input((1, 24, 24, 3), (1 / 255, -128)), 8, kernel=(3, 3), stride=(2, 2))
    (tmp_path / "net.tflite").write_bytes(net.model(net.fully_connected(net.mean(net.conv2d(x, 4), (1, 2)), 3)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


COUNTER = re.compile(r"static uint32_t core_cycles\(\) \{.*?\n\}\n", re.S)
REGISTERS = ("0xE000EDFC", "0xE0001FB0", "0xE0001000", "0xE0001004")
"""DEMCR, DWT_LAR, DWT_CTRL, DWT_CYCCNT."""
READS = """
#include <stdio.h>
int main() {
  registers[3] = 42;
  const uint32_t count = core_cycles();
  printf("%x %x %x %u", registers[0], registers[1], registers[2], count);
}
"""


def counter(folder: Path, run: Run) -> str:
    """Return the function of an emitted program that reads the core's cycle counter."""
    assert run("optimize", "net.tflite", "-o", "out", "--emit", "platformio").code == cli.DONE
    main = (folder / "out/platformio/src/main.cpp").read_text()
    assert "cycles of the core for one inference" in main
    (found,) = COUNTER.findall(main)
    return f"#include <stdint.h>\n{found}"


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
@pytest.mark.parametrize(("flags", "says"), [
    (["-D__ARM_ARCH=7", "-D__ARM_ARCH_PROFILE='M'"], "1000000 c5acce55 1 42"),
    (["-D__ARM_ARCH=6", "-D__ARM_ARCH_PROFILE='M'"], "0 0 0 0"),
    ([], "0 0 0 0"),
])  # fmt: skip
def test_a_program_counts_cycles_where_the_core_does(folder: Path, run: Run, flags: list[str], says: str) -> None:
    """Here the registers are elements of an array."""
    text = counter(folder, run)
    for number, address in enumerate(REGISTERS):
        assert text.count(address) == 1
        text = text.replace(address, f"&registers[{number}]")
    source = folder / "counts.cpp"
    source.write_text(f"#include <stdint.h>\nstatic uint32_t registers[4];\n{text}{READS}")
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", *flags, source, "-o", "counts"], check=True)
    assert subprocess.run([folder / "counts"], capture_output=True, text=True, check=True).stdout == says
