"""The checker's proof for tiles accepts exactly the plans that a replay of all iterations accepts."""

import random
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from functools import cache, partial
from unittest import mock

import numpy as np
import pytest
from conftest import seeds, thinned
from numpy.lib.stride_tricks import sliding_window_view
from planning import make_plan
from property.forced import forced, mobile, random_settings
from property.networks import build
from unit.plan.damage import Mutants, wrong_macs
from unit.plan.damage_tiles import moved_buffers, other_nests, shallower_column_windows
from unit.plan.tiled import OPTIONS, planned

from tflm_memopt.check import checker
from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.check.lives import BEFORE, LiveRanges, apart, pieces
from tflm_memopt.check.proof import proved
from tflm_memopt.check.source import RunningGroup, SourceReplay
from tflm_memopt.check.tiles import TiledReplay
from tflm_memopt.errors import PlanError, UsageError
from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Plan
from tflm_memopt.rowgraph.inputs import input_mode


def copied(arena: TaggedArena, source: SourceReplay) -> tuple[TaggedArena, SourceReplay]:
    arena, source = copy(arena), copy(source)
    arena._marks = arena._marks.copy()
    arena._runs = cache(partial(sliding_window_view, arena._marks, writeable=True))  # type: ignore[call-arg]
    source.arena = arena
    return arena, source


class Both:
    def __init__(self) -> None:
        self.proved, self.unproved = 0, 0

    def __call__(self, running: RunningGroup) -> bool:
        arena, source = running.arena, running.source
        before = copied(arena, source)
        other, other_source = copied(arena, source)
        found = proved(running)
        if found:
            self.proved += 1
            TiledReplay(running._replace(arena=other, source=other_source), ()).run()
        else:
            self.unproved += 1
            other, other_source = before
        np.testing.assert_array_equal(arena._marks, other._marks)
        assert (source.pushed, source.passed) == (other_source.pushed, other_source.passed)
        return found


def checked(found: Planned, plan: Plan) -> Both:
    both = Both()
    with mock.patch.object(checker, "proved", both):
        checker.check(plan, found.graph)
    return both


def _with_inputs(model: Model, seed: int) -> Iterator[Planned]:
    for where in ("arena", "external", "stream:1"):
        with forced(random_settings(random.Random(seed)), seed):
            try:
                found = make_plan(model.graph, replace(OPTIONS, input=input_mode(where)))
            except UsageError:
                continue
        if found:
            yield found


@pytest.mark.slow
def test_what_is_right_is_proved() -> None:
    for seed in seeds(8):
        for found in _with_inputs(read(build(mobile(seed, most=4))), seed):
            both = checked(found, found.plan)
            assert both.unproved == 0


@pytest.mark.parametrize("seeds", thinned([((8, 14),), (range(8),)], 1), ids=["quick", "others"])
@pytest.mark.parametrize(
    "damage", [moved_buffers, other_nests, shallower_column_windows, wrong_macs], ids=lambda f: f.__name__
)
def test_what_is_damaged_is_proved_only_where_the_replay_accepts_it(
    damage: Callable[[Plan], Mutants], seeds: Iterable[int]
) -> None:
    refused = 0
    for seed in seeds:
        found = planned(seed)[1]
        for what, mutant in damage(found.plan):
            errors = [error(found, mutant, checked), error(found, mutant, replayed)]
            assert errors[0] == errors[1], f"seed {seed}: {what}"
            refused += errors[0] is not None
    assert refused


def replayed(found: Planned, plan: Plan) -> None:
    with mock.patch.object(checker, "proved", return_value=False):
        checker.check(plan, found.graph)


def error(found: Planned, plan: Plan, run: Callable[[Planned, Plan], object]) -> tuple[str, str] | None:
    try:
        run(found, plan)
    except PlanError as refusal:
        return refusal.code, str(refusal)
    return None


def lives(*moments: tuple[int, int]) -> LiveRanges:
    """Return live ranges of four bytes each. Each argument has the time of the write and the time of the last read."""
    at, end, written, read = zip(*((0, 4, *both) for both in moments), strict=True)
    return LiveRanges(*map(np.array, (at, end, written, read)), marks=np.arange(len(at)))


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([(1, 4), (5, 9)], True),
        ([(1, 5), (5, 9)], False),
        ([(5, 9), (1, 5)], False),
        ([(BEFORE, 3), (BEFORE, 20)], True),
        ([(BEFORE, 20), (BEFORE, 3), (10, 12)], False),
        ([(BEFORE, 9), (BEFORE, 3), (10, 12)], True),
    ],
)
def test_lives_at_one_place(moments: list[tuple[int, int]], expected: bool) -> None:
    """Two live ranges conflict if they have a common moment."""
    assert apart(pieces(lives(*moments))) is expected
