"""Test the rest of the command line's output: pages, pictures, boards and --quiet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT
from models import Net

from tflm_memopt.cli import main as cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    net = Net(1)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2), out=(0.4, -5))
    (tmp_path / "small.tflite").write_bytes(net.model(net.conv2d(net.depthwise_conv2d(x, out=(0.3, -7)), 4)))
    (tmp_path / "example.tflite").write_bytes((ROOT / "examples/networks/textures_resnet8_int8.tflite").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


Output = pytest.CaptureFixture[str]


def test_fit_answers_for_the_board_that_is_asked(folder: Path, capsys: Output) -> None:
    assert cli.main(["fit", "small.tflite", "--board", "nano33ble", "--json"]) == cli.DONE
    answer = json.loads(capsys.readouterr().out)
    (row,) = answer["boards"]
    assert row["board"]["id"] == "nano33ble"
    assert row["rewritten"]["fits"] is True
    assert row["board"]["sources"]["ram"].startswith("https://")
    assert answer["arena"]["total"] < answer["original_arena"]["total"]


def test_fit_says_no(folder: Path, capsys: Output) -> None:
    net = Net(2)
    wide = net.conv2d(net.input((1, 96, 96, 4)), 4, kernel=(3, 3))
    (folder / "wide.tflite").write_bytes(net.model(wide))
    assert cli.main(["fit", "wide.tflite", "--board", "nano33ble", "--board", "microbit_v1", "--json"]) == cli.NO
    rows = json.loads(capsys.readouterr().out)["boards"]
    assert [row["rewritten"]["fits"] for row in rows] == [True, False]
