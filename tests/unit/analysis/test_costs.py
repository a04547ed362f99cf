"""The table of what kernels cost, and estimates by it."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tflm_memopt.analysis import costs
from tflm_memopt.analysis.costs import AMOUNTS, Table, Work, estimate
from tflm_memopt.errors import UsageError
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.ops.packings import PACKINGS, family

TABLES = pytest.mark.parametrize("table", [pytest.param(t, id=core) for core, t in costs.tables().items()])


def test_every_target_has_a_core() -> None:
    for target in TARGETS:
        assert costs.table(target).core in costs.tables()
        assert target == "generic" or costs.table(target).target == target
        assert costs.estimates(target, ()).keys() == {c for c, t in costs.tables().items() if t.target == target}


@TABLES
def test_every_kernel_was_measured(table: Table) -> None:
    packings = {packing for wanted in range(family(table.target) + 1) for packing in PACKINGS.get(wanted, ())}
    measured = {kernel.split()[0] for kernel in table.kernels}
    assert {*(kind.name for kind in Kind), *(packing.name for packing in packings)} == measured
    for name in measured:
        assert table.instructions([Work(f"{name} rows", *range(1, len(AMOUNTS)))]) > 0
    assert table.plans > 0
    assert 0 < table.median <= table.worst < 1


@TABLES
def test_more_work_is_never_estimated_to_take_less(table: Table) -> None:
    assert tuple(f.name for f in fields(Work))[1:] == AMOUNTS[:-1]
    for kernel, each in table.kernels.items():
        assert len(each) == len(AMOUNTS)
        assert min(each) >= 0 < max(each)
        some = Work(kernel, *range(1, len(AMOUNTS)))
        for name in AMOUNTS[:-1]:
            more = replace(some, **{name: 2 * getattr(some, name)})
            assert estimate(table.kernels, more) >= estimate(table.kernels, some)


def test_a_kernel_that_was_measured_in_another_way_only() -> None:
    kernels = {"CONV rows": [1.0] * 8, "CONV summed tiles": [2.0] * 8, "MEAN tiles": [9.0] * 8}
    assert estimate(kernels, Work("CONV rows")) == 1
    assert estimate(kernels, Work("CONV summed rows")) in (1, 2)
    assert estimate(kernels, Work("CONV direct summed tiles")) == 2
    assert estimate(kernels, Work("SOFTMAX rows")) == 9


@pytest.mark.parametrize(
    ("target", "core"), [("cortex-m4", "cortex-m0"), ("cortex-m55", "cortex-m4"), ("generic", "z80")]
)
def test_a_core_that_cannot_run_it(target: str, core: str) -> None:
    with pytest.raises(UsageError, match=core) as refused:
        costs.table(target, core)
    assert refused.value.code == "unknown_core"
    assert refused.value.hint.startswith("--core ")
    assert core not in refused.value.hint.split(", ")
    assert costs.table("generic", "cortex-m4").core == "cortex-m4"
