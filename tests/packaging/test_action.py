"""Test the GitHub Action: its description, and its last step as a runner runs it, on real models."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT
from unit.command import small

ACTION = ROOT / "action.yml"


def action() -> dict[str, Any]:
    return dict(yaml.safe_load(ACTION.read_text()))


def by_schema(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    """Validate against one of GitHub's schemas, which check-jsonschema includes."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_github_takes_the_description(tmp_path: Path) -> None:
    done = by_schema("github-actions", ACTION)
    assert done.returncode == 0, done.stdout
    (tmp_path / "action.yml").write_text(ACTION.read_text().replace("using: composite", "using: nothing"))
    assert by_schema("github-actions", tmp_path / "action.yml").returncode == 1
    workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))
    assert len(workflows) == 2 and by_schema("github-workflows", *workflows).returncode == 0


@dataclass(frozen=True)
class Step:
    """Result of the last step."""

    code: int
    said: str
    summary: str
    outputs: dict[str, str]


def step(folder: Path, **inputs: str) -> Step:
    """Run the step in `folder` with these inputs and defaults for the others."""
    described = action()
    last = described["runs"]["steps"][-1]
    values = {
        f"inputs.{name}": inputs.get(name.replace("-", "_"), i.get("default"))
        for name, i in described["inputs"].items()
    }
    values |= {"runner.temp": str(folder), "steps.python.outputs.python-path": sys.executable}
    files = {name: folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    own = {key: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: values[m[1]], value) for key, value in last["env"].items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", last["run"]],
        cwd=folder,
        env={**os.environ, **own, "GITHUB_ACTION_PATH": str(ROOT), **{name: str(path) for name, path in files.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    written = {name: path.read_text() if path.exists() else "" for name, path in files.items()}
    outputs = dict(re.findall(r"^(\w+)=(.*)$", written["GITHUB_OUTPUT"], re.MULTILINE))
    outputs |= {
        name: text for name, _, text in re.findall(r"^(\w+)<<(\w+)\n(.*?)\2$", written["GITHUB_OUTPUT"], re.M | re.S)
    }
    return Step(done.returncode, done.stdout + done.stderr, written["GITHUB_STEP_SUMMARY"], outputs)


@pytest.mark.slow
def test_several_models_and_options(tmp_path: Path) -> None:
    """A glob pattern, a file that is not a model, and a name that could be a command."""
    (tmp_path / "m").mkdir()
    for name in ("a", "--json; exit 0"):
        (tmp_path / f"m/{name}.tflite").write_bytes(small())
    (tmp_path / "m/bad.tflite").write_text("no model")
    done = step(
        tmp_path, model="m/*.tflite\nm/a.tflite\ngone.tflite", board="uno_r4, nano33ble", options="--input 'stream:2'"
    )
    assert done.code == 2, done.said
    assert done.outputs["fits"] == "false"
    assert done.summary.count("fits on 2 of 2 boards:") == 2
    assert done.summary.count("input streamed 2 rows") == 2
    assert "**bad.tflite**" in done.summary and "**gone.tflite**" in done.summary


@pytest.mark.parametrize(
    ("inputs", "says"), [({"model": " \n"}, "no model"), ({"model": "a", "options": "'"}, "options")]
)
def test_inputs_that_say_nothing(inputs: dict[str, str], says: str, tmp_path: Path) -> None:
    done = step(tmp_path, **inputs)
    assert done.code == 2 and says in done.said
