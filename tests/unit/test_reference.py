"""The reference pages agree with the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import get_args

import pytest
from conftest import ROOT

from tflm_memopt.errors import Code
from tflm_memopt.report import svg

FORMAT = runpy.run_path(str(ROOT / "scripts/program_format.py"))["FILES"]
DRAWINGS = runpy.run_path(str(ROOT / "scripts/drawings.py"))["DRAWINGS"]


@pytest.mark.parametrize("path", FORMAT, ids=lambda path: path.name)
def test_what_the_format_says_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FORMAT[path](), "python scripts/program_format.py writes it anew"


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawing_is_current(name: str) -> None:
    written = (ROOT / "docs/drawings" / name).read_text(encoding="utf-8")
    assert written == svg.document(DRAWINGS[name]()), "python scripts/drawings.py writes it anew"


def test_the_c_page_names_what_is_public() -> None:
    page = (ROOT / "docs/c-api.md").read_text(encoding="utf-8")
    words = [line.split("\t") for line in (ROOT / "arduino/keywords.txt").read_text().splitlines()]
    public = {
        word for word, kind in words if kind == "KEYWORD2" or word.startswith(("TMO_ERROR", "TMO_WAIT", "TMO_OK"))
    }
    assert len(public) > 25
    assert sorted(word for word in public if not re.search(rf"\b{word}\b", page)) == []


def test_the_page_of_errors_lists_every_code() -> None:
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8").partition("## Operators that stay builtin")[0]
    assert ["", *re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)] == list(get_args(Code))
