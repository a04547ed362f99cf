"""The checker refuses wrong plans with tiles, and accepted plans run correctly."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from conftest import thinned
from numpy.typing import NDArray
from planning import lowered
from unit.plan.damage import Mutants, missing_buffers, missing_stages, with_stage, wrong_iterations, wrong_macs
from unit.plan.damage_tiles import (
    column_windows_of_other_rows,
    missing_stripes,
    moved_buffers,
    other_groups,
    other_nests,
    rolling_buffers_of_other_sizes,
    shallower_column_windows,
)
from unit.plan.tiled import OPTIONS, planned

from tflm_memopt.check.checker import check
from tflm_memopt.errors import ModelError, PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Group, Plan
from tflm_memopt.runtime import host, regions

QUICK_SEEDS = (8, 14, 20)
SEEDS = (*range(9), *QUICK_SEEDS[1:])


def passes(seed: int, mutant: Plan) -> bool:
    found = planned(seed)[1]
    try:
        check(mutant, found.graph)
    except PlanError:
        return False
    return True


def outputs(seed: int, mutant: Plan) -> list[list[NDArray[np.int8]]] | None:
    model, found = planned(seed)
    new = read(lowered(model, replace(found, plan=mutant), OPTIONS))
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
        shallower_column_windows, column_windows_of_other_rows, rolling_buffers_of_other_sizes,
        wrong_iterations, wrong_macs, missing_stripes, missing_stages, other_groups, missing_buffers,
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
def test_stripes_go_on_and_leave_no_row_out(advance: int) -> None:
    found = planned(0)[1]
    n, group = next((n, b) for n, b in enumerate(found.plan.steps) if isinstance(b, Group) and b.stripes)
    stage = replace(group.stages[0], nest=replace(group.stages[0].nest, advance=advance, rows=6))
    with pytest.raises(PlanError, match=f"stripes of 6 rows advance by {advance}$"):
        check(with_stage(found.plan, n, group, 0, stage), found.graph)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [other_nests, moved_buffers], ids=lambda f: f.__name__)
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
