"""tests/solving.py: what it keeps is what CP-SAT says, and no other program's."""

from __future__ import annotations

import pytest
import solving
from ortools.sat.python import cp_model

from tflm_memopt.plan import cp_sat


def least(limit: int, seed: int = 1) -> tuple[int, object]:
    """The least number that is not below a limit, and the solver that answers."""
    model = cp_model.CpModel()
    x = model.new_int_var(0, 100, "x")
    model.add(x >= limit)
    model.minimize(x)
    solver = cp_sat.solver(1.0, seed)
    assert solver.solve(model) == cp_model.OPTIMAL
    return int(solver.value(x)), solver.response_proto


def test_a_problem_is_solved_once() -> None:
    first, second = least(7), least(7)
    assert first[0] == second[0] == 7
    assert first[1] is second[1]
    solving.forget()
    assert least(7)[1] is not first[1]


def test_another_problem_is_another_one() -> None:
    assert least(7)[0] != least(8)[0]
    assert least(7, seed=1)[1] is not least(7, seed=2)[1]


def test_a_patched_solver_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    least(7)
    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda *_: cp_model.FEASIBLE)
    with pytest.raises(AssertionError):
        least(7)
