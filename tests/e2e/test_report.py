"""Test the report in a real browser: no script errors or horizontal scroll, all figures present, CSV and tooltips
work.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import PROGRAM, Browser, browsing
from conftest import EXAMPLE, FLOAT_IO, KEYWORDS, ROOT

from tflm_memopt.cli import main as cli

PAGE = runpy.run_path(str(ROOT / "tests/unit/report/test_html.py"))
MOST_BYTES = 1_000_000
OPEN = "document.querySelectorAll('details').forEach(d => { d.open = true })"
BEYOND = """[...document.querySelectorAll('body *')]
  .filter(e => e.checkVisibility() && getComputedStyle(e).position != 'fixed')
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.tagName)"""
"""Elements that extend beyond the right edge."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PROGRAM, reason="no chromium (Debian: chromium)")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as running:
        yield running


@pytest.fixture(scope="module", params=[EXAMPLE, KEYWORDS, FLOAT_IO], ids=lambda path: path.stem)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    flags = ["--int8-io"] if "float_io" in request.param.stem else []
    assert cli.main(["optimize", str(request.param), "-o", str(folder), "--quiet", *flags]) == cli.DONE
    return folder / f"{request.param.stem}.report.html"


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_it_is_shown_without_error_and_without_scrolling_sideways(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    browser.requests.clear()
    browser.open(page, width, dark=dark)
    assert browser.errors == []
    browser.value(OPEN)
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(BEYOND) == []
    assert {url for url in browser.requests if not url.startswith("data:")} == {page.resolve().as_uri()}
    assert page.stat().st_size < MOST_BYTES
    ink, paper = browser.value(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (sum(shade(ink)) > sum(shade(paper))) == dark
    assert len(browser.picture()) > 20_000


def shade(colour: str) -> list[int]:
    return [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]


def test_every_figure_of_the_json_is_shown(browser: Browser, page: Path) -> None:
    browser.open(page, 1280)
    browser.value(OPEN)
    text = browser.value("document.body.innerText")
    report = json.loads(page.with_suffix(".json").read_text())
    assert PAGE["missing"](report, text) == []


def test_pointing_at_a_buffer_says_what_it_is(browser: Browser, page: Path) -> None:
    browser.open(page, 1280)
    said = browser.value(
        "(() => { const path = document.querySelector('.wide svg path.t-tensor-box');"
        "path.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 200, clientY: 200}));"
        "return document.getElementById('tip').textContent })()"
    )
    assert " B (" in said
    assert "written by" in said
