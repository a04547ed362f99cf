"""Test the first pass of a reduction in two halves of its channels: which operators are cut, and the halves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from models import Net

import tflm_memopt
from tflm_memopt.convert import pipeline
from tflm_memopt.model.graph import Op
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Group
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.halves import in_halves

EXPAND, DEPTHWISE, RELU, MEAN = 1, 2, 3, 4
"""Operators of reduced()."""


def reduced(channels: int = 40, *, also: bool = False, dense: bool = False) -> Callable[[], bytes]:
    """Expand, depthwise, RELU6, MEAN, dense. `also`: the depthwise output is a model output. `dense`: no MEAN."""

    def build() -> bytes:
        net = Net(3)
        x = net.conv2d(net.input((1, 6, 5, 3)), 4, kernel=(3, 3))
        wide = net.depthwise_conv2d(net.conv2d(x, channels))
        # of another scale, so that it remains an operator
        bent = net.unary("RELU6", wide, out=(0.04, -100))
        if dense:
            return net.model(net.fully_connected(bent, 7))
        return net.model(net.fully_connected(net.mean(bent, (1, 2)), 7), *([wide] if also else []))

    return build


def cut(data: bytes, first: int = EXPAND) -> tuple[RowGraph, RowGraph]:
    annotated = pipeline.annotate(read(data).graph)
    graph = pipeline.find_regions(annotated, fold=False)
    assert graph is not None
    return graph, in_halves(graph, first)


def stated(graph: RowGraph, row: RowOp) -> Op:
    """Return an operator in the model's form."""
    key = next(key for key, op in graph.ops.items() if op is row)
    return next(op for op in graph.model.ops if op.index == key)


@pytest.mark.parametrize(("channels", "halves"), [(32, (16, 16)), (40, (16, 24)), (48, (32, 16)), (63, (32, 31))])
def test_halves_together_are_the_whole(channels: int, halves: tuple[int, int]) -> None:
    before, after = cut(reduced(channels)())
    kept = {key for key in before.ops if key in after.ops}
    gone = [op for key, op in before.ops.items() if key not in kept]
    (region,) = after.regions
    new = [after.ops[key] for key in region.ops if key not in kept]
    *parts, join = new
    one, other = parts[: len(gone)], parts[len(gone) :]
    assert [op.name for op in one] == [op.name for op in other] == [op.name for op in gone]
    for whole, *both in zip(gone, one, other, strict=True):
        assert tuple(op.writes.c for op in both) == halves
        assert sum(op.macs for op in both) == whole.macs
        assert {op.sources for op in both} == {whole.sources}
        for op in both:
            assert after.model.tensors[op.output].shape == (1, op.writes.h, op.writes.w, op.writes.c)
            assert stated(after, op).inputs[1:] == stated(before, whole).inputs[1:]  # constants
        if whole.kind in (Kind.CONV, Kind.DEPTHWISE):
            assert whole.weights is not None
            axis = 0 if whole.kind is Kind.CONV else -1
            np.testing.assert_array_equal(
                np.concatenate([op.weights for op in both if op.weights is not None], axis), whole.weights
            )
    assert join.kind is Kind.COPY
    assert join.inputs == (one[-1].output, other[-1].output)
    assert (join.output, join.writes) == (gone[-1].output, gone[-1].writes)
    assert one[0].inputs == other[0].inputs == gone[0].inputs
    assert region.outputs == before.regions[0].outputs


@pytest.mark.parametrize(
    ("model", "first"),
    [
        (reduced(31), EXPAND),
        (reduced(also=True), EXPAND),
        (reduced(dense=True), EXPAND),
        (reduced(), 0),
        (reduced(), DEPTHWISE),
        (reduced(), 99),
    ],
    ids=["narrow", "read elsewhere", "channels meet", "not reduced alone", "no convolution", "gone"],
)
def test_what_cannot_be_cut_stays_as_it_is(model: Callable[[], bytes], first: int) -> None:
    before, after = cut(model(), first)
    assert after == before


def gated() -> bytes:
    """The tensor after the gate is small compared with a few rows of the wide one, so the first pass is the
    bottleneck.
    """
    net = Net(4)
    x = net.conv2d(net.input((1, 9, 9, 3)), 4, kernel=(3, 3))
    wide = net.depthwise_conv2d(net.conv2d(x, 64), kernel=(3, 3))
    gate = net.conv2d(net.conv2d(net.mean(wide, (1, 2)), 2, activation="RELU"), 64)
    return net.model(net.conv2d(net.binary("MUL", wide, gate, out=net.affine(wide)), 4))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["generic", "cortex-m4", "rv32-v"])
def test_a_first_pass_in_halves_is_bit_exact_on_every_target(target: str) -> None:
    data = gated()
    done = tflm_memopt.optimize(data, max_macs=2.2, target=target)
    assert done.plan is not None
    assert done.plan.passes
    joined = [o for group in done.report.groups for o in group.operators if o == "CONCATENATION"]
    assert len(joined) == 1
    assert done.report.macs.rewritten == done.plan.macs == sum(s.macs for s in done.plan.steps if isinstance(s, Group))
    assert tflm_memopt.verify(data, done.model, runs=1).bit_exact
