"""Test milliseconds from instructions, and the parsing of times and clocks."""

from __future__ import annotations

import pytest

from tflm_memopt.analysis import costs
from tflm_memopt.analysis.builtin_cost import builtins
from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.timing import Clock, FlashTiming, TimeLimit, rates, time_of
from tflm_memopt.errors import UsageError
from tflm_memopt.units import megahertz, milliseconds

M4 = Clock("cortex-m4", 64.0, "nano33ble")
WORK = (Work("DSP_CONV tiles", macs=1e6, pixels=500, iterations=20), Work("ADD rows", read=1e4, iterations=8))


def test_milliseconds_are_cycles_over_the_clock() -> None:
    assert M4.milliseconds((64_000_000, 128_000_000)) == (1000, 2000)
    assert Clock("cortex-m4", 128.0).milliseconds((64_000_000, 128_000_000)) == (500, 1000)
    assert M4.milliseconds(None) is None


def test_cycles_of_a_plan_are_those_of_its_kernels() -> None:
    known = rates("cortex-m4", None)
    assert known
    for work in WORK:
        table = costs.tables()["cortex-m4"]
        instructions = costs.estimate(table.kernels, work)
        low, high = known.of(work.kernel)
        widened = instructions * low / (1 + table.high), instructions * high / (1 - table.low)
        assert M4.cycles([work]) == pytest.approx(widened)
    both, each = M4.cycles(WORK), [M4.cycles([work]) for work in WORK]
    assert both
    assert both == pytest.approx([sum(one[end] for one in each if one) for end in (0, 1)])
    assert known.of("never modelled") == known.kernels[""]


def test_more_wait_states_take_longer() -> None:
    fast, slow = (rates("cortex-m4", FlashTiming(wait, 16, 64, 8, prefetch=True)) for wait in (2, 5))
    assert fast
    assert slow
    assert fast.kernels[""][1] < slow.kernels[""][1]
    assert fast.cmsis_nn
    assert slow.cmsis_nn
    assert fast.cmsis_nn[1] < slow.cmsis_nn[1]


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


def test_a_model_that_stays_takes_what_cmsis_nn_takes() -> None:
    same = time_of(M4, "cortex-m4", 1_000_000, 1_000_000)
    assert same.original
    assert same.original == same.rewritten
    assert same.original.milliseconds == M4.milliseconds(M4.builtin(1_000_000))
    known = rates("cortex-m4", None)
    assert known
    assert known.cmsis_nn
    stated = builtins("cortex-m4")
    assert stated
    low, high = known.cmsis_nn
    assert same.cycles == pytest.approx((low / (1 + stated.high), high / (1 - stated.low)), abs=0.01)


@pytest.mark.parametrize("said", ["", "ms", "0ms", "-5ms", "5 minutes", "five", "1e3"])
def test_what_is_no_time(said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        milliseconds(said)
    assert refusal.value.code == "bad_option"


@pytest.mark.parametrize("said", ["", "MHz", "0", "64 ms"])
def test_what_is_no_clock(said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        megahertz(said)
    assert refusal.value.code == "bad_option"
