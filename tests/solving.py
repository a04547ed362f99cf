"""CP-SAT, asked each question once: tests convert the same models, whose conversions have problems in common.

With one thread, a seed and deterministic time, an answer depends on the program and the parameters alone. Nothing
leaves the process, so that what is kept is always that of these sources; `forget()` before a test that asks whether
CP-SAT says the same twice.

A module of its own: tests that import conftest get another copy of it than pytest has.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from tflm_memopt.plan import cp_sat
from tflm_memopt.plan.layout import offsets

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

KEPT = 500
"""Answers; the one that nobody asked for longest goes first."""
_SOLVED: OrderedDict[tuple[object, str, str], tuple[cp_model.CpSolver, cp_model.CpSolverStatus]] = OrderedDict()
_SOLVER = cp_sat.solver


class Solver:
    """Like CpSolver: another one answers in its place if it has solved the same program with the same parameters."""

    def __init__(self, seconds: float, seed: int) -> None:
        self._one = _SOLVER(seconds, seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._one, name)

    def solve(self, model: cp_model.CpModel) -> cp_model.CpSolverStatus:
        key = type(self._one).solve, str(model.proto), str(self._one.parameters)  # some test may patch CP-SAT
        if key not in _SOLVED:
            _SOLVED[key] = self._one, self._one.solve(model)
            if len(_SOLVED) > KEPT:
                _SOLVED.popitem(last=False)
        _SOLVED.move_to_end(key)
        self._one, status = _SOLVED[key]
        return status


def install() -> None:
    """For all that the planner solves in this process."""
    cp_sat.solver = Solver  # type: ignore[assignment]


def forget() -> None:
    """Of the planner's own layouts, too."""
    _SOLVED.clear()
    offsets.forget()
