"""GitHub's workflows and cibuildwheel's settings follow their schemas, and the files that they name exist."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT

if sys.version_info >= (3, 11):
    pass
else:
    pass

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))

Job = dict[str, Any]


def jobs(name: str) -> dict[str, Job]:
    return dict(yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())["jobs"])


def commands(job: Job) -> Iterator[str]:
    return (step["run"] for step in job["steps"] if "run" in step)


@pytest.mark.slow
def test_github_takes_the_workflows(tmp_path: Path) -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*check, *WORKFLOWS], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and len(WORKFLOWS) == 2, done.stdout
    (tmp_path / "bad.yml").write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:"))
    assert subprocess.run([*check, tmp_path / "bad.yml"], capture_output=True, check=False).returncode == 1


# --- cibuildwheel
