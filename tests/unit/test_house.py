"""scripts/house.py: every count sees what it counts, and nothing else."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest
from conftest import ROOT

HOUSE = runpy.run_path(str(ROOT / "scripts/house.py"))
LONG = "def f():\n" + "    pass\n" * 50
PLANTED = {
    "asserts": {"a": "assert True"},
    "class names with two owners": {"a": "class Arena: pass", "b": "class Arena: pass"},
    "docstrings that begin with Of": {"a": 'BYTES = 3\n"""Of a tensor."""'},
    "functions of more than 8 parameters": {"a": "def f(a, b, c, d, e, f, g, h, *, i): pass"},
    "functions of more than 50 lines": {"a": LONG},
    "modules at the top": {"a": ""},
    "modules in circles of imports": {
        "a": "from tflm_memopt.plan import b",
        "b": "def f():\n    from tflm_memopt.plan.a import g",
    },
    "tests of Kind outside ops and lower": {"a": "op.kind is Kind.CONV"},
}


@pytest.mark.parametrize("name", HOUSE["COUNTS"])
def test_a_count_sees_what_it_counts(name: str) -> None:
    folder = Path("tflm_memopt") if name == "modules at the top" else Path("tflm_memopt/plan")
    source = {folder / f"{module}.py": ast.parse(text) for module, text in PLANTED[name].items()}
    found = list(HOUSE["COUNTS"][name](source))
    assert len(found) == (2 if "circles" in name else 1)
    assert "tflm_memopt" in found[0]


@pytest.mark.parametrize("name", sorted(set(HOUSE["COUNTS"]) - {"modules at the top"}))
def test_a_count_sees_nothing_where_nothing_is(name: str) -> None:
    source = {Path("tflm_memopt/ops/a.py"): ast.parse("def f(self, a, b, c, d, e, f, g, h):\n    return Kind.CONV")}
    assert not list(HOUSE["COUNTS"][name](source))


def test_every_count_has_a_ceiling() -> None:
    assert set(HOUSE["COUNTS"]) == set(HOUSE["CEILINGS"])
