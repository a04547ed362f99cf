"""Several models share one fast and one slow memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import RESNET
from models import Net

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.check.checker import Sharer, check_together
from tflm_memopt.errors import DoesNotFit, PlanError, UsageError

FAST = 1_000
ALONE, BOTH = 6_468, 12_820


pytestmark = pytest.mark.slow


def app(memory: str, concurrent: Any = (), **entry: Any) -> App:
    options = {"effort": 0.05, "seconds": 0.05, "memory": memory}
    return App({"a": AppModel(RESNET, **entry), "b": AppModel(RESNET)}, concurrent, options=options, name="two")


@pytest.fixture(scope="module")
def in_turn() -> AppOptimized:
    return optimize(app("fast=5kB,slow=100kB"))


@pytest.fixture(scope="module")
def together() -> AppOptimized:
    return optimize(app("fast=12kB,slow=100kB", (("a", "b"),)))


def test_models_in_turn_share_slow_bytes(in_turn: AppOptimized) -> None:
    report = in_turn.report
    assert report.arena.total <= 5_000 < ALONE
    each = [done.report.memories.slow for done in in_turn.models.values()]
    assert report.slow == max(each) > 0
    assert report.slow_offsets == {"a": 0, "b": 0}
    assert in_turn.to_json()["slow"] == report.slow


def test_models_at_the_same_time_have_their_own_slow_bytes(together: AppOptimized) -> None:
    """The converter reduces the fast memory of the model with the larger arena until both models fit."""
    report = together.report
    assert report.arena.total <= 12_000 < BOTH
    assert report.slow == sum(done.report.memories.slow for done in together.models.values()) > 0
    assert report.ram_limit == 12_000


def test_the_checker_finds_common_slow_bytes(in_turn: AppOptimized) -> None:
    sharers = [Sharer(name, done.plan, None) for name, done in in_turn.models.items()]  # type: ignore[arg-type]
    plain = [replace(s.plan, buffers=(), offsets=(), head=0) for s in sharers]

    class Graph:
        source = None

    placed = [Sharer(s.name, plan, Graph()) for s, plan in zip(sharers, plain, strict=True)]  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="byte 0 of slow memory in common"):
        check_together(placed, {(0, 1)})
    apart = [placed[0], placed[1]._replace(slow_at=plain[0].slow_bytes)]
    check_together(apart, {(0, 1)})


def at_a_rate(folder: Path, cycles: float) -> AppOptimized:
    board = folder / f"board{cycles:g}.toml"
    lines = ('core = "Cortex-M4"', 'clock = "80MHz"', 'ram = "16kB"', 'flash = "1MB"', 'external_ram = "1MB"')
    costs = ("[external_ram_cycles]", f"read = {cycles}", f"write = {cycles}")
    board.write_text("\n".join([*lines, *costs]))
    net = Net(3)
    x = net.conv2d(net.conv2d(net.input((1, 8, 8, 2)), 8, kernel=(3, 3)), 8, kernel=(5, 5))
    model = net.model(net.add(x, net.conv2d(x, 8, kernel=(5, 5), out=(0.1, 0))))
    options = {"effort": 0.05, "seconds": 0.05, "memory": {"fast": FAST, "slow": 100_000}, "board": str(board)}
    return optimize(App({"a": AppModel(model, fps=1.0)}, options=options, name="one"))


def test_rates_count_slow_bytes(tmp_path: Path) -> None:
    done = at_a_rate(tmp_path, 20)
    memories = done.models["a"].report.memories
    assert memories and memories.slow > 0 and memories.fast <= FAST
    moved = memories.slow_read + memories.slow_written
    with pytest.raises(DoesNotFit, match="B together, the limit is"):
        at_a_rate(tmp_path, 80e6 / moved * 10)


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(UsageError, match="time of bytes in slow memory is unknown"):
        optimize(app("fast=5kB,slow=100kB", fps=1.0))
    with pytest.raises(DoesNotFit, match="of slow memory"):
        optimize(app("fast=5kB,slow=5kB"))
