"""scripts/faults.py: every fault can be planted today, and what a fault is caught by is told apart."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/faults.py"))
FAULTS = SCRIPT["registry"]()
LEAST = {"described": 5, "planner": 30, "checker": 25, "lowering": 20, "kernels": 40, "emitted": 25, "models": 10}
"""Faults of each area."""


def test_every_fault_can_be_planted() -> None:
    """Its text is once in its file, something else stands for it, and the tests that it names are there."""
    assert [wrong for fault in FAULTS if (wrong := SCRIPT["stale"](fault))] == []
    assert [fault.key for fault in FAULTS if fault.old == fault.new or not fault.breaks or not fault.tests] == []


def test_there_are_enough_in_each_area() -> None:
    areas = [fault.area for fault in FAULTS]
    assert {area: areas.count(area) for area in areas if areas.count(area) < LEAST[area]} == {}
    assert set(areas) == set(LEAST)


class Tree:
    """A copy of which nothing is copied: one way of running tests fails."""

    def __init__(self, tree: Path, fails: tuple[str, str]) -> None:
        self.tree, self.fails, self.planted = tree, fails, list[str]()

    def write(self, file: str, text: str) -> None:
        self.planted.append(text)
        (self.tree / file).write_text(text, encoding="utf-8")

    def failing(self, marked: str, *tests: str) -> str:
        assert (self.tree / "a.py").read_text(encoding="utf-8") == "x < 1\n"
        return "tests/a.py::test" if (marked, tests[0]) == self.fails else ""


@pytest.mark.parametrize(
    ("fails", "caught"),
    [
        (("not slow", "tests/unit"), "named"),
        (("not slow", "tests"), "quick"),
        (("slow", "tests/unit"), "slow"),
        (("never", ""), "survived"),
    ],
)
def test_what_a_fault_is_caught_by(fails: tuple[str, str], caught: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x <= 1\n", encoding="utf-8")
    tree: Any = Tree(tmp_path, fails)
    fault = SCRIPT["Fault"]("planner", "border", "a.py", "<=", "<", "one is left out", ("unit",))
    found = SCRIPT["outcome"](tree, fault, named=False)
    assert (found.fault, found.caught) == ("planner/border", caught)
    assert tree.planted == ["x < 1\n", "x <= 1\n"]
    assert (
        f"| planner | 1 | {' | '.join(str(int(how == caught)) for how in ('named', 'quick', 'slow', 'survived'))} |"
        in [*SCRIPT["table"]([found])]
    )


def test_an_unknown_name_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert SCRIPT["main"](["--list", "--only", "planner", "nothing"]) == 2
    assert capsys.readouterr().err == "nothing: there is no such fault\n"
    assert SCRIPT["main"](["--list", "--only", FAULTS[0].key]) == 0
    assert capsys.readouterr().out.startswith(f"{FAULTS[0].key}: {FAULTS[0].breaks}")
