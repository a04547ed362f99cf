"""The checker refuses every plan in which two cores race."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from conftest import EXAMPLE
from planning import plan_of
from unit.plan.damage import place

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.convert.pipeline import ConversionOptions, for_two_cores, pack_for
from tflm_memopt.errors import PlanError, UsageError
from tflm_memopt.format.codes import Sharding
from tflm_memopt.model.reader import read
from tflm_memopt.plan.cores import shard
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import GroupSharding, Plan, Role


@functools.cache
def planned() -> Planned:
    options = ConversionOptions(tiles=None, speeds=(1, 1), target="cortex-m33")
    found = plan_of(read(EXAMPLE.read_bytes()).graph, options)
    return replace(found, plan=shard(found))


def checked(plan: Plan) -> None:
    check(plan, planned().graph)


def first(plan: Plan, change: Callable[[GroupSharding], GroupSharding]) -> Plan:
    largest = max(plan.shardings, key=lambda s: len(s.barriers))
    return replace(plan, shardings=tuple(change(s) if s is largest else s for s in plan.shardings))


def test_the_plan_is_right_and_most_operators_are_shared() -> None:
    checked(planned().plan)
    shardings = [sharding for group in planned().plan.shardings for sharding in group.ops]
    assert sum(sharding.kind > Sharding.CORE_1 for sharding in shardings) > len(shardings) / 2


def test_each_barrier_is_needed() -> None:
    barriers = max((s.barriers for s in planned().plan.shardings), key=len)
    assert len(barriers) > 20
    for missing in barriers[1 :: len(barriers) // 7]:
        plan = first(planned().plan, lambda s: replace(s, barriers=tuple(m for m in s.barriers if m != missing)))  # noqa: B023
        with pytest.raises(PlanError, match="since the last barrier"):
            checked(plan)


@pytest.mark.parametrize(
    ("kind", "cut"),
    [(Sharding.COLUMNS, 0), (Sharding.COLUMNS, 10_000), (Sharding.CHANNELS, 0), (Sharding.CHANNELS, 10_000)],
)
def test_a_cut_leaves_something_on_both_sides(kind: Sharding, cut: int) -> None:
    def change(s: GroupSharding) -> GroupSharding:
        return replace(s, ops=(replace(s.ops[0], kind=kind, cut=cut), *s.ops[1:]))

    with pytest.raises(PlanError, match="cannot be cut at"):
        checked(first(planned().plan, change))


@pytest.mark.parametrize("role", [Role.SCRATCH, Role.COUNTERS])
def test_a_buffer_for_one_core_is_too_small(role: Role) -> None:
    plan = planned().plan
    half = tuple(replace(b, nbytes=b.nbytes // 2) if b.role is role else b for b in plan.buffers)
    assert half != plan.buffers
    with pytest.raises(PlanError, match="needs"):
        checked(replace(plan, buffers=half))


def test_scratch_over_the_last_counter_of_core_1_is_refused() -> None:
    plan = planned().plan
    counters = plan.find(Role.COUNTERS, 0)
    assert counters is not None
    last = counters[1] + counters[0].nbytes - 2
    with pytest.raises(PlanError, match=f"core 1 writes byte {last}, which core 0 has written"):
        checked(place(plan, Role.SCRATCH, 0, last))


def test_a_core_with_less_time_gets_less() -> None:
    graph = for_two_cores(pack_for(planned().graph, "cortex-m33"))
    alone = Planned(graph, replace(planned().plan, shardings=()))

    def columns(speeds: tuple[float, float]) -> int:
        plan = shard(alone, speeds)
        return sum(sharding.cut for group in plan.shardings for sharding in group.ops)

    assert columns((0.5, 1.0)) < columns((1.0, 1.0)) < columns((1.0, 0.5))


@pytest.mark.parametrize(
    "options",
    [
        {"cores": 3},
        {"share": "0.8,1"},
        {"cores": 2, "share": "0.8"},
        {"cores": 2, "share": (0.8, 1, 1)},
        {"cores": 2, "share": "0,1"},
        {"cores": 2, "share": "a,b"},
        {"cores": 2, "input": "stream"},
        {"cores": 2, "target": "cortex-m55"},
        {"cores": 2, "ops": "builtin"},
        {"cores": 2, "ops": "group"},
        {"cores": 2, "max_macs": 1.2},
    ],
)
def test_refusals(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        tflm_memopt.optimize(EXAMPLE.read_bytes(), **options)
    assert raised.value.code == "bad_option"
    assert raised.value.hint
