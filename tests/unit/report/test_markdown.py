"""Test the answer of `fit` as Markdown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from unit.command import small

import tflm_memopt
from tflm_memopt.cli import main as cli
from tflm_memopt.report import markdown


def test_a_line_for_each_board() -> None:
    found = tflm_memopt.fit(tflm_memopt.optimize(small(), name="a|b_c.tflite"), ["microbit_v1", "nano33ble"])
    row, other = found.boards
    left = replace(row.rewritten, fits=False, ram_left=-1234, flash_left=0)
    beside = replace(other.rewritten, fits_with_radio=False)
    found = replace(found, boards=(replace(row, rewritten=left), replace(other, rewritten=beside)))
    page = markdown.fits(found, found.boards)
    lines = page.splitlines()
    assert lines[0].startswith(r"**a\|b\_c.tflite** fits on 1 of 2 boards: arena ")
    assert lines[2].count("|") == lines[3].count("|") == lines[4].count("|") == lines[5].count("|") == 7
    assert lines[4].startswith("| BBC micro:bit v1 (`microbit_v1`) | **no** | **1,234 B missing** | 0 B | ")
    assert lines[5].startswith("| Arduino Nano 33 BLE and BLE Sense (`nano33ble`) | yes, without radio | ")


def test_the_command_writes_it_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.chdir(tmp_path)
    Path("m.tflite").write_bytes(small())
    fit = ["fit", "m.tflite", "--board", "nano33ble"]
    assert cli.main([*fit, "--markdown"]) == cli.DONE
    page = capsys.readouterr().out
    assert page.startswith("**m.tflite** fits on 1 of 1 board: ") and "; ms: at most, estimated" in page
    assert cli.main([*fit, "--markdown", "--quiet"]) == cli.DONE
    assert capsys.readouterr().out == ""
    assert cli.main([*fit, "--ram-limit", "100B"]) == cli.NO
