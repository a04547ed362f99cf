"""Test the settings and the CMakeLists.txt of the Zephyr module, with stubs of Zephyr's CMake functions."""

import re
from pathlib import Path

from compiling import run
from conftest import ROOT

MODULE = ROOT / "custom_ops"

RECORD = (Path(__file__).parent / "zephyr.cmake").read_text(encoding="utf-8")


def built(folder: Path, *settings: str) -> dict[str, list[str]]:
    script = folder / "record.cmake"
    defined = "".join(f"set(CONFIG_{name} y)\n" for name in settings)
    script.write_text(
        f"cmake_minimum_required(VERSION 3.20)\n{RECORD}{defined}include({MODULE}/zephyr/CMakeLists.txt)\n"
    )
    said = run("cmake", "-P", script, cwd=folder)
    told: dict[str, list[str]] = {"library": [], "sources": [], "include": []}
    for kind, what in re.findall(r"^-- (library|sources|include);(.*)$", said, re.MULTILINE):
        told[kind] += what.split(";")
    return told


def shipped(folder: str) -> set[str]:
    return {str(path) for path in (MODULE / folder).iterdir() if path.suffix in (".c", ".cpp", ".S")}


def test_the_executor_is_built_from_every_source(tmp_path: Path) -> None:
    told = built(tmp_path, "TFLM_MEMOPT")
    assert told["library"] == ["tflm_memopt"]
    assert set(told["sources"]) == shipped("src")
    assert told["include"] == [str(MODULE / "include"), str(MODULE / "src")]


def test_the_operator_adds_the_adapter(tmp_path: Path) -> None:
    told = built(tmp_path, "TFLM_MEMOPT", "TFLM_MEMOPT_OPERATOR")
    assert set(told["sources"]) == shipped("src") | shipped("tflm")
    assert told["include"] == [str(MODULE / name) for name in ("include", "src", "tflm")]
