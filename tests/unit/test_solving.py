"""tests/solving.py: what it keeps is what CP-SAT says, and no other program's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kept
import ortools
import pytest
import solving
from ortools.sat.python import cp_model

from tflm_memopt.plan import cp_sat


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for answers."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "kept")
    kept.folder.cache_clear()
    yield tmp_path / "kept"
    kept.folder.cache_clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[cp_model.CpModel]:
    """What CP-SAT itself was asked."""
    seen = []

    def solve(self: cp_model.CpSolver, model: cp_model.CpModel) -> Any:
        seen.append(model)
        return plain(self, model)

    plain = cp_model.CpSolver.solve
    solve.__module__ = plain.__module__
    monkeypatch.setattr(cp_model.CpSolver, "solve", solve)
    return seen


def least(limit: int, seed: int = 1, most: int = 100) -> tuple[Any, ...]:
    """The least number that is not below a limit, and is odd; and what the solver says of it."""
    model = cp_model.CpModel()
    x = model.new_int_var(0, most, "x")
    half, odd = model.new_int_var(0, most, "half"), model.new_bool_var("odd")
    model.add(x == 2 * half + odd)
    model.add(x >= limit)
    model.minimize(x + 10 * ~odd)
    solver = cp_sat.solver(1.0, seed)
    status = solver.solve(model)
    if status != cp_model.OPTIMAL:
        return (status,)
    return status, solver.value(x + 0), solver.boolean_value(odd), solver.response_proto.deterministic_time


def test_a_problem_is_solved_once(asked: list[cp_model.CpModel]) -> None:
    first = least(8)
    assert first[:3] == (cp_model.OPTIMAL, 9, True)
    assert least(8) == first
    assert len(asked) == 1
    with solving.afresh():
        assert least(8) == first
        assert least(8) == first
    assert len(asked) == 3


def test_that_there_is_no_answer_is_one(asked: list[cp_model.CpModel]) -> None:
    assert least(8, most=7) == least(8, most=7) == (cp_model.INFEASIBLE,)
    assert len(asked) == 1


def test_another_problem_is_another_one(asked: list[cp_model.CpModel], monkeypatch: pytest.MonkeyPatch) -> None:
    least(7)
    least(8)
    least(7, seed=2)
    monkeypatch.setattr(ortools, "__version__", "of tomorrow")
    least(7)
    assert len(asked) == 4


def test_a_patched_solver_is_asked_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    least(7)
    before = list(folder.iterdir())
    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda *_: cp_model.FEASIBLE)
    assert least(7) == (cp_model.FEASIBLE,)
    assert least(9) == (cp_model.FEASIBLE,)
    assert list(folder.iterdir()) == before
