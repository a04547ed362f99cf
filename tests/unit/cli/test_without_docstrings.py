"""With PYTHONOPTIMIZE=2, which drops docstrings and asserts, the command behaves the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from unit.command import Run, unsupported

from tflm_memopt.ops.constraints import base
from tflm_memopt.ops.constraints.limits import executable
from tflm_memopt.ops.opset import OPSET

COMMANDS = """
import sys
from tflm_memopt.cli.main import main
for line in sys.argv[1:]:
    code = main(line.split())
    sys.exit(code) if code else None
"""


@pytest.mark.slow
def test_commands_without_docstrings(folder: Path, run: Run) -> None:
    (folder / "refused.tflite").write_bytes(unsupported())
    lines = [
        "inspect refused.tflite --json", "optimize small.tflite -o out --emit cpp,c,platformio -q",
        "verify small.tflite out/small.tflite --runs 1 -q", "explore small.tflite --effort low -q",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *lines], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONOPTIMIZE": "2"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == run("inspect", "refused.tflite", "--json").json
    assert (folder / "out/small.tflite").is_file()


def test_messages_are_read_from_the_source_where_docstrings_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    constraints = {constraint for row in OPSET.values() for constraint in row.constraints} | {executable}
    for constraint in constraints:
        said = base.message(constraint)
        assert said
        monkeypatch.setattr(constraint, "__doc__", None)
        assert base.message(constraint) == said
