"""Single pixels that packed kernels compute at once: the order of iterations, their bytes, and the checker's limits."""

from __future__ import annotations

import itertools
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from models import Net
from planning import lowered, plan_of
from property.forced import forced, mobile
from property.networks import build
from unit.plan.sketch import Sketch

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.frontier import Plans
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.trace import Member
from tflm_memopt.plan.nest import LoopNest
from tflm_memopt.plan.plan import Group, Plan, Role, Stage
from tflm_memopt.plan.planner import Planner
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE, Settings
from tflm_memopt.rowgraph.graph import RowGraph

OPTIONS = ConversionOptions(seconds=0, target="cortex-m4", reorder=False, tiles=NO_RECOMPUTE, effort=0.1)


def planned(model: bytes, options: ConversionOptions = OPTIONS) -> Planned:
    return plan_of(read(model).graph, options)


def at_once(plan: Plan) -> list[int]:
    return [stage.at_once for step in plan.steps if isinstance(step, Group) for stage in step.stages]


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize(("advance", "end"), [(1, 1), (2, 1), (4, 3), (6, 6)])
def test_batches_are_columns_of_a_stripe_or_equal_parts_of_one(advance: int, end: int, most: int) -> None:
    s = Sketch()
    s.conv(s.input(11, 5, 8), 8)
    member = Member(Stage(0, (0,), nest=LoopNest(advance, end, advance, tile=1), at_once=most), s.ops[0], stripes=12)
    first, stop = member.batches
    units, number = member.units, np.arange(len(member.units))
    assert ((first <= number) & (number < stop) & (stop - first <= most)).all()
    assert (units.stripe[first] == units.stripe).all() and (units.stripe[stop - 1] == units.stripe).all()
    assert (first[first] == first).all() and (stop[first] == stop).all()
    made = (units.hi - units.lo)[units.stripe]
    whole = made <= most
    assert (units.row[first] == units.lo[units.stripe])[whole].all()
    assert ((stop - first)[~whole] >= made[~whole] // -(-made[~whole] // most)).all()


@pytest.mark.slow
def test_pixels_are_joined_only_where_this_takes_no_byte() -> None:
    """The operator's iterations stay in order, and those that are joined follow each other."""
    joined = 0
    for seed in (0, 5, 8, 11):
        found = planned(build(mobile(seed)))
        with mock.patch.object(Planner, "_in_batches", lambda _, plan, *__: plan):
            apart = planned(build(mobile(seed)))
        assert found.plan.head == apart.plan.head
        assert set(at_once(apart.plan)) == {1}
        joined += sum(n > 1 for n in at_once(found.plan))
        for group in found.groups.values():
            for member in group.trace.members:
                order, (_, units) = group.trace.order(member.key), group.trace.iterations_of(member.key)
                first, _ = member.batches
                together = first[units[1:]] == first[units[:-1]]
                assert (np.diff(order)[together] == 1).all()
    assert joined >= 4


WHOLE_ROW = 1000
"""A number of pixels above those of any row."""


def wide(plan: Plan) -> list[int]:
    """Return the number of pixels that each stage in a tiled group computes at once, WHOLE_ROW if it runs by row."""
    groups = (step for step in plan.steps if isinstance(step, Group) and step.stripes)
    return [(stage.nest.tile or WHOLE_ROW) * stage.at_once for group in groups for stage in group.stages]


def plans_of(model: bytes) -> tuple[Plans, RowGraph]:
    graph = pipeline.row_graph(pipeline.annotate(read(model).graph), OPTIONS)
    assert graph is not None
    return Plans(graph, OPTIONS), graph


@pytest.mark.parametrize("seed", [0, 7, 8])
def test_more_bytes_let_more_pixels_be_computed_at_once(seed: int) -> None:
    plans, graph = plans_of(build(mobile(seed)))
    plan = plans.at(plans.macs)
    assert plans.roomier(plan, plan.head).head == plan.head
    more = plans.roomier(plan, 2 * plan.head)
    assert plan.head < more.head <= 2 * plan.head
    assert sum(wide(more)) > sum(wide(plan))
    check(more, graph)


def test_tiles_are_widened_where_pixels_are_small() -> None:
    """Stages of one group have tiles of different widths, the widest ones at its front, and compute the same bytes."""
    net = Net(3)
    y = net.input((1, 32, 32, 1))
    for channels in (4, 8, 16, 32):
        y = net.conv2d(y, channels, kernel=(3, 3), stride=(2, 2) if channels > 4 else (1, 1))
    model = net.model(y)
    plans, graph = plans_of(model)
    plan = plans.at(plans.macs)
    widened = [plans.roomier(plan, plan.head + room) for room in (64, 256, 384)]
    assert all(wide(more) == sorted(wide(more), reverse=True) for more in widened)
    assert all(len(set(wide(more))) > 1 for more in widened)
    groups = [step for more in widened for step in more.steps if isinstance(step, Group)]
    assert {stage.nest.tile for group in groups for stage in group.stages} >= {1, 2, 4}
    heads = [plan.head, *(more.head for more in widened)]
    assert heads == sorted(heads) and heads[-1] <= plan.head + 384
    for more in widened:
        check(more, graph)
        source = read(model)
        rewritten = lowered(source, Planned(graph, more), OPTIONS)
        assert tflm_memopt.verify(model, rewritten, runs=2).bit_exact


def test_first_operators_run_row_by_row_in_a_tiled_group() -> None:
    """The first operators keep exactly the rows that are needed, and the bytes equal those of any other plan."""
    net = Net(3)
    y = net.conv2d(net.input((1, 32, 32, 1)), 8, kernel=(3, 3))
    for channels in (8, 16, 32):
        y = net.conv2d(net.depthwise_conv2d(y, kernel=(3, 3), stride=(2, 2)), channels, kernel=(1, 1))
    model = net.model(y)
    plans, graph = plans_of(model)
    plan = plans.at(plans.macs)
    found = [plans.roomier(plan, plan.head + room) for room in (512, 1024, 2048)]
    mixed = [more for more in found if {WHOLE_ROW, 4} <= set(wide(more))]
    assert mixed
    for more in mixed:
        check(more, graph)
        rewritten = lowered(read(model), Planned(graph, more), OPTIONS)
        assert tflm_memopt.verify(model, rewritten, runs=2).bit_exact
        kept = next(i for i, b in enumerate(more.buffers) if b.role is Role.ROLLING_BUFFER and b.depth)
        buffer = more.buffers[kept]
        fewer = replace(buffer, depth=buffer.depth - 1, nbytes=buffer.nbytes // buffer.depth * (buffer.depth - 1))
        buffers = (*more.buffers[:kept], fewer, *more.buffers[kept + 1 :])
        with pytest.raises(PlanError):
            check(replace(more, buffers=buffers), graph)


def five_wide() -> bytes:
    net = Net(3)
    y = net.conv2d(net.input((1, 49, 10, 1)), 16, kernel=(10, 4), stride=(2, 2))
    for _ in range(3):
        y = net.conv2d(net.depthwise_conv2d(y, kernel=(3, 3)), 16, kernel=(1, 1))
    return net.model(y)


def test_two_rows_at_once_keep_few_rows() -> None:
    """Rows are computed in pairs that end with the reader's two windows, so four rows are kept for two windows of three
    rows.
    """
    options = replace(OPTIONS, tiles=None, wide=True, reverse=False)
    found = planned(five_wide(), replace(options, two_rows=True))
    assert set(at_once(planned(five_wide(), options).plan)) == {1}
    kept = []
    for group in found.groups.values():
        for member, reader in itertools.pairwise(group.trace.members):
            if member.stage.at_once == reader.stage.at_once == 2:
                key = Role.ROLLING_BUFFER, member.op.output
                (buffer,) = (b for b in found.plan.buffers if (b.role, b.key) == key)
                kept.append((reader.op.window.kernel_h, buffer.nbytes // member.op.writes.row_bytes))
    assert set(kept) == {(3, 4), (1, 2)}


def test_two_rows_are_only_for_their_kernels() -> None:
    net = Net(1)
    x = net.input((1, 12, 5, 8))
    for y in (net.conv2d(x, 8, kernel=(3, 3), stride=(1, 2)), net.depthwise_conv2d(x, kernel=(3, 3), stride=(2, 2))):
        found = planned(net.model(y), replace(OPTIONS, tiles=None))
        assert "cannot compute 2 iterations at once" in refusal(found, 0, 2)
    five = planned(five_wide(), replace(OPTIONS, tiles=None, wide=True, two_rows=True, reverse=False))
    assert "cannot compute 3 iterations at once" in refusal(five, 0, 3)


def refusal(found: Planned, number: int, most: int) -> str:
    """Return the checker's error if a stage of the first group computes `most` iterations at once."""
    group = found.plan.steps[0]
    assert isinstance(group, Group)
    stages = list(group.stages)
    stages[number] = replace(stages[number], at_once=most)
    step = replace(group, stages=tuple(stages))
    with pytest.raises(PlanError) as caught:
        check(replace(found.plan, steps=(step, *found.plan.steps[1:])), found.graph)
    return str(caught.value)


def test_only_single_pixels_are_joined_and_at_most_four() -> None:
    net = Net(1)
    model = net.model(net.conv2d(net.input((1, 12, 6, 8)), 8, kernel=(3, 3)))
    with forced(replace(NO_RECOMPUTE, tile=1, group_channels=0), 2):
        pixels = planned(model)
    assert isinstance(pixels.plan.steps[0], Group)
    assert pixels.plan.steps[0].stripes
    assert "cannot compute 5 iterations at once" in refusal(pixels, 0, 5)
    assert "cannot compute 2 iterations at once" in refusal(planned(model, replace(OPTIONS, tiles=None)), 0, 2)


def test_a_depthwise_convolution_never_writes_over_its_own_input() -> None:
    """A kernel for several pixels at once writes the first ones before it has read the windows of the others."""
    net = Net(1)
    x = net.input((1, 12, 6, 8))
    with forced(Settings(tile=1, at_once=2, group_channels=0).once, 5):
        found = planned(net.model(net.depthwise_conv2d(x, kernel=(3, 3), padding="VALID")))
    group = found.plan.steps[0]
    assert isinstance(group, Group) and group.stripes and at_once(found.plan) == [1]
    assert "computes 2 iterations at once over its own input" in refusal(found, 0, 2)
