"""benchmarks/growth.py: chains are planned, checked, and told about."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from conftest import ROOT

GROWTH = runpy.run_path(str(ROOT / "benchmarks/growth.py"))


def main(*arguments: str) -> int:
    result: int = GROWTH["main"](list(arguments))
    return result


@pytest.mark.slow
def test_a_row_for_each_chain_and_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--layers", "8", "4", "--json", "--plot", str(tmp_path / "growth.svg")) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["chain"], row["layers"]) for row in rows] == [
        ("convolutions", 4), ("convolutions", 8), ("bottlenecks", 4), ("bottlenecks", 8)
    ]  # fmt: skip
    assert all(0 < row["lower_bound"] <= row["head"] and 0 < row["blocks"] <= row["layers"] for row in rows)
    assert (tmp_path / "growth.svg").read_text().startswith("<?xml")


def test_the_table_says_how_time_grows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("--layers", "4", "8") == 0
    header, _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 4
    assert {line.count("|") for line in (header, *rows)} == {header.count("|")}
    assert ["n^" in row for row in rows] == [False, True, False, True]


def test_a_chain_without_layers_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main("--layers", "0")
    assert left.value.code == 2
    assert "at least one layer" in capsys.readouterr().err
