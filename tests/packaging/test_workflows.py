"""GitHub's workflows and cibuildwheel's settings follow their schemas, and the files that they name exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

if sys.version_info >= (3, 11):
    pass
else:
    pass

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.slow
def test_github_takes_the_workflows(tmp_path: Path) -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*check, *WORKFLOWS], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and len(WORKFLOWS) == 2, done.stdout
    (tmp_path / "bad.yml").write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:"))
    assert subprocess.run([*check, tmp_path / "bad.yml"], capture_output=True, check=False).returncode == 1


# --- cibuildwheel
