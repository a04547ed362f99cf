"""Test the limit on a search's work: it is counted, respected, and reported if it was too small."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from unit.plan.sketch import Sketch, random_sketch

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.errors import UsageError
from tflm_memopt.plan import waiting
from tflm_memopt.plan.effort import (
    LEAST,
    LEVELS,
    MOST,
    PER_OPERATOR,
    Log,
    Meter,
    SearchPart,
    allowance,
    factor,
    work_left,
)
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import Options, planners, plans

sys.path.insert(0, str(ROOT / "benchmarks"))
import random_networks

OVERSHOOT = 0.5
"""Seconds of work that may follow after the budget is spent: each part finishes one piece."""


def searched(s: Sketch, effort: float) -> tuple[Plan, Log]:
    """Return the smallest checked plan, and the log of its search."""
    outputs = s.unread()
    graph = s.row_graph(*outputs)
    log = Log()
    tried = planners(graph, Options(effort=effort), log)
    found = min(plans(tried, tried[0].macs), key=lambda plan: plan.head)
    check(found, graph)
    return found, log


def ladder(rungs: int) -> Sketch:
    """Two paths that meet repeatedly: groups have many orders of operands."""
    s = Sketch()
    a = b = s.input(16, 4, 4)
    for _ in range(rungs):
        a, b = s.conv(a, 4), s.conv(b, 4, kernel=1)
        a, b = s.add(a, b), s.add(b, a)
    return s


def test_what_a_part_spends_its_whole_spends() -> None:
    log = Log()
    whole = Meter(10.0, log)
    part = whole.share(6.0)
    part.spend(4.0)
    assert (whole.left, part.left, log.seconds) == (6.0, 2.0, 4.0)
    assert part.share(9.0).left == 2.0
    whole.spend(5.0)
    assert part.left == 1.0


def test_what_is_refused_is_noted_once() -> None:
    log = Log()
    meter = Meter(1.0, log)
    assert meter.allows(SearchPart.LAYOUT, 0.5)
    assert not log.cut
    assert not meter.allows(SearchPart.LAYOUT, 2.0)
    assert not meter.share(0.0).allows(SearchPart.ORDERS)
    assert not meter.allows(SearchPart.LAYOUT, 2.0)
    assert list(log.cut) == [SearchPart.LAYOUT, SearchPart.ORDERS]


def test_large_models_leave_less_for_the_search() -> None:
    """Unavoidable work takes its share of ten seconds."""
    assert MOST >= allowance(0) > allowance(200) > allowance(600) >= LEAST
    assert allowance(100_000) == LEAST
    assert allowance(600, LEVELS["high"]) == LEVELS["high"] * allowance(600)


@pytest.mark.slow
@pytest.mark.parametrize("effort", [0.02, 0.1, LEVELS["low"]])
@pytest.mark.parametrize("rungs", [10, 60])
def test_the_sum_of_all_work_is_bounded(rungs: int, effort: float) -> None:
    s = ladder(rungs)
    _, log = searched(s, effort)
    assert log.seconds <= allowance(len(s.ops), effort) + OVERSHOOT


@pytest.mark.slow
def test_a_hurried_search_has_a_plan_and_says_what_it_left_out() -> None:
    s = ladder(6)
    _, short = searched(s, 0.005)
    _, whole = searched(s, 10.0)
    assert short.cut
    assert not whole.cut
    assert whole.seconds > short.seconds


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_any_effort_leads_to_a_plan_that_is_right(number: int) -> None:
    searched(random_sketch(number), 0.001)


def test_a_search_that_is_cut_short_ends_at_the_same_plan_again() -> None:
    assert searched(ladder(3), 0.01)[0] == searched(ladder(3), 0.01)[0]


def told(model: bytes, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[list[float], float]:
    """Convert a model; return the estimated total work each time that groups were found, and the real total."""
    said: list[float] = []
    total = 0.0

    def tell(_progress: object, log: Log, operators: int, layouts: float, searches: int, _started: float) -> None:
        def blocks_found() -> None:
            said.append(log.seconds + work_left(log.seconds, operators, layouts, len(said) + 1, searches))

        log.found = blocks_found
        logs.append((log, operators))

    logs: list[tuple[Log, int]] = []
    monkeypatch.setattr(waiting, "tell", tell)
    tflm_memopt.optimize(model, int8_io=True, **settings)
    for log, operators in logs:
        total += log.seconds + PER_OPERATOR * operators
    return said, total


@pytest.mark.slow
@pytest.mark.parametrize(("size", "kinds"), [(100, 0), (100, 1)])
def test_what_is_left_is_right_within_a_factor_of_two(size: int, kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_networks.largest(100 * size + kinds, size, random_networks.KIND_SETS[kinds])
    said, total = told(model, monkeypatch)
    assert total > waiting.LEAST
    assert total / 2 <= said[0] <= 2 * total


@pytest.mark.slow
@pytest.mark.parametrize("target", ["generic", "cortex-m4"])
def test_what_is_left_of_trained_models(own_model: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed programs are planned twice, for speed and for RAM."""
    said, total = told(own_model.read_bytes(), monkeypatch, target=target)
    if total > waiting.LEAST:
        assert len(said) == (1 if target == "generic" else 2)
        assert all(total / 2 <= each <= 2 * total for each in said)


def heard(model: bytes, **settings: Any) -> list[str]:
    lines: list[str] = []
    tflm_memopt.optimize(model, progress=lambda what, _done, _of: lines.append(what), seconds=0, **settings)
    return lines


@pytest.mark.slow
def test_who_waits_is_told_when_blocks_are_found(example: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LEAST", 0.0)
    reading, searching, left, *_ = heard(example)
    assert (reading, searching) == ("reading", "searching blocks")
    assert re.fullmatch(r"placing buffers, about [1-9]\d* s left", left)


@pytest.mark.slow
def test_who_waits_is_told_once_for_each_search(example: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LEAST", 0.0)
    assert sum("left" in line for line in heard(example, target="cortex-m4")) == 2
    assert not any("left" in line for line in heard(example, max_macs=1.1))
    monkeypatch.setattr(waiting, "LEAST", 1e9)
    assert not any("left" in line for line in heard(example))


@pytest.mark.parametrize("effort", ["endless", "-1", "0", "nan", "inf", 0.0])
def test_what_is_no_effort_is_refused(effort: float | str) -> None:
    with pytest.raises(UsageError) as caught:
        factor(effort)
    assert caught.value.code == "bad_option"
    assert "low, normal, high" in caught.value.hint


def test_no_model_is_read_for_an_effort_that_is_none() -> None:
    with pytest.raises(UsageError) as caught:
        tflm_memopt.optimize(b"", effort="endless")
    assert caught.value.code == "bad_option"
