"""Loads the solver CP-SAT on first use, since its import is slow, and configures it."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

WORKERS = 1
"""Number of threads of a search. With one thread, deterministic time and a fixed seed, CP-SAT gives the same plans on
every machine.
"""


def load() -> None:
    """Load CP-SAT, which must happen before `from ortools.sat.python import cp_model`."""
    with _bound_to_itself():
        importlib.import_module("ortools.sat.python.cp_model")


@contextlib.contextmanager
def _bound_to_itself() -> Iterator[None]:
    """Bind CP-SAT to its own symbols if TensorFlow is loaded. CP-SAT crashes with TensorFlow's symbols."""
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
    made.parameters.num_workers = WORKERS  # several threads would give other plans on other machines
    made.parameters.random_seed = seed
    # CP-SAT would restore the default action of SIGINT, so that Ctrl-C would skip all clean-up
    made.parameters.catch_sigint_signal = False
    return made
