"""How CP-SAT is loaded: without pandas, which whoever gives it a series has all the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = """
import sys
from tflm_memopt.plan import cp_sat
solver = cp_sat.solver(1.0, 1)
print("pandas" in sys.modules)
"""
SERIES = """
import pandas
from ortools.sat.python import cp_model
model = cp_model.CpModel()
found = model.new_int_var_series("x", pandas.Index([1, 2]), 3, 5)
model.minimize(sum(found))
solver.solve(model)
print(solver.values(found).tolist())
"""


def said(program: str) -> list[str]:
    """Lines, of a process of its own."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_solver_needs_no_pandas() -> None:
    assert said(LOADED) == ["False"]


@pytest.mark.slow
def test_it_takes_series_of_pandas() -> None:
    assert said(LOADED + SERIES) == ["False", "[3, 3]"]


@pytest.mark.slow
def test_pandas_that_is_there_stays() -> None:
    assert said("import pandas as before" + LOADED + "import pandas; print(pandas is before)") == ["True", "True"]


@pytest.mark.slow
def test_a_version_that_needs_more_of_pandas_has_it() -> None:
    taken = """
from tflm_memopt.plan import cp_sat
with cp_sat._without_pandas():
    import pandas
    print(pandas.DataFrame.__name__)
"""
    assert said(taken) == ["DataFrame"]
