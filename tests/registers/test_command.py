"""Test the command `registers`: its files and its report, and that a refusal leaves no files."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from registers.drivers import FIXED
from registers.plain import PLAIN

import tflm_memopt
from tflm_memopt.cli import main as cli

SPI = FIXED["spi"]
NAMES = {"spi.c", "spi_registers.h", "spi_registers.svd", "register_words.h"}


def call(*arguments: object) -> int:
    return cli.main(["registers", *map(str, arguments), "-I", str(PLAIN)])


def answered(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert call(*arguments, "--json") == cli.DONE
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_files_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = answered(capsys, SPI.driver, SPI.description, "-o", tmp_path / "out", "--cc", "cc -std=c11")
    assert {path.name for path in (tmp_path / "out").iterdir()} == NAMES == set(told["files"])
    plain, combined = told["plain"], told["combined"]
    assert combined["accesses"] == combined["loads"] + combined["stores"] < plain["accesses"]
    assert 0 < combined["code_bytes"] < plain["code_bytes"]
    assert told["memory_map_bytes"] == 0x10
    assert told["halstead_effort"] > 1000
    assert told["regions"]["spi_configure"][1] == ["w SSOE", "w DS", "w FRXTH"]


def test_page(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(SPI.driver, SPI.description, "--cc", "cc") == cli.DONE
    said = capsys.readouterr().out
    assert "spi_registers" in said  # the default folder
    assert "7 -> 1" in said
    assert (tmp_path / "spi_registers/spi.c").exists()


def test_place_makes_a_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixed, placed = (
        answered(capsys, SPI.driver, SPI.description, "-o", tmp_path / name, *flags)["combined"]["accesses"]
        for name, flags in (("fixed", ()), ("placed", ("--place",)))
    )
    assert placed < fixed


def test_a_refusal_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver = tmp_path / "bad.c"
    driver.write_text('#include "spi.h"\nvoid wait(void) {\n  while (spi->SR.BSY) {\n  }\n}\n')
    assert call(driver, SPI.description, "-o", tmp_path / "out") == cli.BAD
    said = capsys.readouterr()
    assert said.out == ""
    assert "at bad.c:3" in said.err
    assert "code bad_registers" in said.err
    assert not (tmp_path / "out").exists()


def test_its_own_sources_are_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver = tmp_path / "spi.c"
    driver.write_text(SPI.driver.read_text())
    assert call(driver, SPI.description, "-o", tmp_path) == cli.BAD
    assert "would_overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("compiler", ["no-such-compiler", "cc -std=c11 -Dspi_configure=", "sh -c 'exit 1'"])
def test_a_compiler_that_fails(compiler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(SPI.driver, SPI.description, "-o", tmp_path / "out", "--cc", compiler) == cli.BAD
    assert "code bad_registers" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_page_s_compiler_needs_no_c_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs/registers.md").read_text(encoding="utf-8")
    (compiler,) = re.findall(r'`--cc "(.*?)"`', page)
    if not shutil.which(compiler.split()[0]):
        pytest.skip(f"{compiler.split()[0]} is not installed")
    assert call(SPI.driver, SPI.description, "-o", tmp_path / "out", "--cc", compiler) == cli.DONE
    assert re.search(r"code +[\d,]+ B -> [\d,]+ B", capsys.readouterr().out)


def test_a_compiler_that_lacks_a_header_says_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver = tmp_path / "spi.c"
    missing = "#ifndef __clang__\n#include <none.h>\n#endif\n#include"
    driver.write_text(SPI.driver.read_text().replace("#include", missing, 1))
    assert call(driver, SPI.description, "-o", tmp_path / "out", "-I", SPI.driver.parent, "--cc", "gcc") == cli.BAD
    said = capsys.readouterr().err
    assert "none.h" in said and "-I with the folders of missing headers" in said


def test_without_the_extra(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("tflm_memopt.registers", "clang"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "clang", None)
    monkeypatch.delattr(tflm_memopt, "registers", raising=False)
    assert call(SPI.driver, SPI.description, "-o", tmp_path / "out") == cli.BAD
    said = capsys.readouterr().err
    assert "clang" in said
    assert 'pip install "tflm-memopt[registers]"' in said
