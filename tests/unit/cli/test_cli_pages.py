"""Test the rest of the command line's output: pages, pictures, boards and --quiet."""

from __future__ import annotations

import argparse
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from models import Net
from rich.console import Console

from tflm_memopt.cli import main as cli
from tflm_memopt.cli import progress
from tflm_memopt.targets.boards import board, boards


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    net = Net(1)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2), out=(0.4, -5))
    (tmp_path / "small.tflite").write_bytes(net.model(net.conv2d(net.depthwise_conv2d(x, out=(0.3, -7)), 4)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


Output = pytest.CaptureFixture[str]


def test_quiet_says_nothing_and_writes_the_files(folder: Path, capsys: Output) -> None:
    assert cli.main(["optimize", "small.tflite", "-o", "out", "-q"]) == cli.DONE
    assert capsys.readouterr() == ("", "")
    assert (folder / "out/small.tflite").exists()


def test_quiet_still_says_errors(folder: Path, capsys: Output) -> None:
    assert cli.main(["optimize", "small.tflite", "--quiet", "--ram-limit", "10B"]) == cli.NO
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: needs ")
    assert err.endswith("  code does_not_fit\n")


def test_optimize_draws_memory_before_and_after(folder: Path) -> None:
    assert cli.main(["optimize", "small.tflite", "-o", "out", "-q", "--plot", "map.svg"]) == cli.DONE
    texts = [element.text or "" for element in ET.parse("map.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith("TFLM today: ") for text in texts)
    assert any(text.startswith("Rewritten: ") for text in texts)


def test_optimize_shows_its_point_on_the_frontier(folder: Path) -> None:
    assert cli.main(["optimize", "small.tflite", "-o", "out", "-q", "--frontier", "--without", "tiles"]) == cli.DONE
    page = (folder / "out/small.report.html").read_text()
    total = json.loads((folder / "out/small.report.json").read_text())["arena"]["total"]
    assert f"chosen: {total:,} B" in page
    assert 'id="frontier"' in page


def test_inspect_writes_a_page(folder: Path, capsys: Output) -> None:
    assert cli.main(["inspect", "small.tflite", "-o", "pages"]) == cli.DONE
    assert "pages/small.report.html" in capsys.readouterr().out
    assert "Memory map over time" in (folder / "pages/small.report.html").read_text()


def test_fit_lists_all_boards(folder: Path, capsys: Output) -> None:
    assert cli.main(["fit", "small.tflite", "--all"]) == cli.DONE
    out = capsys.readouterr().out
    assert all(name in out for name in boards())


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


@pytest.mark.parametrize("command", ["fit", "optimize"])
def test_an_unknown_board(folder: Path, capsys: Output, command: str) -> None:
    assert cli.main([command, "small.tflite", "--board", "nano34"]) == cli.BAD
    err = capsys.readouterr().err
    assert "unknown board 'nano34'" in err
    assert "nano33ble" in err


def test_a_board_sets_the_limit_and_a_named_limit_goes_first(folder: Path) -> None:
    assert cli.main(["optimize", "small.tflite", "-o", "a", "-q", "--board", "uno_r4"]) == cli.DONE
    assert json.loads((folder / "a/small.report.json").read_text())["ram_limit"] == board("uno_r4").arena_limit
    assert (
        cli.main(["optimize", "small.tflite", "-o", "b", "-q", "--board", "uno_r4", "--ram-limit", "9kB"]) == cli.DONE
    )
    assert json.loads((folder / "b/small.report.json").read_text())["ram_limit"] == 9000


def test_fit_shows_the_nearest_boards(folder: Path, capsys: Output) -> None:
    assert cli.main(["fit", "small.tflite"]) == cli.DONE
    page = capsys.readouterr().out
    assert cli.main(["fit", "small.tflite", "--json"]) == cli.DONE
    rows = {row["board"]["id"]: row["rewritten"] for row in json.loads(capsys.readouterr().out)["boards"]}
    assert f"rewritten   fits on {sum(row['fits'] for row in rows.values())} of {len(rows)} boards" in page
    shown = [name for name in rows if f" {name} " in page]
    assert len(shown) == 10
    assert min(row["ram_left"] for row in rows.values()) == min(rows[name]["ram_left"] for name in shown)


def test_what_a_board_lacks(folder: Path, capsys: Output) -> None:
    heavy = Net(3)
    data = heavy.model(heavy.fully_connected(heavy.fully_connected(heavy.input((1, 30_000)), 3), 4))
    Path("heavy.tflite").write_bytes(data)
    assert cli.main(["fit", "heavy.tflite", "--board", "bluepill", "--json"]) == cli.NO
    row = json.loads(capsys.readouterr().out)["boards"][0]["rewritten"]
    assert cli.main(["fit", "heavy.tflite", "--board", "bluepill"]) == cli.NO
    words = " ".join(capsys.readouterr().out.split())
    assert row["ram_left"] < 0 and row["flash_left"] < 0
    assert f"lacks {-row['ram_left']:,} B" in words
    assert row["ram_needed"] + row["ram_left"] == board("bluepill").arena_limit


def test_progress_says_what_is_done_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(progress, "console_of", lambda _: Console(file=stream, force_terminal=True, width=100))
    args = argparse.Namespace(json=False, quiet=False)
    with progress.busy(args, "optimizing x.tflite") as report:
        report("planning points", 1, 4)
    assert "optimizing x.tflite: planning points" in stream.getvalue()


def test_explore_says_what_it_does_where_nobody_sees_a_spinner(folder: Path, capsys: Output) -> None:
    for flags, says in (((), True), (("--quiet",), False), (("--json",), False)):
        assert cli.main(["explore", "small.tflite", "--without", "tiles", *flags]) == cli.DONE
        lines = capsys.readouterr().err.splitlines()
        assert bool(lines) == says
        assert all(line.startswith("exploring small.tflite: planning points, 0 of ") for line in lines)


def test_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    now = iter((1.0, 2.0, 11.5, 11.5, 12.0))
    monkeypatch.setattr(progress, "time", argparse.Namespace(monotonic=lambda: next(now)))
    with progress.busy(argparse.Namespace(json=False, quiet=False), "exploring x", lines=True) as report:
        for done in range(3):
            report("planning points", done, 3)
        report("drawing", 0, 0)
    said = ["planning points, 0 of 3", "planning points, 2 of 3", "drawing"]
    assert capsys.readouterr().err.splitlines() == [f"exploring x: {line}" for line in said]


@pytest.mark.parametrize("flag", ["json", "quiet"])
def test_no_progress_for_programs(monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(progress, "console_of", lambda _: Console(file=stream, force_terminal=True))
    with progress.busy(argparse.Namespace(**{"json": False, "quiet": False, flag: True}), "x") as report:
        report("y", 0, 0)
    assert stream.getvalue() == ""


def test_every_command_has_examples(capsys: Output) -> None:
    for command in ("inspect", "optimize", "explore", "fit", "verify"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert f"tflm-memopt {command} " in capsys.readouterr().out.partition("examples:")[2]
