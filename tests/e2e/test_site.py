"""Test the documentation site: it builds without warnings, its links resolve, and its code runs."""

import argparse
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import EXAMPLE, KEYWORDS, ROOT, WAKE_WORD

import tflm_memopt
from tflm_memopt.cli import main as cli

DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES_WITH_CODE = (
    "index", "start", "how-it-works", "report", "python", "c-api", "plan", "papers", "adding-an-operator", "errors",
)  # fmt: skip


def groups(language: str) -> list[tuple[str, str]]:
    found = [(page, FENCE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))) for page in PAGES_WITH_CODE]
    return [(page, code) for page, fences in found for name, code in fences if name == language]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {path.parent.name or "index" for path in tmp_path.rglob("index.html")}
    assert {"start", "how-it-works", "errors", "cli", "boards", "flags", "program-format"} <= pages
    written = [page.read_text() for page in tmp_path.rglob("index.html")]
    loaded = [url for html in written for url in re.findall(r'<(?:script|link)[^>]*="(https?://[^"]+)', html)]
    assert [url for url in loaded if "canonical" not in url and not url.startswith("https://github.com")] == []
    assert all(f"version {tflm_memopt.__version__}" in html for html in written)
    assert [name for html in written for name in re.findall(r">([\w-]+\.md)</a>", html)] == []
    assert not any('data-md-component="source"' in html for html in written), "it asks GitHub for stars and releases"


@pytest.mark.slow
def test_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A text block after a Python block of a page is the expected output of the Python code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for page in dict.fromkeys(page for page, _ in groups("python")):
        names: dict[str, object] = {}
        for language, code in FENCE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
            if language == "python":
                capsys.readouterr()
                exec(compile(code, f"{page}.md", "exec"), names)
            elif language == "text":
                assert capsys.readouterr().out == code


def commands() -> list[str]:
    return [line for _, code in groups("sh") for line in code.splitlines() if line]


@pytest.mark.parametrize("command", dict.fromkeys(commands()))
def test_shell_commands_exist(command: str) -> None:
    program, *arguments = shlex.split(command)
    if program == cli.PROGRAM:
        assert isinstance(cli.parser().parse_args(arguments), argparse.Namespace)
    elif program == "pip":
        extras = re.findall(r"\[([\w,]+)\]", command)
        assert all(f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text() for e in extras for extra in e.split(","))
    else:
        assert program in ("python3", ".")


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.parametrize("code", [code for _, code in groups("c")])
def test_c_compiles(code: str, tmp_path: Path) -> None:
    (tmp_path / "page.c").write_text(code)
    strict = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    subprocess.run([*strict, f"-I{ROOT / 'custom_ops/include'}", str(tmp_path / "page.c")], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (EXAMPLE, ""), (EXAMPLE, "--cores 2 --target cortex-m33"), (EXAMPLE, "--memory fast=13kB,slow=1MB"),
        (KEYWORDS, "--target cortex-m4 --max-macs 1"), (WAKE_WORD, ""),
    ],
)  # fmt: skip
def test_a_plan_follows_its_schema(model: Path, options: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    command = ["optimize", str(model), "-o", str(tmp_path), "--quiet", "--effort", "low", *options.split()]
    assert cli.main(command) == cli.DONE
    plan = json.loads((tmp_path / f"{model.stem}.plan.json").read_text())
    schema = runpy.run_path(str(ROOT / "scripts/reference.py"))["plan_schema"]()
    jsonschema.validate(plan, schema)
    plan["buffers"][0]["offset"] = -1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plan, schema)
