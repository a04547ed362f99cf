"""Check that the reference pages agree with the code."""

import re
import runpy
from pathlib import Path

import pytest
from conftest import EXAMPLE, ROOT

import tflm_memopt

SCRIPT = runpy.run_path(str(ROOT / "scripts/program_format.py"))
FORMAT = SCRIPT["FILES"]


@pytest.mark.parametrize("path", FORMAT, ids=lambda path: path.name)
def test_what_the_format_says_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FORMAT[path](), "python scripts/program_format.py writes it anew"


def test_the_page_has_a_place_for_each_record() -> None:
    assert "<!-- tmo_" not in SCRIPT["site_page"]().lower()


def test_the_page_names_each_key_of_the_report() -> None:
    _, _, behind = (ROOT / "docs/cli.md").read_text(encoding="utf-8").partition("### The report as JSON")
    table = re.findall(r"^\| (`.*?) \|", behind.partition("\n## ")[0], re.MULTILINE)
    named = {key for row in table for key in re.findall(r"`(\w+)`", row)}
    assert named == tflm_memopt.optimize(EXAMPLE, effort=0.05).report.to_json().keys()
