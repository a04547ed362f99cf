"""Random networks that `--ops builtin` rewrites give the same bytes in a smaller arena."""

import random

import pytest
from hypothesis import assume, given
from models import Net
from property.networks import Recipe, build, recipes
from property.oracle import assert_arena_as_predicted, assert_same_bytes
from property.test_random_models import MANY, QUICK, running

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.plan.choices import MOVES
from tflm_memopt.tflm.refused import refusals

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

KERNELS = (None, "reference", "reference", "cmsis-nn", "esp-nn")
FLOOR = 0.9
LESS = 0.7


def examine_builtin(recipe: Recipe) -> None:
    data, rng = build(recipe), random.Random(recipe.seed)
    assume(not refusals(read(data)))
    before = running(data)
    allowed = rng.sample(MOVES, rng.randint(0, 3))
    done = tflm_memopt.optimize(
        data,
        ops="builtin",
        kernels=rng.choice(KERNELS),
        allow_ops=allowed,
        max_macs=rng.choice((1, 1.2, 2)),
        effort=0.2,
    )
    assert done.report.arena.total <= done.report.original_arena.total
    kinds = {op.type for op in read(data).graph.ops}.union(allowed)
    assert kinds.issuperset(op.type for op in read(done.model).graph.ops)
    if done.report.changed:
        assert_arena_as_predicted(done.model, assert_same_bytes(data, done.model, seed=recipe.seed, before=before))


@QUICK
@given(recipes())
def test_some_networks(recipe: Recipe) -> None:
    examine_builtin(recipe)


@pytest.mark.slow
@MANY
@given(recipes())
def test_many_networks(recipe: Recipe) -> None:
    examine_builtin(recipe)


def mobile(seed: int) -> bytes:
    rng, net = random.Random(seed), Net(seed)
    x = net.conv2d(net.input((1, rng.randint(20, 40), rng.randint(16, 32), 3)), 8, kernel=(3, 3), padding="SAME")
    for _ in range(rng.randint(1, 4)):
        x = net.depthwise_conv2d(x, stride=rng.choice(((1, 1), (2, 2))), padding=rng.choice(("SAME", "VALID")))
        x = net.conv2d(x, 8 * rng.randint(1, 4))
    return net.model(net.fully_connected(net.mean(x, (1, 2), keep=False), 5))


@pytest.mark.slow
def test_most_networks_gain() -> None:
    left = []
    for seed in range(4):
        data = mobile(seed)
        done = tflm_memopt.optimize(data, ops="builtin", kernels="reference", allow_ops=MOVES, max_macs=1.5, effort=0.2)
        assert_same_bytes(data, done.model, seed=seed, before=running(data))
        left.append(done.report.arena.head / done.report.original_arena.head)
    assert sum(share < 1 for share in left) >= FLOOR * len(left)
    assert sorted(left)[len(left) // 2] <= LESS
