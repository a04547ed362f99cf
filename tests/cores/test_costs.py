"""Estimated instructions are within the published error of counted ones, for plans that no fit has seen."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pytest
from conftest import EXAMPLE
from cores.cases import model_cases, run
from cores.core import MEASURED, Core, missing_tools

import tflm_memopt
from tflm_memopt.analysis import costs
from tflm_memopt.results import Optimized

MARGIN = 0.1
"""Allowed in addition to the worst error of other models' plans."""
CORES: Mapping[str, Core] = {core.known_as: core for core in MEASURED.values()}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "narrow": {"max_macs": 1.0},
    "rows": {"without": ("windows", "channel-groups")},
}


@functools.cache
def converted(target: str, way: str) -> Optimized:
    return tflm_memopt.optimize(EXAMPLE.read_bytes(), target=target, **WAYS[way])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cortex-m4", "rv32"])
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
