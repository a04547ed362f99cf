"""Estimates of instructions against counts: within the error that was measured for plans that no fit has seen."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLE
from cores.cases import model_cases, run
from cores.core import MEASURED, Core, missing_tools
from models import Net

import tflm_memopt
from tflm_memopt.analysis import costs
from tflm_memopt.results import Optimized
from tflm_memopt.runtime import host

MARGIN = 0.1
"""Beyond the worst error of other models' plans."""
CORES: Mapping[str, Core] = {core.known_as: core for core in MEASURED.values()}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "narrow": {"max_macs": 1.0},
    "rows": {"without": ("windows", "groups")},
    "again": {"max_macs": 1.3},
}


@functools.cache
def converted(target: str, way: str) -> Optimized:
    return tflm_memopt.optimize(EXAMPLE.read_bytes(), target=target, **WAYS[way])


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CORES))
def test_estimates_of_a_model_that_was_not_measured(name: str) -> None:
    core = CORES[name]
    if reason := missing_tools(core):
        pytest.skip(reason)
    table = costs.table(core.target, name)
    counts, estimates = {}, {}
    for way in WAYS:
        result = converted(core.target, way)
        (outcome,) = run(core, model_cases(result.model))
        assert outcome.right
        counts[way], estimates[way] = outcome.instructions, table.instructions(result.work)
        assert result.report.instructions[name] == estimates[way]
        assert abs(estimates[way] / counts[way] - 1) < table.worst + MARGIN, (way, counts[way], estimates[way])
    assert sorted(counts, key=counts.__getitem__) == sorted(estimates, key=estimates.__getitem__)


def test_every_core_has_a_machine() -> None:
    assert CORES.keys() == costs.tables().keys()


@pytest.mark.slow
def test_a_step_of_a_window(outside: Callable[[str], Path]) -> None:
    """The first step after a reset, which also fills the rolling buffers."""
    core = CORES["cortex-m4"]
    if reason := missing_tools(core):
        pytest.skip(reason)
    result = tflm_memopt.optimize(outside("str_ww_ref_model.tflite"), target="cortex-m4", input="sliding:1")
    assert (result.report.macs.rewritten, result.report.arena.total) == (46_040, 4_308)
    (outcome,) = run(core, model_cases(result.model))
    print(outcome.instructions)
    assert (outcome.status, outcome.wrong, outcome.canaries) == (host.WAIT, 0, True)
    assert outcome.instructions <= 80_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "layers", "channels", "arena", "most"), [(100, 3, 32, 4_004, 28_442), (500, 2, 16, 8_772, 17_767)]
)
def test_a_step_of_sums_that_run_along(rows: int, layers: int, channels: int, arena: int, most: int) -> None:
    """A step costs the same however long the window is, estimated as well as counted."""
    core = CORES["cortex-m4"]
    if reason := missing_tools(core):
        pytest.skip(reason)
    net = Net(1)
    x = net.input((1, rows, 1, 40))
    for _ in range(layers):
        x = net.conv2d(x, channels, kernel=(3, 1), padding="VALID")
    model = net.model(net.fully_connected(net.mean(x, (1, 2), keep=False), 4))
    result = tflm_memopt.optimize(model, target="cortex-m4", input="sliding:1")
    assert result.report.arena.total == arena
    (outcome,) = run(core, model_cases(result.model))
    print(outcome.instructions, result.report.instructions)
    assert (outcome.status, outcome.wrong, outcome.canaries) == (host.WAIT, 0, True)
    assert outcome.instructions <= 1.02 * most
