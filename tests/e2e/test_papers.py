"""Compute the figures of docs/papers.md again, and compare them with the page."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from papers.__main__ import row
from papers.items import ITEMS, Item
from papers.vmcu import inverted_bottleneck, vmcu
from tables import between

LONG = ("Table 6.6", "Figures 11 and 12", "Figures 5.2 to 5.7, executed", "Table 4.1", "chapter 5",
        "Table 2", "result.json", "Table 5.1,", "Figures 9 and 10", "Figure 6, as", "sections 4", "MobileNetV2",
        "Table 6.2, on", "partitions in")  # fmt: skip
"""Slow items of docs/papers.md, which only `python -m benchmarks.papers` computes, by the start of their names."""
MADE = [item for item in ITEMS if not item.what.startswith(LONG)]


@pytest.mark.slow
@pytest.mark.parametrize("item", MADE, ids=[item.what for item in MADE])
def test_a_figure_is_as_the_page_says(item: Item, outside: Callable[[str], Path]) -> None:
    folders = {"nets": outside("paper_nets")} if item.needs else {}
    stated = between((ROOT / "docs/papers.md").read_text(encoding="utf-8"), "papers").splitlines()
    assert row(item, item.figure(folders)) in stated


@pytest.mark.parametrize("less", [0, 2])
def test_vmcu_kernel_needs_its_formula(less: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The C code of Figure 6 fails if the input begins two pixels before the place that the paper's formula gives."""
    monkeypatch.setattr(inverted_bottleneck, "distance", lambda m: vmcu.distance(m) - less * m.c_out)
    module = next(m for m in vmcu.TABLE_2 if m.name == "S3")
    assert inverted_bottleneck.equals_whole_tensors(module) is (not less)
