"""CP-SAT is loaded when it is needed first: it is slow to import, and `verify` never needs it."""

from __future__ import annotations

import importlib
import os
import sys

MODULE = "ortools.sat.python.cp_model"


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
