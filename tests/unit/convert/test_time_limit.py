"""The converter refuses a model if no plan is within the limit on instructions or milliseconds."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from conftest import EXAMPLE, KEYWORDS
from models import Net
from property.floats import in_float
from unit.command import wide

import tflm_memopt
from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.timing import Clock
from tflm_memopt.answers.exploration import Exploration
from tflm_memopt.answers.report import Report
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.report.times import verdict

M4: dict[str, Any] = {"target": "cortex-m4", "without": ("recompute",)}


@pytest.fixture(scope="module")
def frontier() -> Exploration:
    return tflm_memopt.explore(wide(), cost="instructions", **M4)


def deep() -> bytes:
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


@pytest.mark.parametrize("board", ["nano33ble", "esp32s3"])
def test_the_time_of_a_float32_model_is_unknown(board: str) -> None:
    with pytest.raises(UsageError, match="unknown") as raised:
        tflm_memopt.optimize(in_float(deep(), 1), time_limit="1s", board=board, effort=0.05)
    assert raised.value.code == "time_unknown"


@pytest.mark.parametrize("pixels", [1, 2, 3, 4])
def test_rows_are_computed_with_scratch_for_any_number_of_pixels(pixels: int) -> None:
    points = tflm_memopt.explore(deep(), cost="instructions", **M4).points
    fast = tflm_memopt.optimize(deep(), max_instructions=points[0].instructions, **M4)
    assert fast.plan is not None
    plan = fast.plan.to_json()
    stages = [stage for step in plan["steps"] for stage in step["stages"]]
    for stage in stages:
        stage["pixels"] = pixels if stage["nest"]["tile"] == 0 else 0
    again = tflm_memopt.optimize(deep(), plan=plan, target="cortex-m4")
    assert again.model != fast.model
    assert tflm_memopt.verify(deep(), again.model, runs=1).bit_exact
    for stage in stages:
        stage["pixels"] = 5
    with pytest.raises(tflm_memopt.UsageError, match="does not belong to this model"):
        tflm_memopt.optimize(deep(), plan=plan, target="cortex-m4")


def limit_of(work: Sequence[Work]) -> float:
    span = Clock("cortex-m4", 64.0).cycles(work)
    assert span
    return span[1] / 64_000 + 1e-6


@pytest.mark.slow
def test_the_least_ram_in_time(frontier: Exploration) -> None:
    for point in (frontier.points[0], frontier.points[-1]):
        limit = limit_of(point.work)
        report = tflm_memopt.optimize(wide(), time_limit=limit, clock=64, **M4).report
        assert report.arena.total == point.arena.total
        assert report.time_limit == limit
        assert report.max_instructions is None
        assert report.time
        assert report.time.rewritten
        assert report.time.rewritten.milliseconds
        assert report.time.rewritten.milliseconds[1] <= limit + 0.001


@pytest.mark.slow
def test_a_board_gets_the_smallest_product_of_arena_and_time() -> None:
    chosen, least = (tflm_memopt.optimize(EXAMPLE, board="nano33ble", max_macs=macs).report for macs in (None, 1))
    assert chosen.time
    assert chosen.time.change
    assert chosen.time.change[1] <= -0.25
    assert 2 * (chosen.original_arena.total - chosen.arena.total) >= least.original_arena.total - least.arena.total
    assert latest(chosen) * chosen.arena.total < latest(least) * least.arena.total
    assert chosen.faster is None


@pytest.mark.slow
def test_a_slower_model_names_a_faster_plan() -> None:
    generic, chosen = (tflm_memopt.optimize(KEYWORDS, board=board).report for board in (None, "esp32s3"))
    assert chosen.time
    assert chosen.time.change
    assert chosen.time.change[0] > 0
    assert chosen.arena.total <= 1.3 * generic.arena.total
    assert chosen.faster
    flag, limit = chosen.faster.flag.split()
    assert flag == "--time-limit"
    assert f"; {flag} {limit} takes at most {chosen.faster.arena:,} B" in verdict(chosen)
    faster = tflm_memopt.optimize(KEYWORDS, board="esp32s3", time_limit=limit).report
    assert 1.3 * generic.arena.total < faster.arena.total <= chosen.faster.arena
    assert latest(faster) < latest(chosen)


def latest(report: Report) -> float:
    assert report.time and report.time.rewritten and report.time.rewritten.milliseconds
    return report.time.rewritten.milliseconds[1]


def test_builtin_operators_alone_may_exceed_the_limit() -> None:
    options: dict[str, Any] = {"ops": "builtin", "board": "nano33ble", "effort": 0.05}
    with pytest.raises(DoesNotFit, match="limit is 1 ms") as no:
        tflm_memopt.optimize(EXAMPLE, time_limit=1, **options)
    assert no.value.code == "too_slow"


@pytest.mark.slow
def test_too_slow_names_ways_that_hold(frontier: Exploration) -> None:
    fastest = frontier.points[0]
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(wide(), time_limit=limit_of(fastest.work) / 1.5, board="nano33ble", without=("recompute",))
    assert no.value.code == "too_slow"
    assert no.value.exit_code == 1
    assert "cycles on cortex-m4 at 64 MHz" in no.value.where
    told = re.search(r"--time-limit ([\d.]+ms)", no.value.hint)
    assert told
    report = tflm_memopt.optimize(wide(), time_limit=told[1], board="nano33ble", without=("recompute",)).report
    assert report.arena.total <= fastest.arena.total
    boards = re.search(r"--board ([\w, ]+)", no.value.hint)
    assert boards
    for name in boards[1].split(", "):
        tflm_memopt.optimize(wide(), time_limit=limit_of(fastest.work) / 1.5, board=name, without=("recompute",))
