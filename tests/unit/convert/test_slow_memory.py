"""Programs with tensors in slow memory give the same outputs, and cause exactly the predicted traffic."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import KEYWORDS, QUICKLY, RESNET, thinned
from counted_traffic import assert_equal_outputs, counted
from models import Net

import tflm_memopt
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.check.checker import check
from tflm_memopt.convert.conversion import Conversion
from tflm_memopt.convert.request import request
from tflm_memopt.errors import DoesNotFit, PlanError, UsageError
from tflm_memopt.lower.traffic import BytesMoved
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import Planner
from tflm_memopt.plan.search.spill import SlowCost
from tflm_memopt.runtime import guard
from tflm_memopt.runtime.regions import regions

SLOW = "1MB"
LIMITS = [(RESNET, 4_400), (KEYWORDS, 1_000)]


@pytest.fixture(scope="module", params=thinned(((pair,) for pair in LIMITS), 1), ids=["resnet", "keywords"])
def spilled(request: pytest.FixtureRequest) -> tuple[Path, int, Optimized]:
    model, fast = request.param
    return model, fast, tflm_memopt.optimize(model, memory={"fast": fast, "slow": SLOW})


def conversion(model: Path, **options: Any) -> Conversion:
    asked = request(options)
    return asked.conversion(model.read_bytes()).within(asked.tiles(1.0))


def test_the_arena_is_in_fast_memory(spilled: tuple[Path, int, Optimized]) -> None:
    _, fast, made = spilled
    memories = made.report.memories
    assert memories and memories.fast == made.report.arena.total <= fast
    assert 0 < memories.slow <= memories.slow_written
    assert made.report.overhead <= 1.0
    assert made.plan == Plan.from_json(made.plan.to_json())


def test_outputs_are_equal_between_canaries_and_in_separate_buffers(spilled: tuple[Path, int, Optimized]) -> None:
    model, _, made = spilled
    assert_equal_outputs(read(model.read_bytes()), read(made.model))


def test_traffic_is_predicted_exactly(spilled: tuple[Path, int, Optimized]) -> None:
    _, _, made = spilled
    memories = made.report.memories
    assert memories
    assert counted(read(made.model)) == BytesMoved(memories.slow_read, memories.slow_written, memories.weights_read)


@pytest.mark.slow
def test_many_live_tensors_need_few_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of layouts must not double with every tensor that may be in slow memory."""
    net, placed = Net(), []
    tensors = [net.conv2d(net.input((1, 8, 8, 3)), 3, kernel=(3, 3))]
    for _ in range(10):
        tensors.append(net.depthwise_conv2d(tensors[-1], kernel=(3, 3)))
    y = tensors[-1]
    for number in (3, 8, 0, 6, 1, 9, 5, 2, 7, 4):
        y = net.conv2d(net.add(y, tensors[number]), 3, kernel=(3, 3))
    place = Planner._place_fast
    monkeypatch.setattr(Planner, "_place_fast", lambda *of: placed.append(of) or place(*of))
    made = tflm_memopt.optimize(net.model(y), memory="fast=1500,slow=1MB", effort="low")
    assert made.report.memories and 0 < made.report.memories.slow <= 5 * 192
    assert len(placed) < 2_000


def test_the_checker_replays_slow_memory() -> None:
    made = conversion(RESNET)
    planned = made.of(made.plans.spilled(4_200, SlowCost()))
    plan, graph = planned.planned.plan, planned.planned.graph
    check(plan, graph)
    live = [(a, b) for a in plan.slow for b in plan.slow if a.first < b.first < a.last]
    assert live
    first, second = live[0]
    moved = tuple(replace(t, offset=first.offset + first.nbytes // 2) if t is second else t for t in plan.slow)
    with pytest.raises(PlanError, match="overwritten"):
        check(replace(plan, slow=moved), graph)
    with pytest.raises(PlanError, match="there is no tensor buffer"):
        check(replace(plan, slow=tuple(t for t in plan.slow if t is not first)), graph)
    odd = tuple(replace(t, offset=t.offset + 1) for t in plan.slow)
    with pytest.raises(PlanError, match="misaligned"):
        check(replace(plan, slow=odd), graph)
    wrong = replace(plan.slow[0], tensor=graph.model.inputs[0])
    with pytest.raises(PlanError, match="cannot be in slow memory"):
        made.of(replace(plan, slow=(wrong,)))


@pytest.mark.slow
def test_enough_fast_memory_is_named() -> None:
    with pytest.raises(DoesNotFit, match="more fast memory than 3,000 B") as caught:
        tflm_memopt.optimize(RESNET, memory="fast=3000,slow=1MB")
    memory = caught.value.hint.removeprefix("--memory ")
    report = tflm_memopt.optimize(RESNET, memory=memory).report
    assert memory == f"fast={report.arena.total},slow={report.memories.slow}"
    assert 3_412 <= report.arena.total < 4_000


def test_a_limit_of_compute_needs_more_fast_memory() -> None:
    net = Net()
    data = net.model(net.conv2d(net.input((1, 8, 8, 8)), 8, kernel=(3, 3)))
    with pytest.raises(DoesNotFit, match="limit is 600 B") as caught:
        tflm_memopt.optimize(data, memory="fast=600,slow=1MB", max_macs=1.5, effort=QUICKLY)
    memory = caught.value.hint.removeprefix("--memory ").partition(" (")[0]
    arena = tflm_memopt.optimize(data, memory=memory, max_macs=1.5, effort=QUICKLY).report.arena
    assert memory == f"fast={arena.total},slow=1000000"


def test_a_tensor_of_two_regions_stays_fast() -> None:
    net = Net(3)
    x = net.conv2d(net.conv2d(net.input((1, 16, 16, 6)), 24, kernel=(5, 5)), 8, kernel=(5, 5))
    y = net.unary("L2_NORMALIZATION", net.conv2d(x, 8, kernel=(3, 3), stride=(2, 2)))
    data = net.model(net.conv2d(net.add(net.conv2d(x, 8, kernel=(3, 3), stride=(2, 2)), y), 4))
    made = tflm_memopt.optimize(data, memory={"fast": 3_000, "slow": SLOW})
    assert made.report.memories and made.report.memories.slow
    assert len(regions(read(made.model))) == 2
    assert guard.guarded_runs(read(made.model), [], seed=0)[1] == ""


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        ("fast=20kB", "invalid value"),
        ("slow=1kB,slow=2kB", "invalid value"),
        ({1: 2}, "invalid value"),
        ("slow=1MB", "fast memory is unknown"),
        ("20kB,30kB", "for several devices"),
        ((20_000, 30_000), "for several devices"),
    ],
)
def test_wrong_sizes(memory: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        tflm_memopt.optimize(RESNET, memory=memory)
