"""Test explore(), which returns plans between least RAM and fewest instructions."""

import itertools
import json
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from conftest import EXAMPLE, QUICKLY
from models import Net
from unit.command import narrowing

import tflm_memopt
from tflm_memopt.answers.exploration import Exploration
from tflm_memopt.convert.conversion import Conversion
from tflm_memopt.errors import DoesNotFit, MemoptError, UsageError
from tflm_memopt.plan.layout import offsets
from tflm_memopt.plan.plan import Group, Plan


def plain() -> bytes:
    net = Net()
    return net.model(net.normalized(net.input((1, 4, 4, 2))))


def one_row() -> bytes:
    net = Net()
    return net.model(net.fully_connected(net.input((1, 16)), 4))


@pytest.fixture(scope="module")
def frontier() -> Exploration:
    return tflm_memopt.explore(narrowing(), name="narrowing")


def document(plan: Plan) -> Any:
    return json.loads(json.dumps(plan.to_json()))


def test_a_frontier_has_less_ram_for_more_compute(frontier: Exploration) -> None:
    points = frontier.points
    assert len(points) > 1
    assert points[0].overhead == 1.0
    for one, next_one in itertools.pairwise(points):
        assert one.macs < next_one.macs
        assert one.arena.total > next_one.arena.total
    assert all(point.plan.macs == point.macs == round(point.overhead * frontier.original_macs) for point in points)
    assert points[0].arena.total < frontier.original_arena.total


@pytest.mark.slow
def test_a_frontier_for_helium_has_tiles_and_rows_with_less_scratch() -> None:
    net = Net()
    x = net.conv2d(net.conv2d(net.input((1, 12, 12, 16)), 16, kernel=(3, 3)), 16, kernel=(3, 3))
    model = net.model(net.mean(net.conv2d(x, 16), (1, 2)))
    points = tflm_memopt.explore(model, target="cortex-m55", cost="instructions", effort=QUICKLY).points
    stages = [stage for p in points for step in p.plan.steps if isinstance(step, Group) for stage in step.stages]
    assert any(stage.nest.tile > 1 for stage in stages)
    assert any(stage.nest.by_rows and stage.pixels == 1 for stage in stages)
    for point in points:
        rewritten = tflm_memopt.optimize(model, plan=document(point.plan), target="cortex-m55").model
        assert tflm_memopt.verify(model, rewritten, runs=2).bit_exact


@pytest.mark.slow
def test_every_point_can_be_used_again_and_is_bit_exact(frontier: Exploration) -> None:
    for point in {0: frontier.points[0], 1: frontier.points[-1]}.values():
        result = tflm_memopt.optimize(narrowing(), plan=document(point.plan))
        assert result.report.arena == point.arena
        assert result.report.overhead == point.overhead
        assert tflm_memopt.verify(narrowing(), result.model, runs=2).bit_exact


def test_instructions_are_compared_only_if_no_operator_stays_builtin(frontier: Exploration) -> None:
    net = Net(1)
    x = net.conv2d(net.conv2d(net.input((1, 12, 12, 2)), 16), 2, stride=(2, 2))
    mixed = tflm_memopt.explore(net.model(net.normalized(x)), cost="instructions", effort=QUICKLY)
    assert frontier.original_instructions
    assert mixed.points
    assert mixed.original_instructions is None


@pytest.mark.slow
def test_a_saved_plan_keeps_its_figures_on_a_board_and_has_to_fit() -> None:
    data, board = narrowing(), {"board": "nano33ble", "effort": QUICKLY}
    for point in tflm_memopt.explore(data, **board).points:
        report = tflm_memopt.optimize(data, plan=document(point.plan), **board).report
        assert report.time and report.time.rewritten
        assert (report.arena, report.time.rewritten.milliseconds) == (point.arena, point.milliseconds)
        with pytest.raises(DoesNotFit, match="limit is 600 B"):
            tflm_memopt.optimize(data, plan=document(point.plan), ram_limit=600, **board)


def looking_back() -> bytes:
    net = Net(9)
    x = net.input((1, 8, 8, 2))
    dense = net.fully_connected(net.reshape(net.conv2d(x, 2), (1, 128)), 128)
    return net.model(net.add(net.conv2d(net.reshape(dense, (1, 8, 8, 2)), 2), x))


@pytest.mark.parametrize(
    ("model", "settings", "code", "reason", "way_out"),
    [
        (narrowing, {"max_macs": 0.5}, "too_slow", "at most 0.5 times", "--max-macs 1"),
        (narrowing, {"max_instructions": 10}, "too_slow", "as 10", "--max-instructions "),
        (narrowing, {"ram_limit": 600}, "does_not_fit", "limit is 600 B", "--ram-limit "),
        (narrowing, {"ram_limit": 2400, "max_macs": 1.0}, "does_not_fit", "limit is 2,400 B", "--max-macs "),
        (narrowing, {"max_macs": 2.0, "without": ["recompute"]}, "bad_option", "recompute", "--max-macs 1"),
        (narrowing, {"max_macs": 2.0, "plan": {}}, "bad_option", "--plan cannot", "omit them"),
        (narrowing, {"board": "esp32s3", "target": "cortex-m4"}, "bad_option", "esp32s3 cannot run", "omit --target"),
        (narrowing, {"board": "pico", "target": "cortex-m4"}, "bad_option", "pico cannot run", "omit --target"),
        (narrowing, {"board": "nano33ble", "cores": 2}, "bad_option", "nano33ble has one core", "omit --cores"),
        (narrowing, {"without": ["magic"]}, "bad_option", "magic", "stripes"),
        (one_row, {"input": "sliding:2"}, "unsupported_input", "the input has 1 row, so it cannot", "--input arena"),
        (looking_back, {"input": "stream"}, "unsupported_input", "row by row together", "--input external"),
        (looking_back, {"ram_limit": 400}, "does_not_fit", "limit is 400 B", "--ram-limit "),
        (plain, {"ram_limit": 100}, "does_not_fit", "limit is 100 B", "smaller model"),
    ],
)
def test_limits_that_cannot_be_met_say_why_and_what_can(
    model: Callable[[], bytes], settings: dict[str, Any], code: str, reason: str, way_out: str
) -> None:
    with pytest.raises(MemoptError) as refused:
        tflm_memopt.optimize(model(), **settings)
    assert refused.value.code == code
    assert refused.value.exit_code == (1 if code in ("does_not_fit", "too_slow") else 2)
    assert reason in refused.value.what
    assert way_out in refused.value.hint


DAMAGE: dict[str, Callable[[Any], object]] = {
    "schema": lambda d: d.update(schema=99),
    "head": lambda d: d.update(head=1 << 50),
    "no steps": lambda d: d.update(steps=[]),
    "steps of another kind": lambda d: d.update(steps=3),
    "offset": lambda d: d["buffers"][0].update(offset=d["buffers"][0]["offset"] + 16),
    "short": lambda d: d["buffers"][-1].update(nbytes=1),
    "role": lambda d: d["buffers"][0].update(role="cache"),
    "region": lambda d: d["steps"][0].update(region=7),
    "operator": lambda d: d["steps"][0]["stages"][0].update(op=99),
    "iterations": lambda d: d["steps"][0].update(iterations=1),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_plan_that_was_tampered_with(frontier: Exploration, damage: Callable[[Any], object]) -> None:
    saved = document(frontier.points[-1].plan)
    damage(saved)
    with pytest.raises(UsageError, match="damaged, or does not belong to this model"):
        tflm_memopt.optimize(narrowing(), plan=saved)


@pytest.mark.parametrize(("where", "key"), [("steps", "sinks"), ("buffers", "nbytes")])
def test_the_error_names_a_missing_key_of_a_plan(frontier: Exploration, where: str, key: str) -> None:
    saved = document(frontier.points[-1].plan)
    del saved[where][0][key]
    with pytest.raises(UsageError, match=f"a (Group|Buffer) lacks the keys: {key}"):
        tflm_memopt.optimize(narrowing(), plan=saved)


def test_the_same_model_gives_the_same_bytes() -> None:
    first = tflm_memopt.optimize(narrowing(), seconds=0.3).model
    offsets.forget()
    assert tflm_memopt.optimize(narrowing(), seconds=0.3).model == first


@pytest.mark.slow
def test_neighbouring_points_differ_by_at_most_30_percent_of_the_time() -> None:
    points = [p for p in tflm_memopt.explore(EXAMPLE, board="nano33ble").points if p.milliseconds]
    times = [p.milliseconds[1] for p in sorted(points, key=lambda p: p.arena.total, reverse=True) if p.milliseconds]
    assert max(slower / faster for faster, slower in itertools.pairwise(times)) <= 1.3


def test_only_plans_of_the_frontier_are_lowered() -> None:
    with mock.patch.object(Conversion, "lowered", autospec=True, side_effect=Conversion.lowered) as lowered:
        found = tflm_memopt.explore(narrowing(), board="nano33ble", effort=QUICKLY)
    assert lowered.call_count == len(found.points)
