"""Random networks whose layers are split into partial sums give the original's bytes under the official TFLM wheel."""

import pytest
from hypothesis import given
from in_sums import in_parts
from models import Net
from property.networks import Recipe, build, recipes
from property.oracle import assert_arena_as_predicted, assert_same_bytes, convert
from property.test_random_models import QUICK, drawn, running

from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp


def examine_parts(recipe: Recipe) -> None:
    data = build(recipe)
    agree(data, 2 + recipe.seed % 5, recipe.seed)


def agree(data: bytes, parts: int, seed: int) -> list[RowOp]:
    before = running(data)
    converted = convert(in_parts(data, parts), drawn(seed))
    if converted is None:
        return []
    new, planned = converted
    assert_arena_as_predicted(new, assert_same_bytes(data, new, seed=seed, before=before))
    return [*planned.graph.ops.values()]


@pytest.mark.slow
@QUICK
@given(recipes(most=4))
def test_random_networks(recipe: Recipe) -> None:
    examine_parts(recipe)


@pytest.mark.slow
def test_layers_of_every_window() -> None:
    for seed in (0, 3):
        net, odd = Net(seed), seed % 2
        x = net.conv2d(net.input((1, 9 + odd, 7, 3 + seed % 4)), 12, kernel=(3, 2), stride=(1 + odd, 1))
        y = net.conv2d(x, 9, kernel=(2, 3), padding="VALID", activation="RELU6")
        z = net.conv2d(net.add(net.conv2d(x, 8), net.conv2d(x, 8)), 10, kernel=(3, 3), dilation=(2, 1))
        ends = [net.fully_connected(net.mean(t, (1, 2)), 7) for t in (y, net.depthwise_conv2d(z))]
        parts = 2 + seed % 5
        ops = agree(net.model(*ends), parts, seed)
        made = [op for op in ops if op.kind is Kind.SUMS]
        added = [op for op in ops if op.kind is Kind.ADD_SUMS]
        assert len(made) >= 5 * parts
        assert any(op.multipliers is None for op in added) == (parts > 4)
