"""Test --target: what is packed, its arena, and refusals."""

from __future__ import annotations

import dataclasses

import pytest
from models import Net
from planning import plan_of

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError, UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Plan, Role


@pytest.fixture(scope="module")
def model() -> bytes:
    net = Net()
    return net.model(net.conv2d(net.conv2d(net.input((1, 12, 10, 8)), 6, kernel=(3, 3)), 4))


def test_a_plan_for_another_target(model: bytes) -> None:
    plan = tflm_memopt.optimize(model, target="cortex-m4").plan
    assert plan is not None
    with pytest.raises(UsageError) as error:
        tflm_memopt.optimize(model, plan=plan.to_json())
    assert error.value.code == "bad_plan" and "for cortex-m4, not for generic" in error.value.where
    again = tflm_memopt.optimize(model, plan=plan.to_json(), target="cortex-m4")
    assert again.plan == plan


def test_the_checker_knows_what_kernels_write(model: bytes) -> None:
    """Scratch that is too small or that overlaps live data is refused."""
    planned = plan_of(read(model).graph, ConversionOptions(target="cortex-m4", seconds=0.1))
    plan, graph = planned.plan, planned.graph
    index = next(i for i, b in enumerate(plan.buffers) if b.role is Role.SCRATCH)

    def changed(**by: int) -> Plan:
        small = dataclasses.replace(plan.buffers[index], nbytes=plan.buffers[index].nbytes - by.get("smaller", 0))
        buffers = (*plan.buffers[:index], small, *plan.buffers[index + 1 :])
        offsets = (*plan.offsets[:index], by.get("offset", plan.offsets[index]), *plan.offsets[index + 1 :])
        return dataclasses.replace(plan, buffers=buffers, offsets=offsets)

    check(changed(), graph)
    with pytest.raises(PlanError, match="needs 144 bytes"):
        check(changed(smaller=4), graph)
    counters = next(o for b, o in plan.placed() if b.role is Role.COUNTERS and b.first == plan.buffers[index].first)
    with pytest.raises(PlanError, match="was overwritten or never written"):
        check(changed(offset=counters // 4 * 4), graph)
