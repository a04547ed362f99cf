"""benchmarks/ram.py: the table of a folder, and the tables inside documents."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from models import Net

sys.path.insert(0, str(ROOT / "benchmarks"))
RAM = runpy.run_path(str(ROOT / "benchmarks/ram.py"))
COLUMNS = {"model", "flags", "original", "head", "tail", "total", "min", "lower_bound", "ratio", "overhead", "seconds"}


def float_io() -> bytes:
    net = Net(5)
    q = net.unary("QUANTIZE", net.input((1, 24, 24, 3), None, dtype="FLOAT32"))
    q = net.conv2d(net.conv2d(q, 8, kernel=(3, 3)), 4)
    return net.model(net.unary("DEQUANTIZE", q, dtype="FLOAT32", out=None))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models, one of which has float inputs."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models/float.tflite").write_bytes(float_io())
    net = Net(1)
    (tmp_path / "models/small.tflite").write_bytes(net.model(net.conv2d(net.input((1, 16, 16, 3)), 8, kernel=(3, 3))))
    (tmp_path / "models/notes.txt").write_text("no model")
    return tmp_path / "models"


def main(*arguments: object) -> Any:
    return RAM["main"]([str(a) for a in arguments])


@pytest.mark.slow
def test_a_row_for_each_model_for_int8_io_and_for_a_streamed_input(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(folder, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["model"], row["flags"]) for row in rows] == [
        ("float", ""),
        ("float", "--input stream"),
        ("float", "--int8-io"),
        ("float", "--int8-io --input stream"),
        ("small", ""),
        ("small", "--input stream"),
    ]
    for row in rows:
        assert set(row) >= COLUMNS
        assert row["total"] == row["head"] + row["tail"]
        assert row["ratio"] == pytest.approx(row["original"] / row["total"], abs=0.01)
    assert rows[2]["total"] < rows[0]["total"]
    assert [row["convention"].split(", ")[1] for row in rows[2:4]] == ["input in the arena", "input streamed 1 row"]


def test_the_table_has_its_convention(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(folder, "--markdown", tmp_path / "table.md") == 0
    table = (tmp_path / "table.md").read_text()
    assert capsys.readouterr().out == table
    header, rule, *rows = (line for line in table.splitlines() if line.startswith("|"))
    assert len(rows) == 6
    assert len({line.count("|") for line in (header, rule, *rows)}) == 1
    assert "| float `--int8-io` |" in table
    assert "| small `--input stream` |" in table
    assert "ilp32, input in the arena, TFLM reference kernels" in table


@pytest.mark.slow
def test_tables_between_markers_are_rewritten(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [tmp_path / "a.md", tmp_path / "b.md"]
    for page in pages:
        page.write_text("before\n<!-- ram:begin -->\nold\n<!-- ram:end -->\nafter\n")
    assert main(folder, "--update", *pages) == 0
    table = capsys.readouterr().out.rstrip("\n")
    for page in pages:
        assert page.read_text() == f"before\n<!-- ram:begin -->\n{table}\n<!-- ram:end -->\nafter\n"


def test_a_page_without_markers_is_refused_before_the_work(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain.md").write_text("<!-- ram:end --> <!-- ram:begin -->")
    (folder / "small.tflite").write_bytes(b"no model: would fail later")
    with pytest.raises(SystemExit) as left:
        main(folder, "--update", tmp_path / "plain.md")
    assert left.value.code == 2
    assert "no <!-- ram:begin -->" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["empty", "broken"])
def test_a_folder_that_has_no_good_models(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    if what == "broken":
        (tmp_path / "broken.tflite").write_bytes(b"no model")
    with pytest.raises(SystemExit) as left:
        main(tmp_path)
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert ("no .tflite files" if what == "empty" else "broken.tflite") in said
