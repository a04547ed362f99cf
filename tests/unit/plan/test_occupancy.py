"""The map of a plan over time, rebuilt from the plan alone, needs exactly the memory that the planner states."""

from __future__ import annotations

import pytest
from models import Net

from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.occupancy import occupancy
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE


def residual(seed: int) -> bytes:
    net = Net(seed)
    x = net.conv2d(net.input((1, 24, 20, 3)), 8, kernel=(3, 3), stride=(2, 2), out=(0.4, -5))
    y = net.conv2d(net.depthwise_conv2d(x, out=(0.3, -7)), 8, out=(0.4, -5))
    z = net.depthwise_conv2d(net.add(x, y, out=(0.5, 1)), stride=(2, 2))
    return net.model(net.conv2d(net.mean(z, (1, 2)), 4))


def two_outputs(seed: int) -> bytes:
    net = Net(seed)
    x = net.conv2d(net.input((1, 16, 16, 3)), 6, kernel=(3, 3))
    y = net.depthwise_conv2d(x, out=(0.3, -7))
    return net.model(x, net.conv2d(y, 4))


@pytest.fixture(scope="module", params=[(residual, True), (residual, False), (two_outputs, True), (two_outputs, False)])
def planned(request: pytest.FixtureRequest) -> Planned:
    make, tiles = request.param
    annotated = pipeline.annotate(read(make(7)).graph)
    found = pipeline.make_plan(annotated, ConversionOptions(tiles=NO_RECOMPUTE if tiles else None))
    assert found
    return found


def test_groups_fire_as_often_as_the_plan_says(planned: Planned) -> None:
    assert planned.groups
    for group in planned.groups.values():
        assert len(group.trace.moments) == group.step.iterations


def test_the_most_bytes_alive_are_the_lower_bound(planned: Planned) -> None:
    time = occupancy(planned)
    assert max(time.live) == planned.plan.lower_bound
