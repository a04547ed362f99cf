"""Check that the C++ programs of the pages compile."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import EXAMPLE, ROOT

from tflm_memopt.cli import main as cli

TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))


@pytest.mark.slow
@pytest.mark.skipif(bool(TFLM["missing"]()) or not shutil.which("g++"), reason=TFLM["missing"]() or "no g++")
@pytest.mark.parametrize(
    ("page", "number", "where"), [("deploy.md", 0, "arena"), ("input.md", 1, "external")], ids=["arena", "external"]
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
    command = [*strict, *own, *TFLM["AUTUMN"].flags, "main.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
