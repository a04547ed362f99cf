"""Loads the solver CP-SAT on first use, since its import is slow."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

WORKERS = 1
"""With several threads, the results of CP-SAT would differ between machines."""
NAME = "ortools.sat.python.cp_model"


@cache
def load() -> ModuleType:
    """Return CP-SAT's module `cp_model` without its functions for pandas.

    Importing pandas takes as long as planning a small model.
    """
    pandas = SimpleNamespace(Index=type("Index", (), {}), Series=type("Series", (), {}))

    def imported(name: str, *args: Any) -> Any:
        return pandas if name == "pandas" else builtins.__import__(name, *args)

    with _bound_to_itself():
        spec = importlib.util.find_spec(NAME)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(NAME, name=NAME)
        module = importlib.util.module_from_spec(spec)
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": imported}
        try:
            spec.loader.exec_module(module)
        except (AttributeError, TypeError):
            return importlib.import_module(NAME)
    return module


@contextlib.contextmanager
def _bound_to_itself() -> Iterator[None]:
    """Bind CP-SAT to its own symbols if TensorFlow is loaded, because CP-SAT crashes with TensorFlow's symbols."""
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
    """Return a solver that stops after `seconds` seconds of CP-SAT's deterministic time."""
    made: cp_model.CpSolver = load().CpSolver()
    made.parameters.max_deterministic_time = seconds
    made.parameters.num_workers = WORKERS
    made.parameters.random_seed = seed
    # With `catch_sigint_signal`, CP-SAT restores the default action of SIGINT, and Ctrl-C skips all clean-up.
    made.parameters.catch_sigint_signal = False
    return made
