"""Rewritten trained models are bit-exact under TFLM and fit in the stated arenas."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import AUTOENCODER, EXAMPLE, FLOAT_IO, KEYWORDS, MOBILENET, RESNET, WINDOW

from tflm_memopt.cli import main as cli

ONE_REGION_TAIL = 500
"""Maximum bytes of TFLM's persistent data for a model of a single operator, with 32-bit pointers."""
FLASH = 1.02
"""Maximum size of the rewritten .tflite, divided by the size of the original."""
GROUP_OVERHEAD = 1_000
"""Number of bytes that TFLM may allocate for additional operators, about 50 bytes for each operator."""


@dataclass(frozen=True)
class Case:
    model: Path | str
    total: int
    int8_io: bool = False
    runs: int = 20
    overhead: float = 1.0
    """Maximum of F (docs/glossary.md) for the rewritten model."""
    input: str = "arena"
    max_macs: float | None = None
    """If `max_macs` is None, the rewritten model computes no value twice."""

    def __str__(self) -> str:
        parts = [self.model if isinstance(self.model, str) else self.model.stem]
        parts += ["int8-io"] * self.int8_io + [self.input] * (self.input != "arena") + ["again"] * bool(self.max_macs)
        return "-".join(parts)


OWN = (
    Case(AUTOENCODER, 700),
    Case(EXAMPLE, 24_700),
    Case(KEYWORDS, 3_700),
    Case(RESNET, 6_500),
    Case(MOBILENET, 28_100),
    Case(FLOAT_IO, 7_400, int8_io=True),
    Case(FLOAT_IO, 28_000),
    Case(WINDOW, 2_700),
)
OTHER_INPUTS = (
    Case(EXAMPLE, 14_400, input="stream:2", runs=10),
    Case(KEYWORDS, 3_400, input="stream", runs=10),
    Case(MOBILENET, 5_400, input="external", runs=10),
    Case(FLOAT_IO, 6_200, int8_io=True, overhead=1.3, input="stream", max_macs=1.3, runs=10),
)
PUBLIC = (
    Case("mlperf_tiny_kws_dscnn_int8", 5_700),
    Case("mcunet_vww_80_float_io", 22_000, int8_io=True, overhead=0.95, runs=10),
)


def slow(cases: Sequence[Case], quick: int = 0) -> list[Any]:
    return [pytest.param(c, id=str(c), marks=() if n < quick else pytest.mark.slow) for n, c in enumerate(cases)]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    code = cli.main([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert (code, err) == (cli.DONE, "")
    return json.loads(out)


def converted(case: Case, path: Path, op_per: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    flags = ["--input", case.input, *(["--int8-io"] if case.int8_io else [])]
    flags += ["--max-macs", str(case.max_macs)] if case.max_macs else []
    report = run(capsys, "optimize", path, "-o", folder, "--op-per", op_per, *flags)
    arena = report["arena"]
    assert report["changed"]
    assert report["overhead"] <= case.overhead
    assert case.max_macs or (report["overhead"] < 1.0) is (report["dead_channels"] > 0)
    assert arena["abi"] == "ilp32"
    assert arena["total"] == arena["head"] + arena["tail"]
    assert arena["total"] <= -(-arena["min"] // 16) * 16
    assert report["lower_bound_head"] <= arena["head"]
    assert report["kept_builtin"] == []
    assert report["flash"]["rewritten"] <= FLASH * report["flash"]["original"]

    runs = case.runs if op_per == "region" else min(case.runs, 10)
    verified = run(capsys, "verify", path, folder / path.name, "--runs", runs, "--seed", 1)
    assert verified["bit_exact"]
    assert verified["runs"] == runs
    if verified["measured"]:
        before, after = verified["measured"]["original"], verified["measured"]["rewritten"]
        assert after["head"] == arena["head"]
        assert before["head"] == report["original_arena"]["head"]
    return report


def one_operator_for_each_region(case: Case, path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = converted(case, path, "region", folder, capsys)
    assert report["arena"]["total"] <= case.total
    assert report["arena"]["tail"] <= ONE_REGION_TAIL


@pytest.mark.parametrize("case", slow([*OWN, *OTHER_INPUTS], 1))
def test_one_operator_for_each_region(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(case.model, Path)
    one_operator_for_each_region(case, case.model, tmp_path, capsys)


@pytest.mark.parametrize("case", slow(PUBLIC))
def test_public_models(
    case: Case, outside: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one_operator_for_each_region(case, outside(f"{case.model}.tflite"), tmp_path, capsys)


@pytest.mark.parametrize("case", slow([c for c in OWN if c.model in (RESNET, FLOAT_IO)]))
def test_one_operator_for_each_group(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(case.model, Path)
    report = converted(case, case.model, "group", tmp_path, capsys)
    assert report["arena"]["total"] <= case.total + GROUP_OVERHEAD
