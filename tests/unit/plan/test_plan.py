"""A plan is plain data and survives NAME.plan.json."""

from __future__ import annotations

import json

import pytest
from conftest import seeds
from unit.plan.sketch import random_sketch

from tflm_memopt.plan.loops import Iteration, Loops, Repeat
from tflm_memopt.plan.nest import LoopNest
from tflm_memopt.plan.plan import Buffer, Builtin, ColumnWindow, Group, Plan, Role, Stage
from tflm_memopt.plan.planner import Options, plan

LOOPS: Loops = (Iteration(0), Repeat(5, (Iteration(1), Repeat(2, (Iteration(0),)))))
MIXED = Plan(
    steps=(Group(0, (Stage(3, (1, 0)), Stage(4, (0,), iterative=True)), (4,), 12, 345, loops=LOOPS), Builtin(7)),
    buffers=(
        Buffer(Role.TENSOR, 5, 64, 0, 2, 16),
        Buffer(Role.ROLLING_BUFFER, 6, 24, 0, 1, 1, 3),
        Buffer(Role.COUNTERS, 0, 4, 0, 1),
    ),
    offsets=(0, 64, 88),
    head=92,
    lower_bound=90,
    proven=True,
)
TILED = Plan(
    steps=(
        Group(
            0,
            (
                Stage(0, (0,), nest=LoopNest(2, 3, 4, 1, 3)),
                Stage(1, (0,), nest=LoopNest(2, -1, 2, 1, 4, sums=True)),
                Stage(2, (0,), iterative=True, nest=LoopNest(2, 2, 2, 1)),
            ),
            (2,),
            99,
            1234,
            stripes=5,
            loops=(Repeat(2, (Iteration(0, skips=3), *LOOPS)), Iteration(2)),
        ),
    ),
    buffers=(
        Buffer(Role.TENSOR, 1, 64, 0, 1, 16),
        Buffer(Role.ROLLING_BUFFER, 2, 24, 0, 1, column_windows=(ColumnWindow(1, 4), ColumnWindow(3, 8))),
    ),
    offsets=(0, 64),
    head=88,
    lower_bound=80,
    proven=False,
)


def through_json(plan: Plan) -> Plan:
    return Plan.from_json(json.loads(json.dumps(plan.to_json())))


@pytest.mark.parametrize("plan", [MIXED, TILED])
def test_a_plan_survives_json(plan: Plan) -> None:
    assert through_json(plan) == plan


def test_real_plans_survive_json() -> None:
    for seed in seeds(4):
        s = random_sketch(seed)
        outputs = s.unread()
        found = plan(s.row_graph(*outputs), Options(seconds=0.1))
        assert through_json(found) == found
