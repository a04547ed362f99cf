"""Test the checker on tiled groups: wrong plans are refused, and plans that pass run correctly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from conftest import thinned
from numpy.typing import NDArray
from unit.plan.damage import Mutants, missing_stages, with_stage, wrong_firings, wrong_macs
from unit.plan.damage_tiles import (
    empty_groups,
    lanes_of_other_rows,
    missing_rings,
    missing_strips,
    moved_buffers,
    other_groups,
    other_walks,
    rings_of_other_sizes,
    shallower_lanes,
)
from unit.plan.sketch import Sketch
from unit.plan.tiled import OPTIONS, planned

from tflm_memopt.check.checker import check
from tflm_memopt.check.walk import StageWalk, check_walk
from tflm_memopt.convert import pipeline
from tflm_memopt.errors import ModelError, PlanError
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Block, Plan, Stage
from tflm_memopt.plan.walk import Walk
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.runtime import host, regions

QUICK_SEEDS = (8, 14, 20)
"""Seeds of the quick tests."""
SEEDS = (*range(9), *QUICK_SEEDS[1:])


def passes(seed: int, mutant: Plan) -> bool:
    found = planned(seed)[1]
    try:
        check(mutant, found.graph)
    except PlanError:
        return False
    return True


def outputs(seed: int, mutant: Plan) -> list[list[NDArray[np.int8]]] | None:
    """Outputs of the host executor, region by region, with buffers placed by the plan; None if it refuses the
    program.
    """
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


@pytest.mark.parametrize("seeds", thinned([(QUICK_SEEDS,), (SEEDS,)], 1), ids=["quick", "all"])
@pytest.mark.parametrize(
    "damage",
    [
        shallower_lanes, lanes_of_other_rows, rings_of_other_sizes, wrong_firings, wrong_macs, missing_strips,
        missing_stages, other_groups, empty_groups, missing_rings,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_is_always_wrong_is_always_refused(damage: Callable[[Plan], Mutants], seeds: Iterable[int]) -> None:
    planted = 0
    for seed in seeds:
        for what, mutant in damage(planned(seed)[1].plan):
            assert not passes(seed, mutant), f"seed {seed}: {what}"
            planted += 1
    assert planted


@pytest.mark.parametrize("advance", thinned([0, -1, 7], 1))
def test_strips_go_on_and_leave_no_row_out(advance: int) -> None:
    """A group with one stripe would not notice, but programs require it."""
    found = planned(0)[1]
    n, block = next((n, b) for n, b in enumerate(found.plan.steps) if isinstance(b, Block) and b.strips)
    stage = replace(block.stages[0], walk=replace(block.stages[0].walk, advance=advance, rows=6))
    with pytest.raises(PlanError, match=f"strips of 6 rows advance by {advance}$"):
        check(with_stage(found.plan, n, block, 0, stage), found.graph)


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


@pytest.mark.parametrize(("groups", "fine"), [(1, True), (3, True), (4, False), (5, True), (6, False)])
def test_every_group_has_channels(groups: int, fine: bool) -> None:
    """Five channels in four groups are two, two, one and none."""
    s = Sketch()
    (op,) = s.chain(s.relu(s.input(2, 3, 5))).ops
    step = StageWalk(Stage(0, (0,), iterative=False, walk=Walk(groups=groups)), op, 2, turned=False)
    if fine:
        check_walk(step)
    else:
        with pytest.raises(PlanError, match=f"5 channels in {groups} groups$"):
            check_walk(step)
