"""Test `--cores` and `--share`: options, refusals and reports."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import EXAMPLE, optimized
from memories import svdf_network

import tflm_memopt
from tflm_memopt.errors import UsageError
from tflm_memopt.runtime.stimuli import Steps


@pytest.mark.parametrize(
    "options",
    [
        {"cores": 3},
        {"share": "0.8,1"},
        {"cores": 2, "share": "0.8"},
        {"cores": 2, "share": (0.8, 1, 1)},
        {"cores": 2, "share": "0,1"},
        {"cores": 2, "share": "a,b"},
        {"cores": 2, "input": "stream"},
        {"cores": 2, "target": "cortex-m55"},
        {"cores": 2, "ops": "builtin"},
        {"cores": 2, "ops": "group"},
        {"cores": 2, "max_macs": 1.2},
    ],
)
def test_refusals(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        tflm_memopt.optimize(EXAMPLE.read_bytes(), **options)
    assert raised.value.code == "bad_option"
    assert raised.value.hint


def test_a_refusal_names_the_option_that_was_given() -> None:
    with pytest.raises(UsageError, match="--cores 2 cannot be combined with --max-macs"):
        tflm_memopt.optimize(EXAMPLE.read_bytes(), cores=2, max_macs=1.2)


def test_a_model_for_one_core_is_not_verified_on_two() -> None:
    with pytest.raises(UsageError) as raised:
        tflm_memopt.verify(EXAMPLE.read_bytes(), optimized(EXAMPLE), steps=Steps(cores=2))
    assert raised.value.code == "other_model"


def test_a_model_with_variables_runs_on_one_core() -> None:
    with pytest.raises(UsageError, match="one core") as raised:
        tflm_memopt.optimize(svdf_network(), cores=2)
    assert raised.value.code == "cannot_share"


@pytest.mark.slow
def test_a_second_core_takes_memory_for_its_counters_alone() -> None:
    """This also holds against groups that run row by row."""
    one, two = ({"without": ("tiles",)}, {"cores": 2})
    arenas = [tflm_memopt.optimize(EXAMPLE.read_bytes(), **options).report.arena.total for options in (one, two)]
    assert 0 < arenas[1] - arenas[0] <= 64
