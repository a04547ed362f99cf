"""Compute figures of docs/papers.md again, and compare them with the page."""

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from papers.items import ITEMS, Item
from tables import between

QUICK = [item for item in ITEMS if item.what.startswith("running example")]


@pytest.mark.slow
@pytest.mark.parametrize("item", QUICK, ids=[item.what for item in QUICK])
def test_a_figure_is_as_the_page_says(item: Item) -> None:
    stated = between((ROOT / "docs/papers.md").read_text(encoding="utf-8"), "papers").splitlines()
    assert f"| {' | '.join(item.row(Path()))} |" in stated
