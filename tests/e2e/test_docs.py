"""The pages say what the commands say. `python scripts/snippets.py docs/*.md` writes their output anew."""

from __future__ import annotations

import itertools
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import EXAMPLE, ROOT

from tflm_memopt.cli import main as cli

SNIPPETS = runpy.run_path(str(ROOT / "scripts/snippets.py"))
TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
DOCS = ROOT / "docs"
PAGES = sorted(p.name for p in DOCS.glob("*.md") if "\n$ tflm-memopt " in p.read_text(encoding="utf-8"))
VARIES = {"proof": r"; (no|a lower) layout of these blocks.*"}
"""What another version of OR-tools may say otherwise: whether its work sufficed for a proof."""


def compared(page: str) -> list[str]:
    """Its lines, without what varies and the widths that it makes."""
    for varies in VARIES.values():
        page = re.sub(varies, "", page)
    return [" ".join(re.sub("─+", "─", line).split()) for line in page.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_commands_of_the_page_say_what_it_says(name: str) -> None:
    """Figures included. When they differ: `python scripts/snippets.py docs/*.md`."""
    page = (DOCS / name).read_text(encoding="utf-8")
    assert compared(SNIPPETS["rerun"](page)) == compared(page)


@pytest.mark.slow
@pytest.mark.skipif(bool(TFLM["missing"]()) or not shutil.which("g++"), reason=TFLM["missing"]() or "no g++")
@pytest.mark.parametrize(
    ("page", "number", "where"),
    [("deploy.md", 0, "arena"), ("input.md", 0, "stream"), ("input.md", 1, "external")],
    ids=["arena", "stream", "external"],
)
def test_the_program_of_the_page_compiles(
    page: str, number: int, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["optimize", str(EXAMPLE), "-o", str(tmp_path), "--input", where, "--json"]) == cli.DONE
    programs = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "main.cpp").write_text(programs[number])
    own = [f"-I{ROOT / 'custom_ops/tflm'}", f"-I{ROOT / 'custom_ops/include'}"]
    strict = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    for tflm, source in itertools.product(TFLM["AGES"], ("main.cpp", "shapes_int8_model.cpp")):
        command = [*strict, *own, *tflm.flags, source]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
