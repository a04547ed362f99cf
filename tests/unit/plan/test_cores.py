"""Test plan/cores.py: the cuts of all operators of a group, chosen together."""

from __future__ import annotations

import random

import pytest

from tflm_memopt.format.codes import How
from tflm_memopt.plan.cores import _balanced, _Possible
from tflm_memopt.plan.plan import Share


@pytest.mark.parametrize("operators", [3, 60, 400])
def test_both_cores_are_done_at_about_the_same_time(operators: int) -> None:
    """This holds for long groups, although no operator can be cut exactly in the middle."""
    draw = random.Random(operators)
    ways = [
        [_Possible(Share(op, How.COLUMNS, cut), (), (cut / 5 * work, (5 - cut) / 5 * work)) for cut in (2, 3)]
        for op in range(operators)
        for work in [draw.uniform(1, 9)]
    ]
    chosen, times = _balanced(ways, (0.0, 0.0))
    assert [way.share.op for way in chosen] == list(range(operators))
    assert times == pytest.approx([sum(way.times[core] for way in chosen) for core in range(2)])
    assert abs(times[0] - times[1]) < 9 / 5


def test_work_before_is_made_up_for() -> None:
    ways = [[_Possible(Share(0, how), (), times) for how, times in ((How.FIRST, (1.0, 0.0)), (How.SECOND, (0.0, 1.0)))]]
    assert _balanced(ways, (3.0, 1.0))[0][0].share.how is How.SECOND
    assert _balanced(ways, (1.0, 3.0))[0][0].share.how is How.FIRST
