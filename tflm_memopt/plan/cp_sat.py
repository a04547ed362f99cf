"""CP-SAT, loaded when it is needed first (it is slow to import, and `verify` never needs it), and how it is run."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MODULE = "ortools.sat.python.cp_model"
WORKERS = 1
"""Threads of a search. With deterministic time and a fixed seed, the same version gives the same plans everywhere."""


def load() -> None:
    """Before `from ortools.sat.python import cp_model`.

    Behind TensorFlow, CP-SAT must be bound to its own symbols: with those of TensorFlow it crashes.
    """
    deep = getattr(os, "RTLD_DEEPBIND", 0) if "tensorflow" in sys.modules and MODULE not in sys.modules else 0
    if not deep:
        return
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | deep)
    try:
        importlib.import_module(MODULE)
    finally:
        sys.setdlopenflags(flags)


def solver(seconds: float, seed: int) -> cp_model.CpSolver:
    """A solver that stops after so many seconds of CP-SAT's deterministic time."""
    load()
    from ortools.sat.python import cp_model  # noqa: PLC0415 (see load)

    made = cp_model.CpSolver()
    made.parameters.max_deterministic_time = seconds
    made.parameters.num_workers = WORKERS
    made.parameters.random_seed = seed
    return made
