"""The command line is a contract: flags, exit codes, JSON keys, files, and what bad input gets."""

from __future__ import annotations

import argparse
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net

import tflm_memopt
from tflm_memopt import cli
from tflm_memopt.api import NOTHING_SUPPORTED
from tflm_memopt.errors import DoesNotFit

MAIN = [sys.executable, "-c", "import sys; from tflm_memopt.cli import main; sys.exit(main())"]
"""What the installed command does, in a process of its own."""

SUFFIXES = (".tflite", ".plan.json", ".report.json", ".report.html", "_model.h", "_model.cpp", "_ops.h")
ARENA = {"abi", "head", "tail", "total", "min"}


def small(seed: int = 1) -> bytes:
    """A model with something to gain, converted in a moment."""
    net = Net(seed)
    x = net.input((1, 24, 24, 3))
    x = net.conv2d(x, 8, kernel=(3, 3), stride=(2, 2), activation="RELU", out=(0.4, -5))
    x = net.depthwise_conv2d(x, activation="RELU6", out=(0.3, -7))
    return net.model(net.conv2d(x, 4, out=(0.5, 3)))


def partly_dead() -> bytes:
    """Nobody reads three of the eight channels between its convolutions."""
    net = Net(2)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3))
    y = net.conv2d(x, 4)
    filter_ = net.tree.buffers[net.graph.tensors[net.graph.operators[-1].inputs[1]].buffer]
    filter_.data = np.where(np.arange(32) % 8 < 5, filter_.data, 0).astype(np.uint8)
    return net.model(y)


def unsupported() -> bytes:
    """Nothing of this model runs row by row: float, and an operator that has no row kernel."""
    net = Net()
    x = net.input((1, 4, 4, 2), None, dtype="FLOAT32")
    return net.model(net.unary("RELU", net.unary("ABS", x, dtype="FLOAT32", out=None), dtype="FLOAT32", out=None))


def float_io() -> bytes:
    net = Net(5)
    q = net.unary("QUANTIZE", net.input((1, 24, 24, 3), None, dtype="FLOAT32"))
    q = net.conv2d(net.conv2d(q, 8, kernel=(3, 3)), 4)
    return net.model(net.unary("DEQUANTIZE", q, dtype="FLOAT32", out=None))


@dataclass(frozen=True)
class Answer:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> Answer:
        code = cli.main([str(a) for a in arguments])
        return Answer(code, *capsys.readouterr())

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a model in it."""
    (tmp_path / "small.tflite").write_bytes(small())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# --- optimize


def test_optimize_writes_its_files_and_prints_the_report(folder: Path, run: Run) -> None:
    answer = run("optimize", "small.tflite", "-o", "out", "--json")
    assert (answer.code, answer.err) == (cli.DONE, "")
    assert files(folder / "out") == {f"small{suffix}" for suffix in SUFFIXES}
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
    assert {"ops", "rings", "bytes"} <= set(report["blocks"][0])
    assert report["flash"]["original"] == (folder / "small.tflite").stat().st_size
    assert report["flash"]["rewritten"] == (folder / "out/small.tflite").stat().st_size
    assert report["kept_builtin"] == []
    assert report["seconds"] > 0


def test_the_plan_is_the_one_of_the_report(folder: Path, run: Run) -> None:
    report = run("optimize", "small.tflite", "-o", "out", "--json").json
    plan = json.loads((folder / "out/small.plan.json").read_text())
    assert plan["lower_bound"] == report["lower_bound_head"]
    assert sum(step["type"] == "block" for step in plan["steps"]) == len(report["blocks"])
    assert max(b["offset"] + b["nbytes"] for b in plan["buffers"]) <= report["arena"]["head"]


def test_files_go_to_name_memopt_by_default(folder: Path, run: Run) -> None:
    assert run("optimize", "small.tflite").code == cli.DONE
    assert files(folder / "small_memopt") == {f"small{suffix}" for suffix in SUFFIXES}


def test_optimize_again_replaces_its_files(folder: Path, run: Run) -> None:
    run("optimize", "small.tflite", "-o", "out", "--op-per", "block")
    assert run("optimize", "small.tflite", "-o", "out", "--json").json["op_per"] == "region"
    assert json.loads((folder / "out/small.report.json").read_text())["op_per"] == "region"
    assert len(files(folder / "out")) == len(SUFFIXES)


def test_what_people_read(folder: Path, run: Run) -> None:
    report = run("optimize", "small.tflite", "-o", "a", "--json").json
    said = run("optimize", "small.tflite", "-o", "b").out
    assert f"{report['original_arena']['total']:,} B -> {report['arena']['total']:,} B" in said.splitlines()[1]
    assert "ilp32, input in the arena, TFLM reference kernels" in said.splitlines()[1]
    assert "no recompute" in said
    assert "Written to b" in said
    assert all(f"small{suffix}" in said for suffix in SUFFIXES)
    assert not any(line.endswith(" ") for line in said.splitlines())


def test_flags_reach_the_conversion(folder: Path, run: Run) -> None:
    (folder / "float.tflite").write_bytes(float_io())
    wide = run("optimize", "float.tflite", "--abi", "lp64", "--op-per", "block", "--json").json
    assert wide["arena"]["abi"] == "lp64"
    assert wide["op_per"] == "block"
    assert {k["operator"] for k in wide["kept_builtin"]} == {"QUANTIZE", "DEQUANTIZE"}
    narrow = run("optimize", "float.tflite", "--int8-io", "--input", "arena", "--json").json
    assert narrow["kept_builtin"] == []
    assert [(i["side"], i["before"]) for i in narrow["interface"]] == [("input", "FLOAT32"), ("output", "FLOAT32")]
    assert all("INT8 scale" in i["after"] and "zero point" in i["after"] for i in narrow["interface"])


def test_int8_io_of_a_model_that_has_nothing_to_convert_says_why(folder: Path, run: Run) -> None:
    net = Net()
    x = net.unary("QUANTIZE", net.input((1, 4, 4, 2), None, dtype="FLOAT32"))
    y = net.op("FLOOR_DIV", [x, x], [net.tensor((1, 4, 4, 2))], schema.FloorDivOptionsT())
    (folder / "gate.tflite").write_bytes(net.model(net.unary("DEQUANTIZE", y, dtype="FLOAT32", out=None)))
    kept = run("optimize", "gate.tflite", "--int8-io", "--json").json["interface_kept"]
    assert kept == [f"{side}: {NOTHING_SUPPORTED}" for side in ("input 'input0'", "output 't3'")]
    assert "--int8-io leaves\n" in run("optimize", "gate.tflite", "--int8-io").out
    assert "none is FLOAT32 or UINT8" in run("optimize", "small.tflite", "--int8-io").out


def test_dead_channels_are_folded_unless_told_otherwise(folder: Path, run: Run) -> None:
    (folder / "part.tflite").write_bytes(partly_dead())
    folding = run("optimize", "part.tflite", "-o", "a", "--json").json
    plain = run("optimize", "part.tflite", "-o", "b", "--json", "--no-fold").json
    assert (folding["dead_channels"], plain["dead_channels"]) == (3, 0)
    assert folding["overhead"] < plain["overhead"] == 1.0
    for rewritten in ("a", "b"):
        assert run("verify", "part.tflite", f"{rewritten}/part.tflite", "--json").json["bit_exact"]
    inspected = run("inspect", "part.tflite", "--json").json
    assert (inspected["channels"], inspected["dead_channels"]) == (12, 3)
    assert [op["dead_channels"] for op in inspected["operators"]] == [3, 0]


def test_a_model_with_nothing_to_gain_is_written_unchanged(folder: Path, run: Run) -> None:
    (folder / "plain.tflite").write_bytes(unsupported())
    answer = run("optimize", "plain.tflite", "-o", "out", "--json")
    assert answer.code == cli.DONE
    assert answer.json["changed"] is False
    assert answer.json["why_unchanged"]
    assert (folder / "out/plain.tflite").read_bytes() == unsupported()
    assert files(folder / "out") == {f"plain{suffix}" for suffix in SUFFIXES}
    assert [k["operator"] for k in answer.json["kept_builtin"]] == ["ABS", "RELU"]
    assert all(k["reason"] and k["hint"] for k in answer.json["kept_builtin"])


def test_the_model_itself_is_never_overwritten(folder: Path, run: Run) -> None:
    (folder / "link").symlink_to(folder)
    for place in (".", folder, "link"):
        answer = run("optimize", "small.tflite", "-o", place)
        assert answer.code == cli.BAD
        assert "would be overwritten" in answer.err
    assert files(folder) == {"small.tflite"}
    assert (folder / "small.tflite").read_bytes() == small()


# --- optimize, a folder


@pytest.fixture
def several(folder: Path) -> Path:
    """A folder with two good models, one that stays as it is, one that is none, and a file that is not looked at."""
    (folder / "in").mkdir()
    for name, data in {
        "a.tflite": small(), "b.tflite": b"no model", "c.tflite": unsupported(), "d.TFLITE": small(2), "e.txt": b"",
    }.items():  # fmt: skip
        (folder / "in" / name).write_bytes(data)
    return folder / "in"


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
    assert entries["b.tflite"]["error"]["code"] == "no_tflite"
    assert entries["d.TFLITE"]["error"] is None
    assert files(several.parent / "out") == {f"{name}{suffix}" for name in "acd" for suffix in SUFFIXES}
    single = run("optimize", "in/a.tflite", "-o", "one", "--json").json
    assert {**entries["a.tflite"]["report"], "seconds": 0} == {**single, "seconds": 0}
    said = run("optimize", "in").out  # in_memopt
    assert said.startswith("in: 2 rewritten, 1 unchanged, 1 failed\n")
    assert "failed: no_tflite" in said
    assert "unchanged, no operator" in said
    assert (several.parent / "in_memopt/a.tflite").exists()


def test_a_defect_ends_none_of_the_others_either(several: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = tflm_memopt.optimize

    def broken(data: bytes, **settings: Any) -> Any:
        if settings["name"] == "a.tflite":
            raise IndexError("list index out of range")
        return done(data, **settings)

    monkeypatch.setattr(tflm_memopt, "optimize", broken)
    answer = run("optimize", "in", "--json")
    assert answer.code == cli.BAD
    assert [e["error"] and e["error"]["code"] for e in answer.json["models"]] == ["defect", "no_tflite", None, None]


def test_a_folder_of_models_that_are_too_large_or_named_alike(several: Path, run: Run) -> None:
    (several / "b.tflite").unlink()
    answer = run("optimize", "in", "-o", "out", "--ram-limit", "600", "--json")
    assert answer.code == cli.NO
    codes = ["does_not_fit", "original_too_large", "does_not_fit"]
    assert [e["error"]["code"] for e in answer.json["models"]] == codes
    (several / "a.TFLITE").write_bytes(small())
    answer = run("optimize", "in", "-o", "out", "--json")
    assert answer.code == cli.BAD
    assert "out/a.tflite was written for another model of this name (in/a.tflite)" in answer.err
    assert answer.json["failed"] == 1


# --- inspect and verify


def test_inspect(folder: Path, run: Run) -> None:
    (folder / "float.tflite").write_bytes(float_io())
    answer = run("inspect", "float.tflite", "--json")
    assert (answer.code, answer.err) == (cli.DONE, "")
    result = answer.json
    assert [op["operator"] for op in result["operators"]] == ["QUANTIZE", "CONV_2D", "CONV_2D", "DEQUANTIZE"]
    assert [op["supported"] for op in result["operators"]] == [False, True, True, False]
    assert all(op["reason"] and op["hint"] for op in result["operators"] if not op["supported"])
    assert set(result["arena"]) >= ARENA
    assert (result["channels"], result["dead_channels"], result["dead_macs"]) == (12, 0, 0)
    said = run("inspect", "float.tflite").out
    assert "2 of 4 run row by row" in said
    assert "ilp32, input in the arena, TFLM reference kernels" in said
    assert "peak" in said
    assert "--int8-io" in said  # the hint
    assert files(folder) == {"small.tflite", "float.tflite"}


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


# --- what bad input gets


def damaged(how: str) -> bytes:
    model = bytearray(small())
    if how == "no flatbuffer":
        return b"\x00" * 200
    if how == "wrong identifier":
        model[4:8] = b"TFL9"
    if how == "empty":
        return b""
    return bytes(model[: len(model) // 2]) if how == "truncated" else bytes(model)


def index_out_of_range() -> bytes:
    net = Net()
    x = net.input((1, 8, 8, 3))
    y = net.tensor((1, 8, 8, 3))
    return net.model(net.op("RELU", [99 if x == 0 else x], [y]))


def shape_against_buffer() -> bytes:
    net = Net()
    x = net.input((1, 8, 8, 3))
    net.conv2d(x, 4, kernel=(3, 3))
    net.graph.tensors[1].shape = [4, 5, 5, 3]
    return net.model(len(net.graph.tensors) - 1)


BAD_MODELS: dict[str, tuple[bytes, str]] = {
    **{how: (damaged(how), "") for how in ("empty", "no flatbuffer", "wrong identifier", "truncated")},
    "index out of range": (index_out_of_range(), "RELU"),
    "shape against buffer": (shape_against_buffer(), "tensor 1"),
}


@pytest.mark.parametrize(("model", "where"), BAD_MODELS.values(), ids=BAD_MODELS)
@pytest.mark.parametrize("command", ["inspect", "optimize", "verify"])
def test_a_file_that_is_no_model(folder: Path, run: Run, command: str, model: bytes, where: str) -> None:
    (folder / "bad.tflite").write_bytes(model)
    before = files(folder)
    answer = run(command, *(["small.tflite"] if command == "verify" else []), "bad.tflite", "--json")
    assert_refused(answer, "(bad.tflite)")
    assert where in answer.err
    assert "\n  try: " in answer.err
    assert files(folder) == before
    assert not (folder / "bad_memopt").exists()


REFUSED: dict[str, tuple[Sequence[str], str]] = {
    "no command": ((), "required"),
    "unknown command": (("shrink", "small.tflite"), "shrink"),
    "unknown flag": (("optimize", "small.tflite", "--faster"), "--faster"),
    "no model": (("optimize",), "MODEL"),
    "unknown abi": (("optimize", "small.tflite", "--abi", "ilp16"), "ilp16"),
    "unknown input mode": (("optimize", "small.tflite", "--input", "nowhere"), "nowhere"),
    "no factor": (("optimize", "small.tflite", "--max-macs", "fast"), "'fast'"),
    "factor zero": (("optimize", "small.tflite", "--max-macs", "0"), "'0'"),
    "factor too small": (("optimize", "small.tflite", "--max-macs", "0.5"), "F = 0.5"),
    "no number": (("optimize", "small.tflite", "--max-instructions", "3.2MB"), "'3.2MB'"),
    "number zero": (("optimize", "small.tflite", "--max-instructions", "0"), "'0'"),
    "too few instructions": (("optimize", "small.tflite", "--max-instructions", "1"), "so few instructions as 1"),
    "core of another target": (
        ("optimize", "small.tflite", "--target", "cortex-m4", "--core", "rv32"),
        "--target cortex-m4",
    ),
    "no size": (("optimize", "small.tflite", "--ram-limit", "much"), "'much'"),
    "unknown switch": (("optimize", "small.tflite", "--without", "magic"), "'magic'"),
    "recompute without recompute": (
        ("optimize", "small.tflite", "--max-macs", "1.2", "--without", "strips,recompute"),
        "without recompute",
    ),
    "missing plan": (("optimize", "small.tflite", "--plan", "nothing.json"), "cannot read nothing.json"),
    "plan that is no JSON": (("optimize", "small.tflite", "--plan", "small.tflite"), "no JSON document"),
    "plan that is a list": (("optimize", "small.tflite", "--plan", "list.json"), "holds no plan"),
    "plan and limit": (("optimize", "small.tflite", "--plan", "empty.json", "--max-macs", "1"), "saved plan"),
    "plan of nothing": (("optimize", "small.tflite", "--plan", "empty.json"), "does not belong to this model"),
    "plan for nothing": (("optimize", "other.tflite", "--plan", "empty.json"), "nothing to plan"),
    "plot of no kind": (("explore", "small.tflite", "--plot", "small.gif"), "small.gif"),
    "negative runs": (("verify", "small.tflite", "small.tflite", "--runs", "-1"), "'-1'"),
    "missing file": (("optimize", "nothing.tflite"), "cannot read nothing.tflite: No such file"),
    "a folder": (("inspect", "."), "cannot read .: Is a directory"),
    "missing rewritten": (("verify", "small.tflite", "nothing.tflite"), "nothing.tflite"),
    "out is a file": (("optimize", "small.tflite", "-o", "small.tflite"), "cannot write small.tflite"),
    "out below a file": (("optimize", "small.tflite", "-o", "small.tflite/a/b"), "cannot write small.tflite/a/b"),
    "out below a device": (("optimize", "small.tflite", "-o", "/dev/null/out"), "cannot write /dev/null/out"),
    "a folder without models": (("optimize", "/dev"), "/dev has no .tflite files"),
    "one plan for a folder": (("optimize", ".", "--plan", "empty.json"), "--plan is for one model"),
    "missing npy": (("verify", "small.tflite", "small.tflite", "--inputs", "x.npy"), "x.npy"),
    "npy that is none": (("verify", "small.tflite", "small.tflite", "--inputs", "small.tflite"), "not a readable .npy"),
    "interfaces": (("verify", "small.tflite", "other.tflite"), "(small.tflite, other.tflite)"),
}


@pytest.mark.parametrize(("arguments", "says"), REFUSED.values(), ids=REFUSED)
def test_bad_usage(folder: Path, run: Run, arguments: Sequence[str], says: str) -> None:
    (folder / "other.tflite").write_bytes(unsupported())
    (folder / "empty.json").write_text("{}")
    (folder / "list.json").write_text("[]")
    before = files(folder)
    answer = run(*arguments)
    assert_refused(answer, says)
    assert files(folder) == before
    assert sorted(p.name for p in folder.iterdir()) == ["empty.json", "list.json", "other.tflite", "small.tflite"]


def test_inputs_that_do_not_fit(folder: Path, run: Run) -> None:
    np.save(folder / "mine.npy", np.zeros((1, 5, 5, 3), np.int8))
    answer = run("verify", "small.tflite", "small.tflite", "--inputs", "mine.npy")
    assert_refused(answer, "[1, 5, 5, 3]")


def assert_refused(answer: Answer, says: str) -> None:
    """One line what, at most one where, at most one what to do; on stderr alone."""
    assert answer.code == cli.BAD
    assert answer.out == ""
    first_words = [line.split(maxsplit=1)[0] for line in answer.err.splitlines()]
    assert first_words.pop() == "code"
    assert first_words in (["error:"], ["error:", "at"], ["error:", "try:"], ["error:", "at", "try:"])
    assert says in answer.err


def test_a_limit_that_nothing_fits_is_the_answer_no(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DoesNotFit("needs 31,200 B, limit is 20,480 B", where="block 2 (ops 8..14)", hint="--int8-io")

    monkeypatch.setattr(tflm_memopt, "optimize", refuse)
    answer = run("optimize", "small.tflite")
    assert answer.code == cli.NO
    assert answer.err == (
        "error: needs 31,200 B, limit is 20,480 B (small.tflite)\n  at block 2 (ops 8..14)\n  try: --int8-io\n"
    )


def test_a_defect_is_never_the_answer_no(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tflm_memopt, "inspect", lambda *_, **__: 1 // 0)
    answer = run("inspect", "small.tflite", "--json")
    assert answer.code == cli.BAD
    assert answer.out == ""
    assert "ZeroDivisionError" in answer.err
    assert "please report it" in answer.err


def test_what_the_system_refuses_is_an_error_as_any_other(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(tflm_memopt, "inspect", no_memory)
    answer = run("inspect", "small.tflite")
    assert answer.code == cli.BAD
    assert answer.err == "error: Cannot allocate memory\n  code system\n"


def test_names_from_files_cannot_forge_lines(folder: Path, run: Run) -> None:
    net = Net()
    x = net.input((1, 4, 4, 2), name="in\nbit-exact\x1b[2J")
    (folder / "odd.tflite").write_bytes(net.model(net.unary("ABS", x)))
    (folder / "odd2.tflite").write_bytes(small())
    answer = run("verify", "odd.tflite", "odd2.tflite")
    assert_refused(answer, "in\\nbit-exact\\x1b[2J")
    assert "\x1b" not in run("inspect", "odd.tflite").out


# --- all or nothing


def test_a_place_that_is_taken_leaves_nothing(folder: Path, run: Run) -> None:
    (folder / "out/small_ops.h").mkdir(parents=True)  # the last of the files cannot take its place
    answer = run("optimize", "small.tflite", "-o", "out")
    assert_refused(answer, "cannot write out/small_ops.h: Is a directory")
    assert files(folder) == {"small.tflite"}


def test_a_full_disk_leaves_nothing(folder: Path) -> None:
    resource = pytest.importorskip("resource", reason="file size limits are POSIX")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))  # enough for the model, not for its C array

    done = subprocess.run(
        [*MAIN, "optimize", "small.tflite", "-o", "new/out"],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # Python would leave the first half of it
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == cli.BAD, done.stderr
    assert "cannot write new/out/small_model.cpp: File too large" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["small.tflite"]


def test_old_files_stay_when_new_ones_cannot_be_written(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("optimize", "small.tflite", "-o", "out")
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    assert_refused(run("optimize", "small.tflite", "-o", "out", "--op-per", "block"), "No space left on device")
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before


# --- the process


def test_json_in_a_process_of_its_own(folder: Path) -> None:
    done = subprocess.run([*MAIN, "inspect", "small.tflite", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["model"] == "small.tflite"
    assert done.stderr == ""


def test_a_reader_that_closes_early(folder: Path) -> None:
    process = subprocess.Popen(
        [*MAIN, "inspect", "small.tflite"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == cli.BAD


@pytest.mark.slow
def test_output_that_the_terminal_cannot_encode(folder: Path) -> None:
    net = Net()
    x = net.input((1, 4, 4, 2), name="größe")
    (folder / "odd.tflite").write_bytes(net.model(net.conv2d(x, 4)))
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*MAIN, "inspect", "odd.tflite"], capture_output=True, check=True, env=environment)
    assert b"CONV_2D" in done.stdout
    done = subprocess.run(
        [*MAIN, "verify", "odd.tflite", "small.tflite"], capture_output=True, check=False, env=environment
    )
    assert done.returncode == cli.BAD
    assert b"gr\\xf6\\xdfe" in done.stderr


@pytest.mark.parametrize(("line", "offers"), [("ver", ["verify"]), ("optimize --op-per ", ["region", "block"])])
def test_completion(folder: Path, line: str, offers: list[str]) -> None:
    line = f"tflm-memopt {line}"
    environment = os.environ | {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(folder / "offered"),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run(MAIN, check=True, env=environment)
    assert [word.strip() for word in (folder / "offered").read_text().splitlines()] == offers


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, says in ((["--version"], f"tflm-memopt {tflm_memopt.__version__}"), (["--help"], "examples:")):
        with pytest.raises(SystemExit) as left:
            cli.main(arguments)
        assert left.value.code == cli.DONE
        assert says in capsys.readouterr().out


# --- argument types


@pytest.mark.parametrize(
    ("said", "nbytes"),
    [
        ("20480", 20480),
        ("20kB", 20000),
        ("20KB", 20000),
        ("64KiB", 65536),
        ("1.5 kB", 1500),
        ("2MiB", 2 << 20),
        ("7B", 7),
    ],
)
def test_sizes(said: str, nbytes: int) -> None:
    assert cli.size(said) == nbytes


@pytest.mark.parametrize("said", ["", "kB", "-1", "20 potatoes", "0x10", "1e3", "٣kB", "20kBB", "nan"])
def test_what_is_no_size(said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="64KiB"):
        cli.size(said)


@pytest.mark.parametrize("said", ["-1", "1.5", "", "ten", "²"])
def test_what_is_no_count(said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="whole number"):
        cli.count(said)
