"""Every manifest parses, and manifests agree with each other and with the files that they name."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import tflm_memopt
from tflm_memopt.runtime import wheel

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "custom_ops"
VERSION = runpy.run_path(str(ROOT / "scripts/version.py"))


@pytest.fixture
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture
def library() -> dict[str, Any]:
    return dict(json.loads((LIBRARY / "library.json").read_text()))


@pytest.fixture
def component() -> dict[str, Any]:
    return dict(yaml.safe_load((LIBRARY / "idf_component.yml").read_text()))


def test_versions_agree(library: dict[str, Any], component: dict[str, Any]) -> None:
    assert set(VERSION["stated"]().values()) == {tflm_memopt.__version__}
    assert {library["version"], component["version"]} == {tflm_memopt.__version__}  # as a parser reads them


def test_pinned_interpreter_is_the_one_that_the_shim_knows(pyproject: dict[str, Any]) -> None:
    (pinned,) = pyproject["project"]["optional-dependencies"]["tflm"]
    assert pinned.startswith(f"{wheel.DISTRIBUTION}=={wheel.VERSION};")


def test_every_source_of_the_library_is_built(library: dict[str, Any]) -> None:
    build = library["build"]
    built = {path for pattern in build["srcFilter"] for path in (LIBRARY / build["srcDir"]).glob(pattern[2:-1])}
    shipped = {
        path
        for folder in ("src", "tflm")
        for path in (LIBRARY / folder).rglob("*")
        if path.suffix in (".c", ".cpp", ".S")
    }
    assert built == shipped
