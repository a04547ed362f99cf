"""Loads CP-SAT on first use, since its import is slow and `verify` never needs it, and configures its solver."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MODULE = "ortools.sat.python.cp_model"
WORKERS = 1
"""Threads of a search. With deterministic time and a fixed seed, the same version gives the same plans everywhere."""


class _Pandas(ModuleType):
    """Placeholder for pandas while CP-SAT is loaded, which needs two pandas names for signatures only and loads faster
    without it. It forwards to the real pandas, which is loaded if CP-SAT is given a series.
    """

    def __getattr__(self, name: str) -> Any:
        self.leave()
        return getattr(importlib.import_module(self.__name__), name)

    def leave(self) -> None:
        """Remove the placeholder."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


def load() -> None:
    """Load CP-SAT; call it before `from ortools.sat.python import cp_model`."""
    if MODULE not in sys.modules:
        with _without_pandas(), _bound_to_itself():
            importlib.import_module(MODULE)


@contextlib.contextmanager
def _without_pandas() -> Iterator[None]:
    pandas = _Pandas("pandas")
    vars(pandas).update(named := dict.fromkeys(("Index", "Series"), object))
    sys.modules.setdefault(pandas.__name__, pandas)
    try:
        yield
    finally:
        pandas.leave()
        for name in named:
            delattr(pandas, name)


@contextlib.contextmanager
def _bound_to_itself() -> Iterator[None]:
    """Bind CP-SAT to its own symbols if TensorFlow is loaded, since it crashes with TensorFlow's."""
    if "tensorflow" not in sys.modules or not hasattr(os, "RTLD_DEEPBIND"):
        yield
        return
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | os.RTLD_DEEPBIND)
    try:
        yield
    finally:
        sys.setdlopenflags(flags)


def solver(seconds: float, seed: int) -> cp_model.CpSolver:
    """Return a solver that stops after `seconds` of CP-SAT's deterministic time."""
    load()
    from ortools.sat.python import cp_model  # noqa: PLC0415 (see load)

    made = cp_model.CpSolver()
    made.parameters.max_deterministic_time = seconds
    made.parameters.num_workers = WORKERS
    made.parameters.random_seed = seed
    made.parameters.catch_sigint_signal = (
        False  # it would restore the default action, so that Ctrl-C no longer cleans up
    )
    return made
