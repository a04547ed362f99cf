"""Random networks give the same bytes before and after rewriting, under the official TFLM wheel.

On a failure, Hypothesis prints a small recipe, and build(recipe) returns the failing model.
"""

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from conftest import seeds
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st
from models import Net
from property.forced import bordered, forced, mobile, random_settings
from property.layers import Layer
from property.networks import Recipe, build, recipes
from property.oracle import EFFORTS, assert_arena_as_predicted, assert_same_bytes, convert, draw_inputs, original

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import Planner
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE, Settings
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.rowgraph.regions import partition
from tflm_memopt.runtime.guard import guarded_runs

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

SECONDS = 0.1
FLOOR = 0.8
COMMON = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
QUICK = settings(COMMON, max_examples=5, derandomize=True, phases=[Phase.explicit, Phase.generate, Phase.shrink])
MANY = settings(COMMON, max_examples=10, print_blob=True)
SOME = settings(COMMON, max_examples=5, print_blob=True)


def running(data: bytes) -> Any:
    try:
        return original(data)
    except RuntimeError:
        assume(False)


def drawn(seed: int) -> ConversionOptions:
    rng = random.Random(seed)
    rows = random.Random(f"rows {seed}").random() < 0.2
    return ConversionOptions(
        ops="group" if rng.random() < 0.5 else "region",
        seconds=rng.choice((0, SECONDS)),
        fold=rng.random() < 0.8,
        overlap=rng.random() < 0.8,
        reorder=rng.random() < 0.5,
        target=rng.choice(sorted(TARGETS)),
        reverse=rng.random() < 0.8 and not rows,
        wide=rows,
        two_rows=rows,
        tiles=rng.choice((None, NO_RECOMPUTE)),
        effort=rng.choice(EFFORTS),
    )


def examine(recipe: Recipe) -> None:
    is_converted(recipe)


def is_converted(recipe: Recipe) -> bool:
    data = build(recipe)
    before = running(data)
    converted = convert(data, drawn(recipe.seed))
    if converted is None:
        return False
    new, planned = converted
    assert planned.plan.head >= planned.plan.lower_bound
    assert Plan.from_json(planned.plan.to_json()) == planned.plan
    assert_arena_as_predicted(new, assert_same_bytes(data, new, seed=recipe.seed, before=before))
    assert guarded_runs(read(new), draw_inputs(data, recipe.seed)[:1], recipe.seed)[1] == ""
    return True


def examine_forced(seed: int) -> None:
    data = build(bordered(mobile(seed)))
    before = running(data)
    target = random.Random(f"target {seed}").choice(("generic", *TARGETS))
    with forced(random_settings(random.Random(seed)), seed):
        converted = convert(data, ConversionOptions("group" if seed % 5 == 0 else "region", SECONDS / 4, target=target))
    assert converted is not None
    new, planned = converted
    assert Plan.from_json(json.loads(json.dumps(planned.plan.to_json()))) == planned.plan
    assert_same_bytes(data, new, seed=seed, before=before)


def test_an_operator_without_readers_does_not_need_room() -> None:
    sizes = {"kernel": (1, 1), "padding": "SAME", "zero_point": 3}
    layers = (
        Layer("conv", channels=1, **sizes), Layer("heads", channels=2, **sizes), Layer("stacked", channels=1, **sizes),
    )  # fmt: skip
    recipe = Recipe(((1, 3, 5, 1),), layers, seed=1, inside="INT16")
    assert is_converted(recipe)


def test_a_fixed_set_of_forced_plans() -> None:
    for seed in seeds(20):
        examine_forced(seed)


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_tiles_of_dilated_convolutions_read_all_columns_under_them(target: str) -> None:
    for seed in range(8):
        rng = random.Random(seed)
        net, shape = Net(seed), (1, rng.randint(3, 8), rng.randint(2, 9), rng.choice((1, 2, 3, 8)))
        kernel, dilation = (rng.randint(1, 3), rng.randint(2, 4)), (1, rng.randint(1, 3))
        data = net.model(net.conv2d(net.input(shape), rng.choice((2, 5)), kernel=kernel, dilation=dilation))
        tiles = replace(random_settings(rng), tile=rng.choice((2, 3, 4, 1000)), at_once=1, group_channels=0)
        with forced(tiles, seed):
            converted = convert(data, ConversionOptions(seconds=0, target=target, reorder=False))
        assert converted is not None
        assert_same_bytes(data, converted[0], seed=seed, before=running(data))


def test_every_point_of_a_frontier_runs() -> None:
    for seed in seeds(5, first=100):
        data = build(mobile(seed))
        source = read(data)
        annotated = pipeline.annotate(source.graph)
        parts = partition(annotated.graph, annotated.support)
        options = ConversionOptions(seconds=SECONDS / 4, tiles=Settings(max_overhead=1.5))
        planner = Planner(parts, options)
        for macs in {planner.macs, *(point.macs for point in planner.points()[:3]), planner.macs * 3 // 2}:
            plan = planner.plan(macs)
            check(plan, parts)
            border = Int8Interface(source.graph, Changes(), {}, ())
            assert_same_bytes(data, pipeline.lower(source, border, Planned(parts, plan), options), seed=seed)


GROWS_AGAIN = Recipe(
    ((1, 2, 3, 3),),
    tuple(
        Layer(kind, channels=1, kernel=(3, 2) if kind == "padded" else (1, 1), flag=kind == "padded")
        for kind in ("depthwise", "conv", "conv", "global", "padded")
    ),
)
LESS_SCRATCH = Recipe(
    ((1, 1, 1), (1, 1, 3)),
    tuple(
        Layer(kind, channels=channels, kernel=kernel, flag=False)
        for kind, channels, kernel in (("conv", 7, (2, 3)), ("depthwise", 1, (1, 1)), ("averaged", 1, (4, 1)))
    ),
    seed=7,
)


def most_are_converted(how: settings, strategy: st.SearchStrategy[Recipe]) -> None:
    converted: list[bool] = []

    @how
    @example(GROWS_AGAIN)
    @example(LESS_SCRATCH)
    @given(strategy)
    def each(recipe: Recipe) -> None:
        converted.append(is_converted(recipe))

    each()
    assert sum(converted) >= FLOOR * len(converted)


def test_a_fixed_set_of_networks() -> None:
    most_are_converted(QUICK, recipes(most=6))


@pytest.mark.slow
def test_many_networks() -> None:
    most_are_converted(MANY, recipes())


@pytest.mark.slow
@SOME
@given(recipes(most=6), st.sampled_from(["FLOAT32", "UINT8"]), st.sampled_from(sorted(TARGETS)))
def test_networks_with_an_int8_interface(recipe: Recipe, outside: str, target: str) -> None:
    assume(recipe.inside == "INT8")
    data = build(replace(recipe, outside=outside))
    running(data)
    done = tflm_memopt.optimize(data, int8_io=True, seconds=SECONDS, target=target)
    if not done.report.changed:
        assert done.model == data
        assert done.report.interface_kept
        return
    assert all("INT8" in change.after for change in done.report.interface)
    verification = tflm_memopt.verify(data, done.model, runs=2)
    assert verification.bit_exact, verification
