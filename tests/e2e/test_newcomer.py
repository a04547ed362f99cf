"""A newcomer follows docs/start.md word for word, in an environment of his own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler, which the page asks for")
def test_the_five_minute_start(tmp_path: Path) -> None:
    page = (ROOT / "docs/start.md").read_text(encoding="utf-8")
    commands = "\n".join(re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    assert commands.count("tflm-memopt ") == 4
    checkout = tmp_path / "checkout"
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, tracked.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "TMO_CODES")}
    script = f"set -eu\n{commands}"
    done = subprocess.run(["sh", "-c", script], cwd=checkout, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bit-exact" in done.stdout
    assert "under the official TFLM interpreter" in done.stdout
    assert "Arduino Nano 33 BLE" in done.stdout
    assert (checkout / "out/shapes_int8.report.html").exists()
