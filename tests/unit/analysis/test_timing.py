"""Test milliseconds from instructions, and the parsing of times and clocks."""

from __future__ import annotations

from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.timing import Clock, TimeLimit

M4 = Clock("cortex-m4", 64.0, "nano33ble")
WORK = (Work("DSP_CONV tiles", macs=1e6, pixels=500, iterations=20), Work("ADD rows", read=1e4, iterations=8))


def test_a_limit_holds_at_the_upper_end_of_the_range() -> None:
    span = M4.cycles(WORK)
    assert span
    limit = TimeLimit(50.0, M4)
    assert limit.takes(WORK) == span[1]
    assert limit.cycles == 50 * 64_000


def test_the_limit_that_is_advised_is_kept() -> None:
    limit = TimeLimit(1.0, M4, builtin=1000)
    for cycles in (1, 99_999, 3_875_179):
        advised = TimeLimit(limit.least(cycles), M4, builtin=1000)
        assert advised.cycles >= cycles
        assert advised.milliseconds - 0.11 <= (M4.milliseconds((0, cycles + 1000)) or (0, 0))[1]
