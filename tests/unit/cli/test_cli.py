"""Test the flags, exit codes, JSON keys, files and errors of the command line."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from unit.command import ARENA, MAIN, REWRITTEN, SUFFIXES, Run, files, small, unsupported

from tflm_memopt.cli import main as cli


def test_optimize_writes_its_files_and_prints_the_report(folder: Path, run: Run) -> None:
    answer = run("optimize", "small.tflite", "-o", "out", "--json")
    assert (answer.code, answer.err) == (cli.DONE, "")
    assert files(folder / "out") == {f"small{suffix}" for suffix in REWRITTEN}
    report = json.loads((folder / "out/small.report.json").read_text())
    assert answer.json == report
    assert report["model"] == "small.tflite"
    assert report["changed"] is True
    assert report["input"] == "arena"
    assert report["overhead"] == 1.0
    assert report["dead_channels"] == 0
    assert set(report["macs"]) == {"original", "rewritten"}
    assert set(report["arena"]) >= ARENA
    assert set(report["original_arena"]) >= ARENA
    assert report["arena"]["total"] == report["arena"]["head"] + report["arena"]["tail"]
    assert report["arena"]["total"] < report["original_arena"]["total"]
    assert 0 < report["lower_bound_head"] <= report["arena"]["head"]
    assert {"ops", "rolling_buffers", "bytes"} <= set(report["groups"][0])
    assert report["flash"]["original"] == (folder / "small.tflite").stat().st_size
    assert report["flash"]["rewritten"] == (folder / "out/small.tflite").stat().st_size
    assert report["kept_builtin"] == []
    assert report["seconds"] > 0


def test_the_model_itself_is_never_overwritten(folder: Path, run: Run) -> None:
    (folder / "link").symlink_to(folder)
    for place in (".", folder, "link"):
        answer = run("optimize", "small.tflite", "-o", place)
        assert answer.code == cli.BAD
        assert "would be overwritten" in answer.err
    assert files(folder) == {"small.tflite"}
    assert (folder / "small.tflite").read_bytes() == small()


@pytest.fixture
def several(folder: Path) -> Path:
    (folder / "in").mkdir()
    for name, data in {
        "a.tflite": small(), "b.tflite": b"no model", "c.tflite": unsupported(), "d.TFLITE": small(2), "e.txt": b"",
    }.items():  # fmt: skip
        (folder / "in" / name).write_bytes(data)
    return folder / "in"


@pytest.mark.slow
def test_a_bad_file_in_a_folder_ends_none_of_the_others(several: Path, run: Run) -> None:
    answer = run("optimize", "in", "-o", "out", "--json")
    assert answer.code == cli.BAD
    assert answer.err.startswith("error: not a .tflite file")
    assert "(in/b.tflite)" in answer.err.splitlines()[0]
    assert {key: answer.json[key] for key in ("folder", "rewritten", "unchanged", "failed")} == {
        "folder": "in", "rewritten": 2, "unchanged": 1, "failed": 1,
    }  # fmt: skip
    entries = {entry["model"]: entry for entry in answer.json["models"]}
    assert list(entries) == ["a.tflite", "b.tflite", "c.tflite", "d.TFLITE"]
    assert entries["b.tflite"]["report"] is None
    assert entries["b.tflite"]["error"]["code"] == "not_a_model"
    assert entries["d.TFLITE"]["error"] is None
    assert files(several.parent / "out") == {
        *(f"{name}{suffix}" for name in "ad" for suffix in REWRITTEN), *(f"c{suffix}" for suffix in SUFFIXES)
    }  # fmt: skip
    single = run("optimize", "in/a.tflite", "-o", "one", "--json").json
    assert {**entries["a.tflite"]["report"], "seconds": 0} == {**single, "seconds": 0}
    said = run("optimize", "in").out
    assert said.startswith("in: 2 rewritten, 1 unchanged, 1 failed\n")
    assert "failed: not_a_model" in said
    assert "unchanged, no operator" in said
    assert (several.parent / "in_memopt/a.tflite").exists()


def test_verify_yes(folder: Path, run: Run) -> None:
    run("optimize", "small.tflite", "-o", "out")
    np.save(folder / "mine.npy", np.zeros((2, 1, 24, 24, 3), np.int8))
    rest = ("--runs", 3, "--seed", 7, "--inputs", "mine.npy")
    answer = run("verify", "small.tflite", "out/small.tflite", *rest, "--json")
    assert (answer.code, answer.err) == (cli.DONE, "")
    assert answer.json["bit_exact"] is True
    assert (answer.json["runs"], answer.json["seed"], answer.json["files"]) == (3, 7, 2)
    assert answer.json["how"] in ("tflm-wheel", "host-reference")
    if answer.json["how"] == "tflm-wheel":
        measured = answer.json["measured"]
        assert measured["abi"] == "lp64"
        assert isinstance(measured["recording"], bool)
        assert measured["rewritten"]["total"] < measured["original"]["total"]
        assert all(set(measured[m]) == {"head", "tail", "total"} for m in ("original", "rewritten"))


def test_verify_no(folder: Path, run: Run) -> None:
    (folder / "other.tflite").write_bytes(small(seed=2))
    answer = run("verify", "small.tflite", "other.tflite", "--runs", 1, "--json")
    assert answer.code == cli.NO
    assert answer.json["bit_exact"] is False
    assert {"run", "label", "output", "name", "index", "original", "rewritten"} <= set(answer.json["difference"])


PLANNING = ("tflm_memopt.plan.planner", "tflm_memopt.check.checker", "tflm_memopt.lower.rewrite", "tflm_memopt.api")
FOR_FEW = ("networkx", "ortools", "jinja2", "tensorflow", "tflite_micro", "importlib.metadata", *PLANNING)


@pytest.mark.parametrize(
    ("command", "slow"),
    [
        ("--help", ("numpy", "flatbuffers", "rich", *FOR_FEW)),
        ("optimize --help", ("numpy", "flatbuffers", "rich", *FOR_FEW)),
        ("inspect small.tflite", FOR_FEW),
    ],
)
def test_imports_no_more_than_a_command_needs(folder: Path, command: str, slow: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tflm_memopt", *command.split()], capture_output=True, check=True
    )
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.decode().splitlines() if "|" in line}
    assert "tflm_memopt.cli.main" in imported
    assert not imported.intersection(slow)


@pytest.mark.slow
def test_a_reader_that_closes_early(folder: Path) -> None:
    process = subprocess.Popen(
        [*MAIN, "inspect", "small.tflite"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == cli.DONE


def test_a_repeated_option_adds_files() -> None:
    (commands,) = (action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction))
    tried = 0
    for command in commands.choices.values():
        for option in (action for action in command._actions if action.option_strings and action.nargs == "+"):
            flag = option.option_strings[-1]
            words = ["one", *["two"] * (command.prog.endswith("verify")), flag, "a.npy", "b.npy", flag, "c.npy"]
            given = getattr(command.parse_args(words), option.dest)
            assert [path.name for path in given] == ["a.npy", "b.npy", "c.npy"], option.option_strings
            assert option.default == []
            tried += 1
    assert tried == 4
