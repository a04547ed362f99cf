"""benchmarks/zoo.py: each model converted, compared under TFLM, and in the table with what stays builtin."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import ROOT
from models import Net

sys.path.insert(0, str(ROOT / "benchmarks"))
ZOO = runpy.run_path(str(ROOT / "benchmarks/zoo.py"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One model, of which an operator stays builtin."""
    net = Net(1)
    x = net.conv2d(net.input((1, 16, 16, 3)), 8, kernel=(3, 3))
    y = net.op("DIV", [x, x], [net.tensor((1, 16, 16, 8))], schema.DivOptionsT())
    (tmp_path / "small.tflite").write_bytes(net.model(x, y))
    return tmp_path


def test_the_table_says_what_stays_builtin_and_why(folder: Path) -> None:
    row = ZOO["Row"]("small", 2, ZOO["tflm_memopt"].optimize((folder / "small.tflite").read_bytes()).report, None)
    table = ZOO["markdown"]([row])
    assert "\n| small | DIV (`no_kernel`) | " in table
    assert " | 2 | 1 |\n" in table
    assert len({line.count("|") for line in table.splitlines() if line.startswith("|")}) == 1


def test_the_reasons_of_the_page_are_codes() -> None:
    page, errors = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("zoo.md", "errors.md"))
    said = set(re.findall(r"[A-Z0-9_]+ \(`(\w+)`\)", page))
    assert said and said <= set(re.findall(r"^\| `(\w+)` \|", errors, re.MULTILINE))


def test_the_page_is_rewritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = Net(1)
    (tmp_path / "net.tflite").write_bytes(net.model(net.conv2d(net.input((1, 16, 16, 3)), 8, kernel=(3, 3))))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- zoo:begin -->\nold\n<!-- zoo:end -->\nafter\n")
    assert ZOO["main"]([str(tmp_path), "--update", str(page)]) == 0
    table = capsys.readouterr().out.rstrip("\n")
    assert page.read_text() == f"before\n<!-- zoo:begin -->\n{table}\n<!-- zoo:end -->\nafter\n"


def test_folders_are_in_names_and_streams_in_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = Net(1)
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor/net.tflite").write_bytes(net.model(net.conv2d(net.input((1, 16, 16, 3)), 8, kernel=(3, 3))))
    page = tmp_path / "page.md"
    page.write_text("<!-- others:begin --><!-- others:end -->")
    assert ZOO["main"]([str(tmp_path), "--mark", "others", "--update", str(page)]) == 0
    (row,) = (line for line in page.read_text().splitlines() if line.startswith("| vendor/net |"))
    assert row in capsys.readouterr().out
    cells = [cell.strip(" *").replace(",", "") for cell in row.split("|")[1:-1]]
    assert 0 < int(cells[5]) < int(cells[2])


def test_a_folder_without_models_says_how_to_build_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ZOO["main"]([str(tmp_path)])
    assert "benchmarks/zoo_models.py" in capsys.readouterr().err
