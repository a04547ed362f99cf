"""Kernels that compute several pixels at once write some pixels before they have read all windows."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from models import Net
from planning import plan_of
from property.forced import forced, mobile
from property.networks import build

from tflm_memopt.analysis.costs import Work
from tflm_memopt.check.checker import check
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.frontier import Plans
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.plan.chains import chain_of, lives_of
from tflm_memopt.plan.effort import Budget
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.trace import Member
from tflm_memopt.plan.nest import LoopNest
from tflm_memopt.plan.plan import Group, Plan, Stage
from tflm_memopt.plan.search.groups import (
    UNLIMITED,
    Candidate,
    Chain,
    in_rows,
    members_of,
    more_at_once,
    with_more_room,
)
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE, Settings
from tflm_memopt.plan.search.widening import GroupForm, GroupForms
from tflm_memopt.rowgraph.graph import Region, RowGraph

OPTIONS = ConversionOptions(seconds=0, target="cortex-m4", reorder=False, tiles=NO_RECOMPUTE, effort=0.1)


def planned(model: bytes, options: ConversionOptions = OPTIONS) -> Planned:
    return plan_of(read(model).graph, options)


def at_once(plan: Plan) -> list[int]:
    return [stage.at_once for step in plan.steps if isinstance(step, Group) for stage in step.stages]


WHOLE_ROW = 1000


def wide(plan: Plan) -> list[int]:
    groups = (step for step in plan.steps if isinstance(step, Group))
    return [(stage.nest.tile or WHOLE_ROW) * stage.at_once for group in groups for stage in group.stages]


def iterations(done: Sequence[Work]) -> float:
    return sum(work.iterations for work in done)


def plans_of(model: bytes) -> tuple[Plans, RowGraph]:
    graph = pipeline.row_graph(pipeline.annotate(read(model).graph), OPTIONS)
    assert graph is not None
    return Plans(graph, OPTIONS), graph


@pytest.mark.parametrize("seed", [0, 7, 8])
def test_more_bytes_let_more_pixels_be_computed_at_once(seed: int) -> None:
    plans, graph = plans_of(build(mobile(seed)))
    plan = plans.at(plans.macs)
    assert plans.roomier(plan, plan.head, iterations).head <= plan.head
    more = plans.roomier(plan, 2 * plan.head, iterations)
    assert more.head <= 2 * plan.head
    assert sum(wide(more)) > sum(wide(plan))
    check(more, graph)


def test_groups_whose_operators_all_compute_rows_lose_their_tiles() -> None:
    _, graph = plans_of(build(mobile(0)))
    number = graph.nodes.index(next(node for node in graph.nodes if isinstance(node, Region)))
    chain = chain_of(graph, number, 0, lives_of(graph))
    stages = tuple(Stage(key, (0,), nest=LoopNest(1, 1, 1, 1)) for key in chain.keys)
    tiled = Candidate(0, len(stages), 0, 0, stages, stripes=chain.ops[-1].writes.h)
    for scratch in (0, 1):
        rows = in_rows(tiled, chain, len(stages), scratch)
        assert rows.stripes == 0 and all(stage.nest.by_rows for stage in rows.stages)
        assert any(stage.pixels for stage in rows.stages) == (scratch > 0)


def test_first_operators_compute_rows_in_the_scratch_of_their_tiles() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 6, 6, 8)), 8, kernel=(3, 3))
    _, graph = plans_of(net.model(net.conv2d(x, 8, kernel=(3, 3))))
    chain = chain_of(graph, graph.nodes.index(graph.regions[0]), 0, lives_of(graph))
    stages = tuple(Stage(key, (0,), nest=LoopNest(1, 1, 1, 1), pixels=1) for key in chain.keys)

    def scratch(group: Candidate) -> int:
        return max(member.scratch_bytes for member in members_of(chain, group)[0])

    def rows(group: Candidate) -> float:
        return -sum(stage.nest.by_rows for stage in group.stages)

    def priced(form: GroupForm, nbytes: int) -> GroupForm:
        return replace(form, nbytes=scratch(form.group), work=0.0)

    tiled = Candidate(0, 2, 0, 0, stages, stripes=6)
    forms = GroupForms(chain, tiled, rows, priced, wide=True)
    found = forms.within(scratch(tiled), lambda group: group if group.stripes else None, Budget(1.0))
    assert found and [stage.nest.by_rows for stage in found.stages] == [True, False]


def test_more_bytes_let_a_single_pixel_be_copied_to_scratch() -> None:
    net = Net()
    _, graph = plans_of(net.model(net.conv2d(net.input((1, 6, 6, 8)), 8, kernel=(3, 3))))
    (number,) = (i for i, node in enumerate(graph.nodes) if isinstance(node, Region))
    chain = chain_of(graph, number, 0, lives_of(graph))
    (op,) = chain.ops
    single = Candidate(0, 1, 0, 0, (Stage(chain.keys[0], (0,), nest=LoopNest(1, 1, 1, 1)),), stripes=6)
    copied = with_more_room(single, chain, 0)
    sizes = [
        Member(group.stages[0], op, 6).scratch_bytes for group in (single, copied, more_at_once(copied, chain, 0, 2))
    ]
    assert sizes == [8, 2 * 72, 2 * 2 * 72]
    assert [group.stages[0].reads_in_place(op) for group in (single, copied)] == [True, False]
    assert with_more_room(copied, chain, 0) == copied


def refusal(found: Planned, number: int, most: int) -> str:
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
    net = Net(1)
    x = net.input((1, 12, 6, 8))
    with forced(Settings(tile=1, at_once=2, group_channels=0).once, 5):
        found = planned(net.model(net.depthwise_conv2d(x, kernel=(3, 3), padding="VALID")))
    group = found.plan.steps[0]
    assert isinstance(group, Group) and group.stripes and at_once(found.plan) == [1]
    assert "computes 2 iterations at once over its own input" in refusal(found, 0, 2)


def test_a_group_in_reversed_row_order_keeps_its_tiles() -> None:
    graph = plans_of(build(mobile(0)))[1]
    keys = tuple(i for region in graph.regions for i in region.ops)
    chain = Chain(keys, tuple(graph.ops[i] for i in keys), frozenset(graph.model.outputs), 0)
    tiled = (group for found in tiled_candidates(chain, NO_RECOMPUTE, UNLIMITED).values() for group in found)
    group = next(group for group in tiled if in_rows(group, chain, 1) != group)
    backward = replace(group, is_reversed=True)
    assert in_rows(backward, chain, 1) == backward
