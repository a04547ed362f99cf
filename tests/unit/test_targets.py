"""Test --target: what is packed, its arena, and refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from models import Net

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError, UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.ops import packings
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.plan.plan import Plan, Role


@pytest.fixture(scope="module")
def model() -> bytes:
    net = Net()
    return net.model(net.conv2d(net.conv2d(net.input((1, 12, 10, 8)), 6, kernel=(3, 3)), 4))


CONV = RowOp(
    kind=Kind.CONV, name="CONV_2D", sources=(0,), inputs=(0,), output=1, reads=(Rows(4, 4, 8),), writes=Rows(4, 4, 2),
    input_zero_points=(-3,), output_zero_point=5, window=Window(), weights=np.full((2, 1, 1, 8), 127, np.int8),
    bias=np.array([-9, 9], np.int32), multipliers=np.array([1 << 30, 0], np.int32), shifts=np.array([-7, 0], np.int8),
)  # fmt: skip


def _column(height: int, channels: int) -> dict[str, object]:
    """Return the changes that make CONV a convolution along a column of pixels."""
    read, written = Rows(height, 1, channels), Rows(height, 1, 2)
    return {"reads": (read,), "writes": written, "window": Window(kernel_h=9)}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, None),
        ({"kind": Kind.ADD}, "ADD"),
        ({"reads": (Rows(4, 4, 2312),)}, "2312 values"),
        ({**_column(8, 1), "weights": np.ones((2, 9, 1, 1), np.int8)}, "9 of 40 values"),
        ({**_column(8, 2), "weights": np.ones((2, 9, 1, 2), np.int8)}, "18 of 40 values"),
        ({**_column(8, 3), "weights": np.ones((2, 9, 1, 3), np.int8)}, None),
        ({"weights": np.full((2, 1, 1, 8), -128, np.int8)}, "a weight is -128"),
        ({"shifts": np.array([0, 0], np.int8)}, "shift 0"),
        ({"shifts": np.array([-23, 0], np.int8)}, "shift -23"),
        ({"multipliers": np.array([(1 << 30) - 1, 0], np.int32)}, "multiplier 1073741823"),
        ({"bias": np.array([0, (1 << 23) - 8 * 127 * 130], np.int32)}, f"sum {1 << 23}"),
        ({"bias": np.array([0, (1 << 23) - 8 * 127 * 130 - 1], np.int32)}, None),
    ],
)
def test_who_is_packed(change: dict[str, object], why: str | None) -> None:
    op = dataclasses.replace(CONV, **change)  # type: ignore[arg-type]
    asked = packings.DSP_CONV if op.kind is Kind.CONV else packings.DSP_CONV[:1]
    refusals = [said for refuses in asked if (said := refuses(op))]
    assert refusals == ([why] if why else [])
    assert (packings.packing(op, Family.DSP) is Packing.NONE) == bool(why)
    assert packings.packing(op, Family.GENERIC) is Packing.NONE


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
    planned = pipeline.make_plan(
        pipeline.annotate(read(model).graph), ConversionOptions(target="cortex-m4", seconds=0.1)
    )
    assert planned is not None
    plan, graph = planned.plan, planned.graph
    index = next(i for i, b in enumerate(plan.buffers) if b.role is Role.SCRATCH)

    def changed(**by: int) -> Plan:
        small = dataclasses.replace(plan.buffers[index], nbytes=plan.buffers[index].nbytes - by.get("smaller", 0))
        buffers = (*plan.buffers[:index], small, *plan.buffers[index + 1 :])
        offsets = (*plan.offsets[:index], by.get("offset", plan.offsets[index]), *plan.offsets[index + 1 :])
        return dataclasses.replace(plan, buffers=buffers, offsets=offsets)

    check(changed(), graph)
    with pytest.raises(PlanError) as error:
        check(changed(smaller=4), graph)
    assert "needs 144 bytes" in str(error.value)
    counters = next(o for b, o in plan.placed() if b.role is Role.COUNTERS and b.first == plan.buffers[index].first)
    with pytest.raises(PlanError) as error:
        check(changed(offset=counters // 4 * 4), graph)
    assert "was overwritten or never written" in str(error.value)
