"""The checker and tiled blocks: what is wrong is refused, and what passes runs right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.plan.tiled import OPTIONS, planned

from tflm_memopt import pipeline
from tflm_memopt.errors import ModelError, PlanError
from tflm_memopt.model.int8_io import Int8Interface
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import read
from tflm_memopt.plan.check import check
from tflm_memopt.plan.plan import Block, Plan, Role, Stage
from tflm_memopt.runtime import host, regions

SEEDS = range(30)
Mutants = Iterator[tuple[str, Plan]]


def passes(seed: int, mutant: Plan) -> bool:
    found = planned(seed)[1]
    try:
        check(mutant, found.understood.graph, found.partition)
    except PlanError:
        return False
    return True


def outputs(seed: int, mutant: Plan) -> list[list[NDArray[np.int8]]] | None:
    """Of the host executor, every buffer where the plan puts it, region by region; None: it refuses the program."""
    model, found = planned(seed)
    new = read(
        pipeline.lower(model, Int8Interface(model.graph, Changes(), {}, ()), replace(found, plan=mutant), OPTIONS)
    )
    rng, result = np.random.default_rng(seed), []
    for region in regions.regions(new):
        inputs = [rng.integers(-128, 128, new.graph.tensors[t].nbytes, np.int8) for t in region.inputs]
        sizes = [new.graph.tensors[t].nbytes for t in region.outputs]
        try:
            result.append(host.run_guarded(region.program, regions.placement(new, region), inputs, sizes))
        except ModelError:
            return None
    return result


@cache
def right(seed: int) -> list[list[NDArray[np.int8]]] | None:
    return outputs(seed, planned(seed)[1].plan)


def tiled(plan: Plan) -> Iterator[tuple[int, Block]]:
    return ((n, step) for n, step in enumerate(plan.steps) if isinstance(step, Block) and step.strips)


def with_block(plan: Plan, n: int, block: Block) -> Plan:
    return replace(plan, steps=(*plan.steps[:n], block, *plan.steps[n + 1 :]))


def with_stage(plan: Plan, n: int, s: int, stage: Stage) -> Plan:
    block = plan.steps[n]
    assert isinstance(block, Block)
    return with_block(plan, n, replace(block, stages=(*block.stages[:s], stage, *block.stages[s + 1 :])))


# ---- damage that is always wrong ----


def shallower_lanes(plan: Plan) -> Mutants:
    """The buffer keeps its size or shrinks with the lane."""
    for i, b in enumerate(plan.buffers):
        pixel = b.nbytes // max(1, sum(lane.depth for lane in b.lanes))
        for k, lane in enumerate(b.lanes):
            lanes = (*b.lanes[:k], replace(lane, depth=lane.depth - 1), *b.lanes[k + 1 :])
            for nbytes in (b.nbytes, b.nbytes - pixel):
                shallow = replace(b, lanes=lanes, nbytes=nbytes)
                yield f"ring {b.key}", replace(plan, buffers=(*plan.buffers[:i], shallow, *plan.buffers[i + 1 :]))


def wrong_firings(plan: Plan) -> Mutants:
    for n, block in tiled(plan):
        for change in (-1, 1):
            yield f"step {n}", with_block(plan, n, replace(block, firings=block.firings + change))


def wrong_macs(plan: Plan) -> Mutants:
    for n, block in tiled(plan):
        for change in (-1, 1):
            yield f"step {n}", with_block(plan, n, replace(block, macs=block.macs + change))


def missing_strips(plan: Plan) -> Mutants:
    for n, block in tiled(plan):
        if block.strips > 1:
            yield f"step {n}", with_block(plan, n, replace(block, strips=block.strips - 1))


def missing_stages(plan: Plan) -> Mutants:
    for n, block in tiled(plan):
        for s in range(len(block.stages)):
            yield f"step {n}", with_block(plan, n, replace(block, stages=block.stages[:s] + block.stages[s + 1 :]))


def other_groups(plan: Plan) -> Mutants:
    """Of one operator of three."""
    for n, block in tiled(plan):
        for s, stage in enumerate(block.stages):
            if stage.walk.groups > 1:
                for groups in (stage.walk.groups - 1, stage.walk.groups + 1):
                    walk = replace(stage.walk, groups=groups)
                    yield f"operator {stage.op}", with_stage(plan, n, s, replace(stage, walk=walk))


def missing_rings(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        if b.lanes:
            rest, offsets = (x[:i] + x[i + 1 :] for x in (plan.buffers, plan.offsets))
            yield f"ring {b.key}", replace(plan, buffers=rest, offsets=offsets)


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [shallower_lanes, wrong_firings, wrong_macs, missing_strips, missing_stages, other_groups, missing_rings],
    ids=lambda f: f.__name__,
)
def test_what_is_always_wrong_is_always_refused(damage: Callable[[Plan], Mutants]) -> None:
    planted = 0
    for seed in SEEDS:
        for what, mutant in damage(planned(seed)[1].plan):
            assert not passes(seed, mutant), f"seed {seed}: {what}"
            planted += 1
    assert planted


# ---- damage that may be harmless ----


def other_walks(plan: Plan) -> Mutants:
    for n, block in tiled(plan):
        for s, stage in enumerate(block.stages):
            for field in ("end", "advance"):
                for change in (-1, 1):
                    walk = replace(stage.walk, **{field: getattr(stage.walk, field) + change})
                    yield f"operator {stage.op} {field} {change:+}", with_stage(plan, n, s, replace(stage, walk=walk))


def moved_buffers(plan: Plan) -> Mutants:
    for i, (b, offset) in enumerate(plan.placed()):
        if b.role is not Role.TENSOR:
            for distance in (-4, -1, 1, 4):
                offsets = (*plan.offsets[:i], offset + distance, *plan.offsets[i + 1 :])
                yield f"{b.role.value} {b.key} {distance:+}", replace(plan, offsets=offsets, head=plan.head + 4)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [other_walks, moved_buffers], ids=lambda f: f.__name__)
def test_what_passes_runs_right(damage: Callable[[Plan], Mutants]) -> None:
    refused, passed = 0, 0
    for seed in SEEDS:
        for what, mutant in damage(planned(seed)[1].plan):
            if passes(seed, mutant):
                got = outputs(seed, mutant)
                if got is not None:
                    assert all(
                        np.array_equal(a, b)
                        for x, y in zip(got, right(seed) or (), strict=True)
                        for a, b in zip(x, y, strict=True)
                    ), f"seed {seed}: {what}"
                    passed += 1
            else:
                refused += 1
    assert refused > passed
