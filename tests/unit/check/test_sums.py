"""The checker refuses a sliding sum that adds or subtracts wrong rows."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from models import Net
from planning import plan_of

from tflm_memopt.check.checker import check
from tflm_memopt.check.states import check_sums
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Access, RowOp
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.rowgraph.inputs import SLIDING, InputMode

OLDER, NEW = 14, 2
READ, ROW = Access(mul=0, extent=NEW), Access(mul=0)


@cache
def planned() -> Planned:
    net = Net()
    x = net.conv2d(net.input((1, 18, 2, 3)), 4, kernel=(3, 1), padding="VALID")
    options = ConversionOptions(seconds=0, effort=0.1, tiles=None, input=InputMode(SLIDING, NEW))
    return plan_of(read(net.model(net.mean(x, (1, 2)))).graph, options)


@cache
def sums() -> tuple[int, RowOp]:
    return next((key, op) for key, op in planned().graph.ops.items() if op.kind is Kind.SLIDING_SUM)


def refused(key: int, **fields: Any) -> str:
    done = planned()
    ops = {**done.graph.ops, key: replace(done.graph.ops[key], **fields)}
    with pytest.raises(PlanError) as caught:
        check(done.plan, replace(done.graph, ops=ops))
    return caught.value.code


@pytest.mark.parametrize(
    "access",
    [
        pytest.param((READ, Access(1, 0, extent=NEW), ROW), id="rows that stay are taken off"),
        pytest.param((READ, ROW, ROW), id="fewer rows are taken off"),
        pytest.param((ROW, READ, ROW), id="fewer rows are added"),
    ],
)
def test_sums_of_other_rows(access: tuple[Access, ...]) -> None:
    assert refused(sums()[0], access=access) == "bad_plan"


@pytest.mark.parametrize("rows", [-1, 1])
def test_a_division_by_other_rows(rows: int) -> None:
    key, op = sums()
    assert op.window.kernel_h == OLDER + NEW
    assert refused(key, window=replace(op.window, kernel_h=OLDER + NEW + rows)) == "bad_plan"


def test_sums_that_begin_as_something_else() -> None:
    key, op = sums()
    assert refused(key, updates=tuple(replace(rolling_buffer, fill=1) for rolling_buffer in op.updates)) == "bad_plan"


def test_rows_near_padding_that_are_not_added() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 18, 2, 3)), 4, kernel=(3, 1), padding="SAME")
    options = ConversionOptions(seconds=0, effort=0.1, tiles=None, input=InputMode(SLIDING, NEW))
    ops = plan_of(read(net.model(net.mean(x, (1, 2)))).graph, options).graph.ops.values()
    check_sums(ops)
    (op,) = (op for op in ops if op.kind is Kind.SLIDING_SUM)
    assert len(op.inputs) == 4
    fewer = replace(op, access=(*op.access[:2], replace(op.access[2], extent=op.access[2].extent - 1), op.access[3]))
    with pytest.raises(PlanError, match="it adds or subtracts other rows than those of the window"):
        check_sums([fewer if other is op else other for other in ops])
