"""Test the report in a real browser: no script errors or horizontal scroll, all figures present, CSV and tooltips
work.
"""

from __future__ import annotations

import csv
import io
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


def test_tables_can_be_saved_as_csv(browser: Browser, page: Path) -> None:
    browser.open(page, 400)
    browser.value(
        "window.saved = []; URL.createObjectURL = blob => { window.saved.push(blob); return 'data:,' };"
        "HTMLAnchorElement.prototype.click = () => {};"
        "document.querySelector('table[data-name=operators]').nextElementSibling.click();"
        "document.getElementById('json').click()"
    )
    texts = browser.value("Promise.all(window.saved.map(blob => blob.text()))")
    rows = list(csv.reader(io.StringIO(texts[0])))
    saved = json.loads(texts[1])
    operators = saved["inspection"]["operators"]
    column = rows[0].index("MACs")
    assert [int(row[column]) for row in rows[1:]] == [op["macs"] for op in operators]
    assert saved["report"] == json.loads(page.with_suffix(".json").read_text())


def test_pointing_at_a_buffer_says_what_it_is(browser: Browser, page: Path) -> None:
    browser.open(page, 1280)
    said = browser.value(
        "(() => { const path = document.querySelector('.wide svg path.t-tensor-box');"
        "path.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 200, clientY: 200}));"
        "return document.getElementById('tip').textContent })()"
    )
    assert " B (" in said
    assert "written by" in said


def test_the_inspections_page(browser: Browser, tmp_path: Path) -> None:
    assert cli.main(["inspect", str(EXAMPLE), "-o", str(tmp_path), "--quiet"]) == cli.DONE
    for width in (1280, 400):
        browser.open(tmp_path / "shapes_int8.report.html", width)
        assert browser.errors == []
        browser.value(OPEN)
        assert browser.value("document.documentElement.scrollWidth") <= width


LINES = """[...document.querySelectorAll('.stages tbody tr')].map(
  row => new Set([...row.cells].map(cell => Math.round(cell.getBoundingClientRect().top))).size)"""
HEIGHTS = """[...document.querySelectorAll('details.block > summary')].map(
  e => Math.round(e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)))"""


def test_in_the_hand_a_block_takes_three_lines_at_most(browser: Browser, page: Path) -> None:
    """On a phone, a group takes at most three lines: itself when closed, and each of its operators when open."""
    browser.open(page, 400)
    closed = browser.value(HEIGHTS)
    browser.value(OPEN)
    lines = browser.value(LINES)
    assert closed and lines
    assert max(closed) <= 3
    assert max(lines) <= 3
