"""Damaged files are converted correctly, left unchanged, or refused: no crash, no hang, no wrong bytes."""

from __future__ import annotations

from collections import Counter

import pytest
from hostile.judge import Outcome, judge
from hostile.mutants import networks

import tflm_memopt

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


@pytest.mark.parametrize("number", range(8))
def test_the_models_that_are_damaged_are_good_ones(number: int) -> None:
    several_subgraphs = number == 4
    assert tflm_memopt.optimize(networks()[number], seconds=0).report.changed == (not several_subgraphs)


@pytest.mark.slow
def test_mutants() -> None:
    count = 150
    verdicts = list(judge(range(count)))
    assert [v for v in verdicts if v.outcome is Outcome.DEFECT] == []
    seen = Counter(v.outcome for v in verdicts)
    assert min(seen[Outcome.REFUSED], seen[Outcome.SAME], seen[Outcome.UNCHANGED]) > count // 50, seen
