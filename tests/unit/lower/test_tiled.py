"""Run tiled plans as programs: a network in forced groups gives the bytes of its operators in sequence."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from models import Net
from planning import lowered, plan_of
from property.forced import forced
from unit.plan.tiled import OPTIONS

from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Group, Plan, Role, Stage
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.runtime import host_model

SEEDS = 5


def stages(plan: Plan) -> list[Stage]:
    return [stage for step in plan.steps if isinstance(step, Group) and step.stripes > 1 for stage in step.stages]


def has_column_windows(plan: Plan) -> bool:
    """Return whether rows of a stripe are kept for different times."""
    return any(len(b.column_windows) > 1 for b in plan.buffers if b.role is Role.ROLLING_BUFFER)


def sums_up(plan: Plan) -> bool:
    return any(stage.iterative for stage in stages(plan))


def makes_again(plan: Plan) -> bool:
    return any(stage.nest.recomputes for stage in stages(plan))


def network() -> bytes:
    """Return a model with three windows, a bottleneck, and a mean."""
    net = Net(seed=7)
    x = net.conv2d(net.input((1, 17, 11, 3)), 5, kernel=(3, 3))
    x = net.conv2d(net.conv2d(x, 6, kernel=(5, 3)), 10)
    x = net.conv2d(net.depthwise_conv2d(x, kernel=(3, 3)), 7)
    return net.model(net.mean(net.conv2d(x, 6, kernel=(3, 3), stride=(2, 2)), (1, 2)))


@cache
def planned(tile: int, cached: bool, channel_groups: int, seed: int) -> tuple[Model, Planned]:
    model = read(network())
    settings = Settings(
        stripe_rows=(2, 3), tile=tile, cache=cached, recompute=not cached, group_channels=channel_groups, overlap=True,
        max_overhead=9.0,
    )  # fmt: skip
    with forced(settings, seed):
        return model, plan_of(model.graph, OPTIONS)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    ("tile", "cached", "channel_groups", "shows"),
    [(2, True, 0, has_column_windows), (1000, True, 0, sums_up), (2, False, 0, makes_again)],
)
def test_a_tiled_program_computes_what_its_operators_do(
    tile: int, cached: bool, channel_groups: int, shows: Callable[[Plan], bool], seed: int
) -> None:
    assert any(shows(planned(tile, cached, channel_groups, other)[1].plan) for other in range(SEEDS))
    model, found = planned(tile, cached, channel_groups, seed)
    new = read(lowered(model, found, OPTIONS)).graph
    inputs = [
        np.random.default_rng(seed).integers(-128, 128, (1, *model.graph.tensors[t].shape), np.int8)
        for t in model.graph.inputs
    ]
    for expected, got in zip(
        host_model.run_model(model.graph, inputs, 1), host_model.run_model(new, inputs, 1), strict=True
    ):
        np.testing.assert_array_equal(got, expected)
