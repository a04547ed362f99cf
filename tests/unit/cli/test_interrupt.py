"""Ctrl-C leaves no traceback, no hidden files and no partial files."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from unit.command import REWRITTEN

from tflm_memopt.cli import main as cli
from tflm_memopt.errors import UsageError
from tflm_memopt.files import write_files

START = "import sys; from tflm_memopt.__main__ import run; print('started', flush=True); sys.exit(run())"


@pytest.mark.parametrize("seconds", [0.01, pytest.param(1.2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("line", ["optimize small.tflite -qo out --emit cpp,c", "verify small.tflite small.tflite -q"])
def test_interrupted_in_a_terminal(folder: Path, line: str, seconds: float) -> None:
    """The test sends the signal to all processes of the process group, as a terminal does for Ctrl+C."""
    (folder / "tmp").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", START, *line.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "TMPDIR": str(folder / "tmp")},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=600)
    assert said == ""
    assert process.returncode in (0, cli.INTERRUPTED, -signal.SIGINT)
    assert [str(p) for p in (folder / "tmp").rglob("*")] == []
    complete = {f"small{suffix}" for suffix in (*REWRITTEN, ".c", ".h")}
    assert {path.name for path in (folder / "out").glob("*")} in (set(), complete)


def test_files_are_replaced_before_the_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Background processes ignore SIGINT.
    replace = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        moved = replace(self, target)
        if target.name == "a":
            os.kill(os.getpid(), signal.SIGINT)
        return moved

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_files({tmp_path / name: b"new" for name in "abc"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*taken: .*\n  try: choose another folder"):
        write_files({tmp_path / "taken": b"data"})
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_file_that_cannot_be_replaced_leaves_all_files_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows does not replace a file that another program has opened."""
    (tmp_path / "a").write_bytes(b"old")
    replace = Path.replace

    def refuse(path: Path, target: Path) -> Path:
        if target.name == "c":
            raise PermissionError(13, "Permission denied")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(UsageError, match=r"cannot write .*c: Permission denied"):
        write_files({tmp_path / name: b"new" for name in "abc"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}
