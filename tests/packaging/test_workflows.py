"""GitHub's workflows and cibuildwheel's settings: well formed, and true to the repository. They cannot run here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
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
RUNNERS = {"ubuntu-24.04": "linux x86_64", "ubuntu-24.04-arm": "linux aarch64", "macos-14": "macos arm64"}
RUNNERS["windows-2022"] = "windows AMD64"
"""Of the release's wheels: platform and processor, as cibuildwheel calls them."""

Job = dict[str, Any]


def jobs(name: str) -> dict[str, Job]:
    return dict(yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())["jobs"])


def commands(job: Job) -> Iterator[str]:
    return (step["run"] for step in job["steps"] if "run" in step)


def used(job: Job, action: str) -> list[dict[str, Any]]:
    """The settings of its steps with an action."""
    return [step.get("with", {}) for step in job["steps"] if step.get("uses", "").startswith(f"{action}@")]


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


def test_ci_runs_all_tests_and_the_start_page() -> None:
    ci = jobs("ci")
    assert ".ci/run" in commands(ci["everything"])
    (script,) = re.findall(r"^```sh\n(python3 -m venv.*?)^```$", page("start.md"), re.DOTALL | re.MULTILINE)
    (windows,) = re.findall(r"^```powershell\n(.*?)^```$", page("start.md"), re.DOTALL | re.MULTILINE)
    install = script.splitlines()[-1]
    assert windows.splitlines()[-1] == install
    lines = [install, *re.findall(r"^tflm-memopt .*$", page("start.md"), re.MULTILINE)]
    assert [c.removeprefix("python -m ") for c in commands(ci["start"]) if "scripts/" not in c] == lines
    assert {"ubuntu-latest", "macos-latest", "windows-latest"} == set(ci["start"]["strategy"]["matrix"]["os"])


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_only_what_publishes_may_write() -> None:
    permissions = {name: job.get("permissions", {}) for name, job in {**jobs("ci"), **jobs("release")}.items()}
    assert {name: p for name, p in permissions.items() if p} == {
        "pypi": {"id-token": "write"},
        "github": {"contents": "write"},
    }
    assert all(yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"} for path in WORKFLOWS)


def test_what_is_published_was_built() -> None:
    release = jobs("release")
    uploads = {
        upload["name"]: upload["path"] for job in release.values() for upload in used(job, "actions/upload-artifact")
    }
    for name in ("pypi", "github"):
        for download in used(release[name], "actions/download-artifact"):
            wanted = download.get("name") or download["pattern"]
            assert any(fnmatch(re.sub(r"\$\{\{.*?\}\}", "x", uploaded), wanted) for uploaded in uploads), wanted
    assert not fnmatch("dist/tflm-memopt-1.2.3-esp-idf.tgz", uploads["sdist"])
    assert not fnmatch("dist/tflm_memopt-1.2.3.tar.gz", uploads["devices"])
    assert release["pypi"]["needs"] == ["wheels", "packages"]  # all of them, or nothing is published


# --- cibuildwheel


def test_cibuildwheel_takes_its_settings() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    schema = json.loads(resources.files("cibuildwheel").joinpath("resources/cibuildwheel.schema.json").read_bytes())
    jsonschema.validate(settings, schema)
    for line in settings["test-command"]:
        for name in re.findall(r"\{project\}/(\S+)", line):
            assert (ROOT / name).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("runner", jobs("release")["wheels"]["strategy"]["matrix"]["os"])
def test_every_runner_builds_one_wheel_and_tries_it_twice(runner: str) -> None:
    """One of the oldest Python, on which the newest runs as well: the wheel is for any Python 3."""
    platform, processor = RUNNERS[runner].split()
    command = [sys.executable, "-m", "cibuildwheel", "--platform", platform, "--archs", processor]
    command += ["--print-build-identifiers", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.partition("-")[0] for line in done.stdout.split()] == ["cp310", "cp313"]
