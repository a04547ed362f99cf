"""Time limits hold at the upper end of the range of cycles, or are refused with the closest alternative."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from conftest import EXAMPLE
from unit.command import wide

import tflm_memopt
from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.timing import Clock
from tflm_memopt.errors import DoesNotFit
from tflm_memopt.results import Exploration

M4: dict[str, Any] = {"target": "cortex-m4", "without": ("recompute",)}
"""Options of a search without recomputation, which is quick."""


@pytest.fixture(scope="module")
def frontier() -> Exploration:
    return tflm_memopt.explore(wide(), cost="instructions", **M4)


def limit_of(work: Sequence[Work], mhz: float = 64.0) -> float:
    """Return the milliseconds on a Cortex-M4 within which a plan with this work certainly stays."""
    span = Clock("cortex-m4", mhz).cycles(work)
    assert span
    return span[1] / mhz / 1000 + 1e-6


@pytest.mark.slow
def test_the_least_ram_in_time(frontier: Exploration) -> None:
    for point in (frontier.points[0], frontier.points[-1]):
        limit = limit_of(point.work)
        report = tflm_memopt.optimize(wide(), time_limit=limit, clock=64, **M4).report
        assert report.arena.total == point.arena.total
        assert report.time_limit == limit
        assert report.max_instructions is None
        assert report.time
        assert report.time.rewritten
        assert report.time.rewritten.milliseconds
        assert report.time.rewritten.milliseconds[1] <= limit + 0.001


@pytest.mark.slow
def test_a_board_gets_a_plan_that_is_not_slower_than_the_original() -> None:
    """The example's plan of least RAM is slower, so a faster plan that saves at least half as much RAM is used."""
    chosen, least = (tflm_memopt.optimize(EXAMPLE, board="nano33ble", max_macs=macs).report for macs in (None, 1))
    assert chosen.time and chosen.time.change and chosen.time.change[1] <= 0
    assert least.time and least.time.change
    before, is_slower = chosen.original_arena.total, least.time.change[1] > 0
    assert 2 * (before - chosen.arena.total) >= before - least.arena.total
    assert (chosen.arena.total > least.arena.total) == is_slower


@pytest.mark.slow
def test_too_slow_names_ways_that_hold(frontier: Exploration) -> None:
    fastest = frontier.points[0]
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(wide(), time_limit=limit_of(fastest.work) / 1.5, board="nano33ble", without=("recompute",))
    assert no.value.code == "too_slow"
    assert no.value.exit_code == 1
    assert "cycles on cortex-m4 at 64 MHz" in no.value.where
    told = re.search(r"--time-limit ([\d.]+ms)", no.value.hint)
    assert told
    report = tflm_memopt.optimize(wide(), time_limit=told[1], board="nano33ble", without=("recompute",)).report
    assert report.arena.total <= fastest.arena.total
    boards = re.search(r"--board ([\w, ]+)", no.value.hint)
    assert boards
    for name in boards[1].split(", "):
        tflm_memopt.optimize(wide(), time_limit=limit_of(fastest.work) / 1.5, board=name, without=("recompute",))
