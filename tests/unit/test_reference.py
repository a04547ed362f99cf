"""The generated pages are those of the code, and every error has a code that is listed and that a test raises."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

from tflm_memopt.errors import MemoptError
from tflm_memopt.ops.opset import OPSET
from tflm_memopt.report import svg

REFERENCE = runpy.run_path(str(ROOT / "scripts/reference.py"))
PAGES, DRAWINGS = REFERENCE["FILES"], runpy.run_path(str(ROOT / "scripts/drawings.py"))["DRAWINGS"]


@pytest.mark.parametrize("name", PAGES)
def test_page_is_current(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), "python scripts/reference.py writes it anew"


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


def test_every_error_has_a_code_of_its_own() -> None:
    found = REFERENCE["raised"]()
    assert len(found) > 80
    assert [f"{r.place}: {r.kind} without code=" for r in found if not r.code] == []
    assert [code for code, n in Counter(r.code for r in found).items() if n > 1] == []
    assert all(code.isidentifier() for code in (r.code for r in found))


def test_a_message_is_the_one_that_stands_in_front_of_its_error() -> None:
    """Two errors of one function may give their messages the same name."""
    said = {r.code: r.message for r in REFERENCE["raised"]()}
    assert said["app_emit"] == "--emit ... is for one model"
    assert said["app_same_name"].startswith("files and identifiers")


def test_every_refusal_is_listed_with_a_hint() -> None:
    refusals = REFERENCE["refusals"]()
    names = {constraint.__name__ for row in OPSET.values() for constraint in row.constraints}
    assert refusals.keys() == names
    assert all(what and hint and operators for what, hint, operators in refusals.values())


def test_every_reason_to_stay_builtin_is_listed() -> None:
    """Those of constraints, and those that the code gives by name."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tflm_memopt").rglob("*.py"))
    named = set(re.findall(r"Unsupported\(\s*\"(\w+)\"", text))
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8").partition("## Operators that stay builtin")[2]
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert {"no_kernel", "left_whole"} <= named
    assert sorted(listed) == sorted({*named, *REFERENCE["refusals"](), "view"})


def test_codes_are_said() -> None:
    assert MemoptError("what", code="why").code == "why"
    assert Path(ROOT / "docs/errors.md").exists()


def test_every_error_says_what_to_do() -> None:
    """But for those of the plan's checker, which are never the user's."""
    checkers = ("PlanError", "MemoptError")
    assert [r.code for r in REFERENCE["raised"]() if not r.hint and r.kind not in checkers] == []
