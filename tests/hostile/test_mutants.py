"""Damaged files are converted right, left alone or refused with a typed error: never a crash, a hang or wrong bytes."""

from __future__ import annotations

from collections import Counter

import pytest
from hostile.judge import Outcome, judge
from hostile.mutants import corpus, mutant

import tflm_memopt

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


def test_the_models_that_are_damaged_are_good_ones() -> None:
    changed = [tflm_memopt.optimize(data, seconds=0.1).report.changed for data in corpus()]
    assert changed == [True, True, True, True, False]


def test_a_seed_is_one_file() -> None:
    assert mutant(7) == mutant(7) != mutant(8)


@pytest.mark.slow
def test_mutants() -> None:
    count = 1000
    verdicts = list(judge(range(count)))
    assert [v for v in verdicts if v.outcome is Outcome.DEFECT] == []
    seen = Counter(v.outcome for v in verdicts)
    assert min(seen[Outcome.REFUSED], seen[Outcome.SAME], seen[Outcome.UNCHANGED]) > count // 50, seen
