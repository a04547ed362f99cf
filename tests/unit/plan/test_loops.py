"""Loops run exactly the iterations from which they were made, and take few bytes if something repeats."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tflm_memopt.format.limits import LOOP_DEPTH
from tflm_memopt.lower.loop_codes import loop_codes
from tflm_memopt.plan.loops import MAX_TIMES, Iteration, Loops, Repeat, from_json, iterations, loops_of, to_json

PIECES = st.lists(st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(1, 40)), max_size=8)


def depth(loops: Loops) -> int:
    return max((1 + depth(item.body) for item in loops if isinstance(item, Repeat)), default=0)


@given(PIECES, st.integers(1, 5), st.integers(0, 3))
def test_loops_run_what_they_were_made_of(pieces: list[tuple[list[int], int]], times: int, skips: int) -> None:
    once = [stage for body, count in pieces for stage in body * count]
    order = [Iteration(stage, skips if n == len(once) // 2 else 0) for n, stage in enumerate(once)] * times
    stages, skipped = (np.array([getattr(i, name) for i in order], dtype=np.int64) for name in ("stage", "skips"))
    loops = loops_of(stages, skipped)
    assert [*iterations(loops)] == order
    assert from_json(to_json(loops)) == loops
    assert depth(loops) <= LOOP_DEPTH
    assert len(loop_codes(loops)) <= 1 + len(order) + 4 * sum(skipped > 0)


def test_a_loop_counts_no_further_than_its_field() -> None:
    order = np.zeros(3 * MAX_TIMES + 5, dtype=np.int64)
    loops = loops_of(order, order)
    assert len([*iterations(loops)]) == len(order)
    assert all(item.times <= MAX_TIMES for item in loops if isinstance(item, Repeat))
