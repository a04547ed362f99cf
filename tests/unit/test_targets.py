"""Test for which operators the option --target packs weights."""

import dataclasses

import numpy as np
import pytest
from models import Net
from planning import plan_of

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.check.kernels import kernel_scratch
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError, UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import SCRATCH_VARIES, Packing
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.plan.nest import BY_ROWS, LoopNest
from tflm_memopt.plan.plan import Group, Plan, Role, Stage


@pytest.fixture(scope="module")
def model() -> bytes:
    net = Net()
    return net.model(net.conv2d(net.conv2d(net.input((1, 12, 10, 8)), 6, kernel=(3, 3)), 4))


def test_a_plan_for_another_target(model: bytes) -> None:
    plan = tflm_memopt.optimize(model, target="cortex-m4").plan
    assert plan is not None
    with pytest.raises(UsageError) as error:
        tflm_memopt.optimize(model, plan=plan.to_json())
    assert error.value.code == "bad_plan" and "for target cortex-m4, not for generic" in str(error.value)
    again = tflm_memopt.optimize(model, plan=plan.to_json(), target="cortex-m4")
    assert again.plan == plan


@pytest.mark.parametrize(("channels", "nbytes"), [(6, 16), (8, 8)])
def test_the_checker_knows_what_kernels_write(channels: int, nbytes: int) -> None:
    net = Net()
    model = net.model(net.conv2d(net.conv2d(net.input((1, 12, 10, 8)), channels, kernel=(3, 3)), 4))
    planned = plan_of(read(model).graph, ConversionOptions(target="cortex-m4", seconds=0.1))
    plan, graph = planned.plan, planned.graph
    index = next(i for i, b in enumerate(plan.buffers) if b.role is Role.SCRATCH)

    def changed(**by: int) -> Plan:
        small = dataclasses.replace(plan.buffers[index], nbytes=plan.buffers[index].nbytes - by.get("smaller", 0))
        buffers = (*plan.buffers[:index], small, *plan.buffers[index + 1 :])
        offsets = (*plan.offsets[:index], by.get("offset", plan.offsets[index]), *plan.offsets[index + 1 :])
        return dataclasses.replace(plan, buffers=buffers, offsets=offsets)

    check(changed(), graph)
    with pytest.raises(PlanError, match=f"needs {nbytes} bytes"):
        check(changed(smaller=4), graph)
    counters = next(o for b, o in plan.placed() if b.role is Role.COUNTERS and b.first == plan.buffers[index].first)
    with pytest.raises(PlanError, match="was overwritten or never written"):
        check(changed(offset=counters // 4 * 4), graph)


@pytest.mark.parametrize(("pixels", "error"), [(1, "needs 144 bytes"), (2, "cannot have scratch for 2 pixels")])
def test_the_checker_knows_which_convolutions_read_in_place(model: bytes, pixels: int, error: str) -> None:
    planned = plan_of(read(model).graph, ConversionOptions(target="cortex-m4", seconds=0.1))
    (group,) = planned.plan.steps
    assert isinstance(group, Group) and group.stages[0].reads_in_place(planned.graph.ops[group.stages[0].op])
    stages = (dataclasses.replace(group.stages[0], pixels=pixels), *group.stages[1:])
    changed = dataclasses.replace(planned.plan, steps=(dataclasses.replace(group, stages=stages),))
    with pytest.raises(PlanError, match=error):
        check(changed, planned.graph)


@pytest.mark.parametrize("packing", Packing)
def test_checker_and_planner_agree_on_scratch(packing: Packing) -> None:
    rng = np.random.default_rng(0)
    for _ in range(400):
        kernel_h, kernel_w, stride_w = (int(n) for n in rng.choice((1, 1, 1, 2, 3, 3, 5), 3))
        channels, depth, columns = (int(n) for n in rng.integers(1, (30, 9, 14)))
        channels, columns = channels * int(rng.choice((1, 1, 8, 16))), int(rng.choice((1, columns)))
        at_once = int(rng.integers(1, 5)) if packing is Packing.DSP_CONV else 1
        op = RowOp(
            Kind.CONV, "", (), (0,), 1, (Rows(9, 14, channels),), Rows(9, 14, depth), (0,), 0,
            window=Window(kernel_h, kernel_w, stride_w=stride_w), packing=packing, param=int(rng.integers(0, 2)),
        )  # fmt: skip
        pixels = int(rng.integers(0, 5)) if packing in SCRATCH_VARIES and at_once == 1 else 0
        nest = LoopNest(1, 1, 1, columns) if rng.integers(0, 2) else BY_ROWS
        stage = Stage(0, (0,), nest=nest, at_once=at_once, pixels=pixels)
        known = op.scratch_bytes(columns, at_once, pixels, stage.packing(op))
        assert kernel_scratch(stage, op, columns) == known, (op, columns, at_once, pixels)
