"""Test the range of milliseconds."""

from dataclasses import replace

import pytest

from tflm_memopt.analysis.costs import Work
from tflm_memopt.analysis.timing import NO_WAIT, Clock, timings
from tflm_memopt.targets.boards import boards

CORE = "cortex-m4"


def test_the_longest_time_assumes_one_flash_for_the_whole_plan() -> None:
    """Each of the two operators is slowest with a different flash."""
    work = [Work("DSP_CONV rows", macs=1e6), Work("DSP_DEPTHWISE 3x3 rows", iterations=500)]
    unknown = Clock(CORE, 64.0)
    flashes = {board.flash_timing for board in boards().values() if board.flash_timing} - {NO_WAIT}
    known = [Clock(CORE, 64.0, flash=flash) for flash in flashes if flash.key in timings(CORE)]
    assert len(known) == len(timings(CORE))

    def longest(clock: Clock, some: list[Work]) -> float:
        cycles = clock.cycles(some)
        assert cycles
        return cycles[1]

    assert longest(unknown, work) == pytest.approx(max(longest(clock, work) for clock in known))
    assert longest(unknown, work) < 0.95 * sum(longest(unknown, [one]) for one in work)
    assert unknown.cycles([]) == (0, 0)


def test_the_longest_time_of_tflm_assumes_one_flash_for_the_whole_model() -> None:
    rates = Clock(CORE, 64.0).rates
    assert rates
    rates = replace(rates, cmsis_nn={"": (1, 2, 5), "FULLY_CONNECTED": (1, 6, 3)})
    assert rates.builtin({"CONV_2D": 10, "FULLY_CONNECTED": 10}) == (20, 80)
    assert rates.builtin({}) == (0, 0)
