"""GitHub's workflows and cibuildwheel's settings follow their schemas, and the files that they name exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_names_exists(path: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    of_all = jobs(path.stem)
    for job in of_all.values():
        needs = job.get("needs", [])
        assert {needs} if isinstance(needs, str) else set(needs) <= set(of_all)
        for command in commands(job):
            for name in re.findall(r"(?:^|\s)((?:scripts|examples|\.ci)/\S+)", command):
                assert (ROOT / name).is_file(), name
            assert set(re.findall(r"^make (\w+)", command)) <= targets
        assert "timeout-minutes" in job
        assert all("@" in step["uses"] or step["uses"] == "./" for step in job["steps"] if "uses" in step)


# --- cibuildwheel


def test_cibuildwheel_takes_its_settings() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    schema = json.loads(resources.files("cibuildwheel").joinpath("resources/cibuildwheel.schema.json").read_bytes())
    jsonschema.validate(settings, schema)
    for line in settings["test-command"]:
        for name in re.findall(r"\{project\}/(\S+)", line):
            assert (ROOT / name).is_file()
