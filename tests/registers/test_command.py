"""Test the files and the report of the command `registers`."""

import json
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


def test_files_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(SPI.driver, SPI.description, "-o", tmp_path / "out", "--json") == cli.DONE
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert {path.name for path in (tmp_path / "out").iterdir()} == NAMES == set(told["files"])
    plain, combined = told["plain"], told["combined"]
    assert combined["accesses"] == combined["loads"] + combined["stores"] < plain["accesses"]
    assert told["memory_map_bytes"] == 0x10
    assert told["regions"]["spi_configure"][1] == ["w SSOE", "w DS", "w FRXTH"]


def test_a_refusal_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver = tmp_path / "bad.c"
    driver.write_text('#include "spi.h"\nvoid wait(void) {\n  while (spi->SR.BSY) {\n  }\n}\n')
    assert call(driver, SPI.description, "-o", tmp_path / "out") == cli.BAD
    said = capsys.readouterr()
    assert said.out == ""
    assert "at bad.c:3" in said.err
    assert "code bad_registers" in said.err
    assert not (tmp_path / "out").exists()


def test_from_python(tmp_path: Path) -> None:
    examples = ROOT / "examples/registers"
    made = tflm_memopt.combine_registers(
        examples / "fixed/camera.c", examples / "fixed/camera.svd", folders=[examples / "plain"]
    )
    assert made.combined.loads + made.combined.stores < made.plain.loads + made.plain.stores
    assert {path.name for path in made.save(tmp_path)} == set(made.files)
    assert (tmp_path / "camera.c").read_text() == made.files["camera.c"]
