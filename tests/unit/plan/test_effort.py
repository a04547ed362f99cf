"""Test the limit on a search's work: it holds, and it leads to the same plan each time."""

from __future__ import annotations

import pytest
from unit.plan.sketch import Sketch

from tflm_memopt.check.checker import check
from tflm_memopt.plan.effort import LEVELS, Budget, Log, allowance
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import Options, planners, plans
from tflm_memopt.plan.search.cuts import RowGroups

OVERSHOOT = 0.5
"""Seconds of work allowed after the budget is spent, since each part of the search finishes what it has begun."""


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
    """Return two paths that meet repeatedly, so that groups have many orders of operands."""
    s = Sketch()
    a = b = s.input(16, 4, 4)
    for _ in range(rungs):
        a, b = s.conv(a, 4), s.conv(b, 4, kernel=1)
        a, b = s.add(a, b), s.add(b, a)
    return s


@pytest.mark.slow
@pytest.mark.parametrize("effort", [0.02, LEVELS["low"]])
def test_the_sum_of_all_work_is_bounded(effort: float) -> None:
    s = ladder(40)
    _, log = searched(s, effort)
    assert log.seconds <= allowance(len(s.ops), effort) + OVERSHOOT


def test_the_largest_operators_of_a_long_network_are_fused_first() -> None:
    """The single operators alone take more than the budget."""
    s = Sketch()
    x = s.conv(s.conv(s.input(16, 8, 8), 32), 1)
    for _ in range(400):
        x = s.relu(x)
    budget = Budget(0.05)
    found = RowGroups(s.chain(x), budget).by_end
    assert budget.left < 0
    assert [len(found[end]) > 1 for end in (2, 3, 300)] == [True, True, False]


def test_a_search_that_is_cut_short_ends_at_the_same_plan_again() -> None:
    assert searched(ladder(3), 0.01)[0] == searched(ladder(3), 0.01)[0]
