"""Hidden vectors are never whole: dense layers and one-pixel convolutions in channel groups, under TFLM."""

from __future__ import annotations

import pytest
from models import Net
from property.oracle import assert_arena_as_predicted, assert_same_bytes

import tflm_memopt
from tflm_memopt.plan.plan import Group, Plan

MIDDLE = {"LOGISTIC": (1 / 256, -128), "HARD_SWISH": (0.1, 3)}


def layers(sizes: tuple[int, ...], *, pixels: bool = False, middle: str = "") -> bytes:
    """Return dense layers or 1 x 1 convolutions of one pixel, with an elementwise function after the hidden ones."""
    net = Net(seed=3)
    x = net.input((1, 1, 1, sizes[0]) if pixels else (1, sizes[0]))
    for n, size in enumerate(sizes[1:], 2):
        x = net.conv2d(x, size) if pixels else net.fully_connected(x, size)
        if middle and n < len(sizes):
            x = net.unary(middle, x, out=MIDDLE[middle])
    return net.model(x)


def groups(plan: Plan) -> list[list[int]]:
    """Return the number of channel groups of every operator in each plan group."""
    return [[stage.nest.channel_groups for stage in step.stages] for step in plan.steps if isinstance(step, Group)]


@pytest.mark.parametrize("pixels", [False, True], ids=["dense", "pixels"])
def test_a_wide_hidden_vector(*, pixels: bool) -> None:
    """The head holds the sums, a channel group, the counters, and the input or output (Figure 4.2)."""
    data = layers((64, 1024, 64), pixels=pixels)
    done = tflm_memopt.optimize(data)
    assert done.plan
    assert groups(done.plan) == [[128, 129]]
    assert done.report.arena.head == 352  # 64 + 4 * 64 + 8 + 2 * 8, rounded up to a multiple of 16
    assert done.report.overhead == 1
    assert_arena_as_predicted(done.model, assert_same_bytes(data, done.model, seed=1))


@pytest.mark.parametrize("middle", ["", "LOGISTIC"])
def test_a_hidden_vector_that_is_read_twice_is_whole(middle: str) -> None:
    """The tensor between the hidden vector and the next layer is whole, too."""
    net = Net(seed=4)
    hidden = net.fully_connected(net.input((1, 16)), 200)
    between = net.unary(middle, hidden, out=MIDDLE[middle]) if middle else hidden
    data = net.model(net.fully_connected(between, 4), net.unary("HARD_SWISH", hidden, out=MIDDLE["HARD_SWISH"]))
    done = tflm_memopt.optimize(data, if_worthwhile=False)
    assert done.plan
    assert max(n for group in groups(done.plan) for n in group) == 1
    assert_same_bytes(data, done.model, seed=3)
