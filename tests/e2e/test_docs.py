"""Check that the C++ programs of the pages compile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compiling import run
from conftest import EXAMPLE, ROOT
from projects import TFLM, needs_host

from tflm_memopt.cli import main as cli


@pytest.mark.slow
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
