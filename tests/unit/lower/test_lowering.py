"""Test addresses in the workspace of programs, and the order of operands."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from models import Net
from planning import plan_of

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.lower.lowering import CustomOp, lower, workspace
from tflm_memopt.lower.program import Program
from tflm_memopt.model.names import REGION
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.layout.drafts import TFLM_ALIGN
from tflm_memopt.plan.plan import Group, Role
from tflm_memopt.rowgraph.graph import Region


@cache
def planned(data: bytes, *, op_per_group: bool = False) -> Planned:
    """Return a plan of groups that run row by row."""
    options = ConversionOptions("group" if op_per_group else "region", seconds=0.3, tiles=None)
    return plan_of(read(data).graph, options)


def custom(found: Planned) -> CustomOp:
    (region,) = (node for node in found.graph.nodes if isinstance(node, Region))
    return CustomOp(REGION, tuple(found.groups.values()), region.inputs, region.outputs)


def program_of(found: Planned) -> Program:
    return lower(custom(found))


def line_buffers() -> bytes:
    """Return a model of one group whose inner tensors are larger than its input and output."""
    net = Net(seed=1)
    x = net.conv2d(net.input((1, 24, 9, 1)), 8, kernel=(3, 3))
    y = net.depthwise_conv2d(x, kernel=(3, 3), dilation=(2, 1))
    return net.model(net.mean(net.conv2d(net.add(x, y), 3), (1, 2)))


def two_groups() -> bytes:
    """Return a model with a tensor between two groups of layers, and a dense layer on an image."""
    net = Net(seed=2)
    x = net.conv2d(net.input((1, 4, 4, 2)), 3, kernel=(3, 3))
    return net.model(net.fully_connected(x, 60))


@pytest.mark.parametrize("model", [line_buffers, two_groups])
def test_offsets_count_from_the_workspace(model) -> None:
    found = planned(model())
    plan, program, unit = found.plan, program_of(found), custom(found)
    space = workspace(unit)
    own = [(b, o) for b, o in plan.placed() if b.role is not Role.TENSOR or b.key not in {*unit.inputs, *unit.outputs}]
    assert space.offset % TFLM_ALIGN == 0
    assert space.offset <= min(o for _, o in own) < space.offset + TFLM_ALIGN
    assert space.offset + space.nbytes == max(o + b.nbytes for b, o in own)
    assert program.workspace == space.nbytes
    counters = [o - space.offset for b, o in own if b.role is Role.COUNTERS]
    assert [group.counters for group in program.groups] == counters
    rolling_buffers = {(o - space.offset, b.depth) for b, o in own if b.role is Role.ROLLING_BUFFER}
    assert {(t.offset, t.depth) for t in program.tensors if t.base == 0 and t.depth < t.height} <= rolling_buffers


def add_of(found: Planned) -> RowOp:
    return next(op for op in found.graph.ops.values() if op.kind is Kind.ADD)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_operands_are_listed_in_the_order_of_demand(order: tuple[int, int]) -> None:
    """Zero points, multipliers and shifts have the order of the operands."""
    found = planned(line_buffers())
    add = add_of(found)
    plan = replace(found.plan, steps=tuple(_demanding(step, add, order) for step in found.plan.steps))
    unit = custom(replace(found, plan=plan))
    program = lower(unit)
    (op,) = (op for op in program.ops if op.kind is Kind.ADD)
    places = {t: o for role in (Role.ROLLING_BUFFER, Role.TENSOR) for t in add.inputs if (o := plan.find(role, t))}
    offset = workspace(unit).offset
    assert [program.tensors[i].offset for i in op.inputs] == [places[add.inputs[k]][1] - offset for k in order]
    assert op.input_zero_points == tuple(add.input_zero_points[k] for k in order)
    assert op.swapped == (order == (1, 0))
    assert add.multipliers is not None
    assert op.multipliers is not None
    assert op.multipliers.tolist() == [*(add.multipliers[k] for k in order), add.multipliers[2]]


def _demanding(step: object, op: RowOp, order: tuple[int, ...]) -> object:
    if not isinstance(step, Group):
        return step
    (key,) = op.sources[-1:]
    return replace(step, stages=tuple(replace(s, operands=order) if s.op == key else s for s in step.stages))
