"""Damaged models that keep a state are refused, left unchanged, or give the same bytes in each step of a sequence."""

from collections import Counter
from functools import cache, partial

import memories
import pytest
import streaming
from hostile.judge import CPU_SECONDS, in_children
from hostile.mutants import mutant

import tflm_memopt
from tflm_memopt.errors import MemoptError, ModelError, PlanError
from tflm_memopt.runtime.stimuli import Steps
from tflm_memopt.runtime.verify import verify

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


@cache
def keepers() -> tuple[bytes, ...]:
    kinds = (
        streaming.mixed,
        streaming.pooled,
        streaming.recurrent,
        streaming.joined,
        streaming.partly,
        streaming.chunks,
    )
    return (*(make() for make in kinds), memories.lstm_network(), memories.svdf_network())


def examine(data: bytes) -> str:
    try:
        done = tflm_memopt.optimize(data, seconds=0.02)
    except PlanError as error:
        return f"defect: {error}"
    except MemoptError:
        return "refused"
    if not done.report.changed:
        return "unchanged"
    try:
        found = verify(data, done.model, runs=1, steps=Steps(12, 5))
    except ModelError:
        return "the original does not run"
    return "same bytes" if found.bit_exact else "other bytes"


@pytest.mark.slow
def test_damaged_states() -> None:
    """A few models may give other bytes, because TFLM's result for a damaged operator is undefined."""
    count = 100
    work = [partial(lambda seed: examine(mutant(seed, keepers())), seed) for seed in range(count)]
    found = [answer or f"defect: {failure}" for answer, failure in in_children(work, 3 * CPU_SECONDS)]
    assert [(seed, what) for seed, what in enumerate(found) if str(what).startswith("defect")] == []
    seen = Counter(found)
    assert min(seen["refused"], seen["same bytes"]) > count // 5 > 20 * seen["other bytes"], seen
