"""Test the answers to a shell's requests for tab completion."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tflm-memopt opti", ["optimize"]),
        ("tflm-memopt optimize --board nano33", ["nano33ble"]),
        ("tflm-memopt inspect m", ["model.tflite"]),
        ("tflm-memopt explore model.tflite --plot p", ["plot.svg"]),
    ],
)
def test_words_of_a_line(line: str, expected: list[str], tmp_path: Path) -> None:
    for name in ("model.tflite", "model.txt", "plot.svg", "plot.png"):
        (tmp_path / name).touch()
    shell = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "words"),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "IFS": "\013",
    }
    subprocess.run([sys.executable, "-m", "tflm_memopt"], cwd=tmp_path, env=os.environ | shell, check=True, timeout=60)
    assert (tmp_path / "words").read_text().replace("\013", " ").split() == expected
