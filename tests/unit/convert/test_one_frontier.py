"""explore() finds a plan that is at least as good as the plan of optimize()."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from conftest import MOBILENET, QUICKLY
from models import Net
from unit.command import narrowing

import tflm_memopt
from tflm_memopt.analysis.costs import Cost, Work, tables
from tflm_memopt.analysis.timing import Clock
from tflm_memopt.answers.exploration import Exploration
from tflm_memopt.plan.plan import Plan
from tflm_memopt.targets.boards import board


def residual() -> bytes:
    net = Net(5)
    x = net.conv2d(net.input((1, 8, 8, 3)), 8, kernel=(3, 3))
    x = net.add(x, net.conv2d(x, 8, kernel=(3, 3)))
    return net.model(net.fully_connected(net.mean(x, (1, 2), keep=False), 4))


SETTINGS: Mapping[str, tuple[Mapping[str, Any], Cost]] = {
    "no core": ({}, "macs"),
    "target": ({"target": "cortex-m4"}, "instructions"),
    "board with cycles": ({"board": "nano33ble"}, "time"),
    "board without cycles": ({"board": "nucleo_f767zi"}, "instructions"),
}
MODELS = {"narrowing": narrowing, "residual": residual}


def price(explored: Exploration, plan: Plan, work: tuple[Work, ...]) -> float:
    if explored.cost == "macs":
        return plan.macs
    if explored.cost == "instructions":
        return tables()[explored.core].instructions(work)
    on = board(explored.board or "")
    cycles = Clock(explored.core, on.mhz, on.id, on.flash_timing).cycles(work)
    assert cycles
    return cycles[1]


def limits(explored: Exploration) -> Iterator[Mapping[str, Any]]:
    yield {}
    yield {"max_macs": 1}
    yield {"max_macs": 1.1}
    yield {"max_instructions": explored.points[len(explored.points) // 2].instructions}
    for point in explored.points[:: max(1, len(explored.points) // 4)]:
        yield {"ram_limit": point.arena.total}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("narrowing", "no core"),
        ("narrowing", "board without cycles"),
        ("residual", "target"),
        ("narrowing", "board with cycles"),
    ],
)
def test_the_frontier_has_every_plan(model: str, settings: str) -> None:
    data, (given, cost) = MODELS[model](), SETTINGS[settings]
    asked = {**given, "effort": QUICKLY}
    explored = tflm_memopt.explore(data, **asked)
    assert explored.cost == cost
    points = [(price(explored, p.plan, p.work), p.arena.total) for p in explored.points]
    assert points == sorted(points)
    for limit in limits(explored):
        done = tflm_memopt.optimize(data, **asked, **limit)
        assert done.plan
        cost_taken, ram_taken = price(explored, done.plan, done.work), done.report.arena.total
        assert any(c <= cost_taken and ram <= ram_taken for c, ram in points), (limit, cost_taken, ram_taken)


def test_the_plan_with_the_least_ram_computes_whole_rows_in_groups_that_leave_bytes_unused() -> None:
    model = MOBILENET.read_bytes()
    fast, least = (
        tflm_memopt.optimize(model, target="cortex-m55", max_macs=macs, effort=QUICKLY).report for macs in (None, 1)
    )
    assert least.arena.total < fast.arena.total
    assert fast.instructions and least.instructions
    assert least.instructions["cortex-m55"] < 1.4 * fast.instructions["cortex-m55"]
