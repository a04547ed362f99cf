"""Invalid input to the command line gives an exit code and a few lines, and leaves no files."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from models import Net
from unit.command import MAIN, Run, assert_refused, files, small, unsupported

from tflm_memopt.cli import inspection
from tflm_memopt.cli import main as cli


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
    "unknown flag": (("optimize", "small.tflite", "--faster"), "--faster"),
    "effort without end": (("optimize", "small.tflite", "--effort", "1e308"), "a number up to 1000"),
    "time without clock": (("optimize", "small.tflite", "--time-limit", "50ms"), "--clock 64MHz"),
    "recompute without recompute": (
        ("optimize", "small.tflite", "--max-macs", "1.2", "--without", "stripes,recompute"),
        "without recompute",
    ),
    "streamed input on two cores": (
        ("optimize", "small.tflite", "--cores", "2", "--input", "stream"),
        "stream, or use",
    ),
    "another chip": (
        ("optimize", "small.tflite", "--emit", "esp-idf", "--board", "pico"),
        "an ESP32, and pico has none",
    ),
    "missing Keras model": (("optimize", "missing.keras"), "cannot read missing.keras"),
    "no kind of files": (("optimize", "small.tflite", "--emit", ""), "name one of tflite, cpp"),
    "module of builtin operators": (("optimize", "small.tflite", "--ops", "builtin", "--emit", "c"), "with --emit c"),
    "instructions of builtin operators": (
        ("explore", "small.tflite", "--ops", "builtin", "--cost", "instructions"),
        "is by MACs",
    ),
    "missing plan": (("optimize", "small.tflite", "--plan", "nothing.json"), "cannot read nothing.json"),
    "plan that is no JSON": (("optimize", "small.tflite", "--plan", "small.tflite"), "not a JSON document"),
    "plan and limit": (
        ("optimize", "small.tflite", "--plan", "empty.json", "--max-macs", "1"),
        "--plan cannot be combined",
    ),
    "missing file": (("optimize", "nothing.tflite"), "cannot read nothing.tflite: No such file"),
    "empty path": (("optimize", ""), "the path is empty"),
    "empty folder name": (("optimize", "small.tflite", "-o", ""), "the path is empty"),
    "out is a model": (("optimize", "small.tflite", "-o", "small.out.tflite"), "give a folder"),
    "npy that is none": (
        ("verify", "small.tflite", "small.tflite", "--inputs", "small.tflite"),
        "this is a .tflite model; a .npy file is needed",
    ),
}


@pytest.mark.parametrize(("arguments", "says"), REFUSED.values(), ids=REFUSED)
def test_bad_usage(folder: Path, run: Run, arguments: Sequence[str], says: str) -> None:
    (folder / "other.tflite").write_bytes(unsupported())
    (folder / "empty.json").write_text("{}")
    before = files(folder)
    answer = run(*arguments)
    assert_refused(answer, says)
    assert files(folder) == before
    assert sorted(p.name for p in folder.iterdir()) == ["empty.json", "other.tflite", "small.tflite"]


def test_a_defect_is_never_the_answer_no(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "inspected", lambda *_, **__: 1 // 0)
    answer = run("inspect", "small.tflite", "--json")
    assert answer.code == cli.BAD
    assert answer.json["error"]["code"] == "internal_error"
    assert "ZeroDivisionError" in answer.err
    assert "please report this error" in answer.err


def test_names_from_files_cannot_forge_lines(folder: Path, run: Run) -> None:
    net = Net()
    x = net.input((1, 4, 4, 2), name="in\nbit-exact\x1b[2J")
    (folder / "odd.tflite").write_bytes(net.model(net.unary("ABS", x)))
    (folder / "odd2.tflite").write_bytes(small())
    answer = run("verify", "odd.tflite", "odd2.tflite")
    assert_refused(answer, "in\\nbit-exact\\x1b[2J")
    assert "\x1b" not in run("inspect", "odd.tflite").out


@pytest.mark.slow
def test_a_full_disk_leaves_nothing(folder: Path) -> None:
    resource = pytest.importorskip("resource", reason="file size limits are POSIX")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))

    done = subprocess.run(
        [*MAIN, "optimize", "small.tflite", "-o", "new/out"],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == cli.BAD, done.stderr
    assert "cannot write new/out/small_model.cpp: File too large" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["small.tflite"]


@pytest.mark.skipif(sys.platform == "win32", reason="the shell of POSIX closes the streams")
def test_closed_streams_change_no_exit_code(folder: Path) -> None:
    (folder / "none.tflite").write_bytes(b"")
    for model, code in (("small", 0), ("none", 2)):
        command = f"{shlex.join(MAIN)} inspect {model}.tflite --json >&- 2>&-"
        assert subprocess.run(command, shell=True, cwd=folder, check=False).returncode == code


def test_old_files_stay_when_new_ones_cannot_be_written(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("optimize", "small.tflite", "-o", "out")
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    assert_refused(run("optimize", "small.tflite", "-o", "out", "--op-per", "group"), "No space left on device")
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before


def test_no_limit_can_be_kept_by_what_is_not_known(folder: Path, run: Run) -> None:
    net = Net()
    x = net.conv2d(net.input((1, 8, 8, 3)), 4, kernel=(3, 3))
    y = net.op("CUSTOM", [x], [net.tensor((1, 8, 8, 4))], custom_code="MINE")
    (folder / "mine.tflite").write_bytes(net.model(net.conv2d(y, 4)))
    before = files(folder)
    answer = run("optimize", "mine.tflite", "--ram-limit", "20kB")
    assert_refused(answer, "the memory of MINE is unknown")
    assert "code memory_unknown" in answer.err
    assert files(folder) == before
    known = run("fit", "mine.tflite", "--board", "nano33ble")
    assert known.code == cli.NO
    assert "not known" in known.out
    assert "at most" in known.out
