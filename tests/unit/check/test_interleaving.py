"""The checker refuses applications in which one model overwrites a byte that another model still needs."""

from dataclasses import replace
from functools import cache

import pytest
from unit.command import small

from tflm_memopt.check.checker import Sharer, check_together
from tflm_memopt.convert.request import request
from tflm_memopt.errors import PlanError
from tflm_memopt.plan.plan import Plan, Role


@cache
def sharer(seed: int, where: str = "arena") -> Sharer:
    options = {"effort": 0.05, "seconds": 0.2, "input": where}
    conversion = request(options).conversion(small(seed))
    found = conversion.once.planned
    return Sharer(f"model {seed}", found.plan, found.graph)


def above(plan: Plan, by: int) -> Plan:
    return replace(plan, offsets=tuple(o + by for o in plan.offsets), head=plan.head + by)


def test_in_turn_all_bytes_may_be_shared() -> None:
    check_together([sharer(1), sharer(2)], ())


def test_at_the_same_time_none() -> None:
    one, two = sharer(1), sharer(2)
    with pytest.raises(PlanError, match="run at the same time and both write byte"):
        check_together([one, two], {(0, 1)})
    aligned = -(-one.plan.head // 16) * 16
    check_together([one, two._replace(plan=above(two.plan, aligned))], {(0, 1)})


def test_what_is_retained_has_to_stay() -> None:
    one, two = sharer(1), sharer(2)
    keeps = one._replace(retained=one.graph.model.outputs)
    with pytest.raises(PlanError, match="together with others: the model's output, retained"):
        check_together([keeps, two], ())
    ((buffer, at),) = [
        (b, o) for b, o in one.plan.placed() if b.role is Role.TENSOR and b.key in one.graph.model.outputs
    ]
    check_together([keeps, two._replace(plan=above(two.plan, -(-(at + buffer.nbytes) // 16) * 16))], ())


def paused(*after: int) -> Sharer:
    one = sharer(1)
    return one._replace(plan=replace(one.plan, pauses=after))


def test_what_is_alive_at_a_pause_has_to_stay() -> None:
    one, two = paused(9), sharer(2)
    with pytest.raises(PlanError, match="'model 1' together with others"):
        check_together([one, two], (), {(0, 1)})
    check_together([one, two._replace(plan=above(two.plan, -(-one.plan.head // 16) * 16))], (), {(0, 1)})


def test_what_waits_for_rows_has_to_stay() -> None:
    one, two = sharer(1, "stream"), sharer(2)
    with pytest.raises(PlanError, match="'model 1' together with others"):
        check_together([one, two], ())
    check_together([one, two._replace(plan=above(two.plan, -(-one.plan.head // 16) * 16))], ())
