"""Test benchmarks/size.py: the size of the whole C library, and of the kernels of one model."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from conftest import EXAMPLE, ROOT
from cores.core import CORES, missing_tools

pytestmark = pytest.mark.slow


def test_sizes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if reason := missing_tools(CORES["m3"]):
        pytest.skip(reason)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    size = importlib.import_module("size")
    (tmp_path / EXAMPLE.name).write_bytes(EXAMPLE.read_bytes())
    page = tmp_path / "page.md"
    page.write_text("<!-- size:begin -->\n<!-- size:end -->")
    assert size.main(["--cores", "m3", "m4", "--models", str(tmp_path), "--json", "--update", str(page)]) == 0
    everything, packed, model, _ = json.loads(capsys.readouterr().out)["sizes"]
    assert everything["text"] <= 45_000
    assert packed["text"] <= 57_000
    assert model["text"] < 0.8 * everything["text"]
    assert 0 < model["stack"] <= 1060
    assert page.read_text().count("| m3 |") == 2
