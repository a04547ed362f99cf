"""Buffers get valid addresses, and small problems get an optimal layout."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import networkx as nx
import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from tflm_memopt.plan import cp_sat
from tflm_memopt.plan.drafts import Draft, Placer
from tflm_memopt.plan.effort import Budget
from tflm_memopt.plan.layout import offsets
from tflm_memopt.plan.layout.bound import clique_bound
from tflm_memopt.plan.layout.offsets import ARENA_ALIGN, Layout, LayoutProblem, Reversible, exact, fit, place, tighten
from tflm_memopt.plan.plan import Builtin

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

SEEDS = st.integers(0, 1 << 32)
SECONDS = 5.0


def random_problem(seed: int, *, most: int, largest: int) -> LayoutProblem:
    rng = random.Random(seed)
    count = rng.randint(1, most)
    nbytes = tuple(rng.randint(1, largest) for _ in range(count))
    align = tuple(rng.choice([1, 1, 2, 4]) for _ in range(count))
    constraints: dict[tuple[int, int], int] = {}
    for u, v in itertools.combinations(range(count), 2):
        if rng.random() < 0.7:
            for lower, upper in ((u, v), (v, u)):
                closest = rng.randint(-nbytes[upper] // 2, nbytes[lower])
                constraints[lower, upper] = rng.choice([nbytes[lower], closest])
    return LayoutProblem(nbytes, align, constraints, lower_bound=max(nbytes))


def is_valid(problem: LayoutProblem, layout: Layout) -> bool:
    at = layout.offsets
    inside = all(o >= 0 and o + n <= layout.top for o, n in zip(at, problem.nbytes, strict=True))
    aligned = all(o % a == 0 for o, a in zip(at, problem.align, strict=True))
    apart = all(
        at[v] - at[u] >= d or at[u] - at[v] >= problem.constraints[v, u] for (u, v), d in problem.constraints.items()
    )
    return inside and aligned and apart and len(at) == len(problem.nbytes)


def in_units(problem: LayoutProblem) -> LayoutProblem:
    """Return the problem with all sizes multiplied by ARENA_ALIGN, because smaller differences do not count."""
    nbytes, align = (tuple(n * ARENA_ALIGN for n in each) for each in (problem.nbytes, problem.align))
    constraints = {pair: n * ARENA_ALIGN for pair, n in problem.constraints.items()}
    return LayoutProblem(nbytes, align, constraints, problem.lower_bound * ARENA_ALIGN)


def lowest_top(problem: LayoutProblem) -> int:

    def fits(top: int, at: tuple[int, ...]) -> bool:
        u = len(at)
        if u == len(problem.nbytes):
            return True
        return any(
            fits(top, (*at, offset))
            for offset in range(0, top - problem.nbytes[u] + 1, problem.align[u])
            if all(
                offset - at[v] >= problem.constraints[v, u] or at[v] - offset >= problem.constraints[u, v]
                for v in range(u)
                if (u, v) in problem.constraints
            )
        )

    return next(top for top in itertools.count(problem.lower_bound) if fits(top, ()))


@settings(max_examples=examples(75), derandomize=True)
@given(SEEDS)
def test_the_heuristic_is_valid(seed: int) -> None:
    problem = random_problem(seed, most=14, largest=200)
    layout = tighten(problem)
    assert is_valid(problem, layout)
    assert layout.top >= problem.lower_bound


def test_a_layout_of_the_least_size_is_found_for_most_problems() -> None:
    problems = [random_problem(seed, most=16, largest=200) for seed in range(60)]
    large = [problem for problem in problems if len(problem.nbytes) >= 10]
    least = [place(problem, seconds=0.3).top for problem in large]
    found = [fit(problem, top) for problem, top in zip(large, least, strict=True)]
    assert all(is_valid(problem, layout) for problem, layout in zip(large, found, strict=True) if layout)
    assert all(layout.top <= top for layout, top in zip(found, least, strict=True) if layout)
    assert sum(layout is not None for layout in found) > 0.8 * len(large)  # Hill climbing found 6 of 22 layouts.


def test_no_layout_is_returned_below_the_lower_bound_or_without_budget() -> None:
    problem = random_problem(1, most=16, largest=200)
    assert fit(problem, problem.lower_bound - 1) is None
    assert fit(problem, 1 << 20) is not None
    assert fit(problem, 1 << 20, Budget(0.0)) is None


@settings(max_examples=examples(13), derandomize=True)
@given(SEEDS)
def test_the_exact_layout_is_valid_and_no_higher(seed: int) -> None:
    problem = random_problem(seed, most=9, largest=200)
    first = tighten(problem)
    layout, _ = exact(problem, first, seconds=SECONDS)
    assert is_valid(problem, layout)
    assert problem.lower_bound <= layout.top <= first.top


@settings(max_examples=examples(30), derandomize=True)
@given(SEEDS)
def test_tiny_problems_are_solved(seed: int) -> None:
    problem = in_units(random_problem(seed, most=4, largest=6))
    layout, lowest = place(problem, seconds=SECONDS), lowest_top(problem)
    assert is_valid(problem, layout)
    assert layout.proven
    assert layout.top == lowest
    assert clique_bound(problem.nbytes, problem.align, problem.constraints, 0) <= lowest


def hard_problem() -> LayoutProblem:
    nbytes = (47, 31, 29, 23, 19, 17, 13, 11, 7, 3)
    together = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 5), (5, 1), (6, 2), (7, 3), (8, 4), (9, 0), (5, 6), (7, 8)]
    constraints = {p: nbytes[p[0]] for u, v in together for p in ((u, v), (v, u))}
    return LayoutProblem(nbytes, (1,) * len(nbytes), constraints, lower_bound=0)


@settings(max_examples=examples(30), derandomize=True)
@given(SEEDS)
def test_cliques_are_those_of_networkx(seed: int) -> None:
    graph = nx.gnp_random_graph(12, 0.5, seed)
    found = [frozenset(clique) for clique in offsets.bound._cliques(graph.to_directed().edges)]
    expected = [frozenset(clique) for clique in nx.find_cliques(graph) if len(clique) > 1]
    assert Counter(clique for clique in found if clique) == Counter(expected)


@pytest.mark.parametrize(("gains", "calls"), [([0], 1), ([16, 16, 0], 3)])
def test_cp_sat_stops_after_a_part_of_its_time_without_progress(
    monkeypatch: pytest.MonkeyPatch, gains: list[int], calls: int
) -> None:
    asked: list[float] = []

    def found(problem: LayoutProblem, hint: Layout, *, seconds: float) -> tuple[Layout, float]:
        asked.append(seconds)
        return replace(hint, top=hint.top - gains[len(asked) - 1]), seconds

    monkeypatch.setattr(offsets, "exact", found)
    monkeypatch.setattr(offsets.bound, "clique_bound", lambda *_: 0)
    monkeypatch.setattr(offsets, "MOVES", 0)
    offsets.forget()
    place(hard_problem(), seconds=SECONDS)
    offsets.forget()
    assert asked == [SECONDS * offsets.PATIENT] * calls


@pytest.mark.parametrize("bound", [128, 256])
def test_only_groups_that_must_be_reversed_are_reversed(bound: int) -> None:
    """The buffers of group 0 share bytes only if group 0 is reversed. The row order of the other groups is of no
    importance. If `bound` is 128, only CP-SAT proves that no layout is smaller.
    """
    apart, together = {(0, 1): 256, (1, 0): 256}, {(0, 1): 0, (1, 0): 0}
    other = {(2, 3): 128, (3, 2): 128}
    groups = Reversible(apart, together, {}), Reversible(other, other, {}), Reversible(other, other, {})
    problem = LayoutProblem((256, 256, 128, 128), (16,) * 4, {}, bound, groups)
    found = place(problem, seconds=SECONDS)
    assert (found.top, found.backward, found.proven) == (256, frozenset({0}), True)
    assert is_valid(problem.decided(found.backward), found)


def test_the_best_found_in_time_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = cp_sat.load().CpSolver
    solve = solver.solve

    def stopped(self: cp_model.CpSolver, model: cp_model.CpModel) -> cp_model.CpSolverStatus:
        solve(self, model)
        status: cp_model.CpSolverStatus = cp_sat.load().FEASIBLE
        return status

    monkeypatch.setattr(solver, "solve", stopped)
    layout, _ = exact(hard_problem(), tighten(hard_problem()), seconds=SECONDS)
    assert is_valid(hard_problem(), layout)
    assert not layout.proven


def test_a_layout_does_not_import_pandas_and_others_may() -> None:
    ours = "from tflm_memopt.plan import cp_sat; from tflm_memopt.plan.layout.bound import clique_bound"
    bound = "clique_bound([1, 2], [1, 1], {(0, 1): 1, (1, 0): 2}, 0)"
    solved = "model = cp_sat.load().CpModel(); cp_sat.solver(1, 0).solve(model)"
    none = "import sys; assert 'pandas' not in sys.modules"
    theirs = "from ortools.sat.python.cp_model import CpModel, pd; assert pd.Series and CpModel is not type(model)"
    subprocess.run([sys.executable, "-c", "; ".join((ours, bound, solved, none, theirs))], check=True)


def test_cp_sat_loads_pandas_if_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cp_sat, "SimpleNamespace", lambda **classes: None)
    assert cp_sat.load.__wrapped__().pd.__name__ == "pandas"


def test_inputs_live_from_the_start_and_outputs_to_the_end() -> None:
    placer = Placer({0: 4, 1: 4, 2: 4}, inputs=(0,), outputs=(1,), known=None)
    drafts = [Draft(Builtin(0), (2,)), Draft(Builtin(1), (0, 1, 2)), Draft(Builtin(2), ())]
    buffers, _ = placer.problem(drafts)
    assert {b.key: (b.first, b.last) for b in buffers} == {0: (0, 2), 1: (1, 3), 2: (0, 2)}
