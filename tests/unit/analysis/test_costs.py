"""Test the costs of kernels and the estimates of instructions."""

import sys
from pathlib import Path
from typing import NoReturn
from unittest import mock

import pytest
from conftest import ROOT

from tflm_memopt.analysis import costs
from tflm_memopt.analysis.costs import AMOUNTS, Table, Work
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import family
from tflm_memopt.ops.packings import PACKINGS

sys.path.insert(0, str(ROOT / "benchmarks"))
import costs as script

UNMEASURED = (Kind.BINARY_32, Kind.COMPARE_32)
"""Float32 operators without measured costs: they need a libm, and some cores have no libm."""
TABLES = pytest.mark.parametrize("table", [pytest.param(t, id=core) for core, t in costs.tables().items()])


@TABLES
def test_every_kernel_was_measured(table: Table) -> None:
    known, unknown = (Work(f"{name} rows", *range(1, len(AMOUNTS) + 1)) for name in ("CONV", "CONV_F32"))
    assert table.known([known]) and table.known([known, unknown]) is None
    packings = {packing for wanted in family(table.target).runs for packing in PACKINGS.get(wanted, ())}
    measured = {name for kernel in table.kernels if not (name := kernel.split()[0]).endswith("_S4")}
    assert {
        *(kind.name for kind in Kind if not kind.name.endswith("_F32") and kind not in UNMEASURED),
        *(packing.name for packing in packings),
    } == measured - {kind.name for kind in UNMEASURED}
    for name in measured:
        assert table.instructions([Work(f"{name} rows", *range(1, len(AMOUNTS) + 1))]) > 0
    assert table.median <= max(table.low, table.high)


@TABLES
def test_estimates_are_as_good_as_promised(table: Table) -> None:
    assert table.plans >= 36
    assert table.median <= 0.03
    assert max(table.low, table.high) <= 0.10


class Unlisted(dict[str, dict[str, float]]):
    """A table that finds a kernel by its name, but cannot list its kernels."""

    def __iter__(self) -> NoReturn:
        raise AssertionError("all kernels were listed")


def test_measured_variants_are_found_by_name() -> None:
    kernels = Unlisted({"CONV rows": {"macs": 2.0}})
    assert costs.counted(kernels, [Work("CONV rows")])
    assert costs.estimate(kernels, Work("CONV rows", macs=3)) == 6


def test_a_new_file_begins_with_the_stored_costs(tmp_path: Path) -> None:
    new = tmp_path / "costs.json"
    with mock.patch.multiple(
        script, missing_tools=lambda _: "", _with_errors=lambda chosen, found: {n: found[n] for n in chosen}
    ):
        script.main(["--cores", "m4", "--keep", "--output", str(new)])
    assert new.read_bytes() == script.TABLE.read_bytes()
