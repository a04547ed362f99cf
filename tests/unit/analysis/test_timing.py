"""Milliseconds from instructions, and what people say of times and clocks."""

from __future__ import annotations

import pytest

from tflm_memopt.analysis.timing import CYCLES, Clock, TimeLimit, time_of
from tflm_memopt.errors import UsageError
from tflm_memopt.units import megahertz, milliseconds

M4 = Clock("cortex-m4", 64.0, "nano33ble")


def test_milliseconds_are_cycles_over_the_clock() -> None:
    low, high = CYCLES["cortex-m4"]
    assert M4.milliseconds(64_000_000) == (1000 * low, 1000 * high)
    assert Clock("cortex-m4", 128.0).milliseconds(64_000_000) == (500 * low, 500 * high)


@pytest.mark.parametrize("limit", [0.7, 50.0, 1234.5])
def test_a_limit_holds_at_the_upper_end_of_the_range(limit: float) -> None:
    most = M4.instructions(limit)
    span = M4.milliseconds(most)
    assert span
    assert span[1] <= limit
    beyond = M4.milliseconds(most + 100)
    assert beyond
    assert beyond[1] > limit


def test_the_limit_that_is_advised_is_kept() -> None:
    limit = TimeLimit(1.0, M4, builtin=1000)
    for instructions in (1, 99_999, 3_875_179):
        advised = TimeLimit(limit.least(instructions), M4, builtin=1000)
        assert advised.instructions >= instructions
        assert advised.milliseconds - 0.11 <= (M4.milliseconds(instructions + 1000) or (0, 0))[1]


def test_what_stays_builtin_takes_its_part() -> None:
    assert TimeLimit(50.0, M4, builtin=1000).instructions == M4.instructions(50.0) - 1000
    assert TimeLimit(0.001, M4, builtin=1000).instructions == 0


def test_of_cores_without_a_source_there_are_instructions_only() -> None:
    unknown = Clock("cortex-m7", 480.0)
    assert unknown.milliseconds(1000) is None
    with pytest.raises(UsageError) as refusal:
        unknown.instructions(50.0)
    assert refusal.value.code == "cycles_unknown"
    assert "cortex-m4" in refusal.value.hint
    time = time_of(unknown, "cortex-m7", None, 5)
    assert (time.cycles, time.original, time.mhz) == (None, None, 480.0)
    assert time.rewritten
    assert (time.rewritten.instructions, time.rewritten.milliseconds) == (5, None)


@pytest.mark.parametrize("said", ["", "ms", "0ms", "-5ms", "5 minutes", "five", "1e3"])
def test_what_is_no_time(said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        milliseconds(said)
    assert refusal.value.code == "bad_time"


@pytest.mark.parametrize("said", ["", "MHz", "0", "64 ms"])
def test_what_is_no_clock(said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        megahertz(said)
    assert refusal.value.code == "bad_clock"
