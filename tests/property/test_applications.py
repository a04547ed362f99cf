"""Random applications; `make soak KIND=apps` has as many as you like."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from applications import MISSING, TFLM, built
from property.applications import examine, planned

CASES = range(16)


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_every_model_runs_as_it_does_alone(tmp_path: Path) -> None:
    """Some of these pause, and some turns are refused."""
    machine = built(tmp_path, TFLM["AUTUMN"])
    said = [examine(case, machine) for case in CASES]
    assert any(" 0 pausing" not in one for one in said)
    assert any(" 0 turns" not in one for one in said)


@pytest.mark.parametrize("seed", [84, 160])
def test_layouts_that_the_checker_once_refused(seed: int) -> None:
    """A block that fires from the last row to the first; an input whose first wait is its only one."""
    planned(random.Random(seed))
