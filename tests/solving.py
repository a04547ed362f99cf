"""CP-SAT, asked each question once: tests convert the same models, whose conversions have problems in common.

With one thread, a seed and deterministic time, an answer depends on CP-SAT's version, the program and the parameters
alone: it is kept under a digest of these (kept.py), for other workers and runs, too. A test that asks whether CP-SAT
says the same twice does so `afresh()`.

A module of its own: tests that import conftest get another copy of it than pytest has.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kept
import ortools

from tflm_memopt.plan import cp_sat
from tflm_memopt.plan.layout import offsets

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_SOLVER = cp_sat.solver
SITE = f"""
import sys
if any(word.endswith(("tflm-memopt", "tflm_memopt")) for word in sys.orig_argv):
    sys.path.append({str(Path(__file__).parent)!r})
    import solving
    solving.install()
"""
"""As sitecustomize.py, run when Python starts: an installed command has what tests keep, too."""


class Solver:
    """Like CpSolver, which it asks only what is not kept."""

    def __init__(self, seconds: float, seed: int) -> None:
        self._asked, self._kept = _SOLVER(seconds, seed), None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._asked, name)

    @property
    def response_proto(self) -> Any:
        return self._kept or self._asked.response_proto

    @property
    def best_objective_bound(self) -> float:
        return float(self.response_proto.best_objective_bound)

    @property
    def objective_value(self) -> float:
        return float(self.response_proto.objective_value)

    def value(self, expression: cp_model.LinearExprT) -> int:
        return int(_helper().ResponseHelper.value(self.response_proto, expression))

    def boolean_value(self, literal: cp_model.LiteralT) -> bool:
        return bool(_helper().ResponseHelper.boolean_value(self.response_proto, literal))

    def solve(self, model: cp_model.CpModel) -> cp_model.CpSolverStatus:
        if type(self._asked).solve.__module__ != cp_sat.MODULE:  # some test patches it
            return self._asked.solve(model)
        key = repr((ortools.__version__, str(model.proto), str(self._asked.parameters)))
        name = f"{hashlib.sha256(key.encode()).hexdigest()}.answer"
        if (answer := kept.find(name)) is None:
            self._asked.solve(model)
            answer = str(self._asked.response_proto).encode()
            kept.keep(name, answer)
        self._kept = _helper().CpSolverResponse()
        self._kept.parse_text_format(answer.decode())
        return self._kept.status


def _helper() -> Any:
    from ortools.sat.python import cp_model_helper  # noqa: PLC0415 (see cp_sat.load)

    return cp_model_helper


def install() -> None:
    """For all that the planner solves in this process."""
    cp_sat.solver = Solver  # type: ignore[assignment]


@contextlib.contextmanager
def afresh() -> Iterator[None]:
    """Layouts are made and problems solved as if nobody had done so before, and nothing is kept."""
    offsets.forget()
    cp_sat.solver = _SOLVER
    try:
        yield
    finally:
        install()
        offsets.forget()
