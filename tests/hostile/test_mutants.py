"""A damaged file never causes a crash, a hang or a wrong output byte."""

from collections import Counter

import pytest
from hostile.judge import Outcome, judge

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


@pytest.mark.slow
def test_mutants() -> None:
    count = 150
    verdicts = list(judge(range(count)))
    assert [v for v in verdicts if v.outcome is Outcome.DEFECT] == []
    seen = Counter(v.outcome for v in verdicts)
    assert min(seen[Outcome.REFUSED], seen[Outcome.SAME], seen[Outcome.UNCHANGED]) > count // 50, seen
