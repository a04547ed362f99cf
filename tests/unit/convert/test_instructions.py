"""Test budgets of estimated instructions, and the frontier over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from models import Net
from unit.command import wide

import tflm_memopt
from tflm_memopt.errors import DoesNotFit
from tflm_memopt.results import Exploration

M4: Mapping[str, Any] = {"target": "cortex-m4", "without": ("recompute",)}
"""Options of a search without recomputation, which is quick."""


@pytest.fixture(scope="module")
def frontier() -> Exploration:
    return tflm_memopt.explore(wide(), cost="instructions", **M4)


def deep() -> bytes:
    """Return a model whose convolutions have more values than a usual tile of four pixels."""
    net = Net(5)
    x = net.input((1, 24, 16, 32))
    y = net.conv2d(x, 32, kernel=(3, 3), activation="RELU")
    return net.model(net.conv2d(y, 32, kernel=(3, 3)))


def test_wide_tiles_take_fewer_instructions_and_more_ram() -> None:
    points = tflm_memopt.explore(deep(), cost="instructions", **M4).points
    fast = tflm_memopt.optimize(deep(), max_instructions=points[0].instructions, **M4)
    least = tflm_memopt.optimize(deep(), max_instructions=points[-1].instructions, **M4)
    assert fast.plan is not None
    assert fast.plan.wide
    assert fast.report.arena.total > least.report.arena.total
    assert tflm_memopt.verify(deep(), fast.model, runs=1).bit_exact
    again = tflm_memopt.optimize(deep(), plan=fast.plan.to_json(), target="cortex-m4")
    assert again.model == fast.model


@pytest.mark.slow
def test_with_a_ram_limit_the_fewest_instructions(frontier: Exploration) -> None:
    limit, most = frontier.points[1].arena.total, frontier.points[-1].instructions
    done = tflm_memopt.optimize(wide(), max_instructions=most, ram_limit=limit, **M4)
    assert done.report.instructions == {"cortex-m4": frontier.points[1].instructions}
    with pytest.raises(DoesNotFit, match="limit is") as no:
        tflm_memopt.optimize(wide(), max_instructions=frontier.points[0].instructions, ram_limit=limit, **M4)
    assert no.value.code == "does_not_fit"
    assert "group" in no.value.where
    enough = int(no.value.hint.split()[1])
    done = tflm_memopt.optimize(wide(), max_instructions=enough, ram_limit=limit, **M4)
    assert done.report.arena.total <= limit
