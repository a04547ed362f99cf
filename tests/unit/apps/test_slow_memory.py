"""Applications whose models share fast and slow memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from conftest import RESNET

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.check.interleaving import Sharer, check_together
from tflm_memopt.errors import DoesNotFit, PlanError, UsageError

ALONE, BOTH = 6_468, 12_820
"""Arenas without slow memory: of one model, and of two at the same time."""


def app(memory: str, concurrent: Any = (), **entry: Any) -> App:
    options = {"effort": "low", "seconds": 0.05, "memory": memory}
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
    """The model with the larger arena gets less fast memory until both fit."""
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


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be combined with a rate"):
        optimize(app("fast=5kB,slow=100kB", fps=1.0))
    with pytest.raises(DoesNotFit, match="of slow memory"):
        optimize(app("fast=5kB,slow=5kB"))
