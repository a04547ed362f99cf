"""Generated loops run exactly the given sequence of iterations."""

import itertools
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tflm_memopt.format.limits import LOOP_DEPTH
from tflm_memopt.plan import loops as module
from tflm_memopt.plan.loops import (
    MAX_TIMES,
    Iteration,
    Loops,
    Repeat,
    from_json,
    iterations,
    loop_codes,
    loops_of,
    to_json,
)
from tflm_memopt.plan.nest import LoopNest, nest_iterations

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


def test_only_loops_that_save_bytes_are_tried() -> None:
    with mock.patch.object(module._Finder, "_repeat", autospec=True, side_effect=module._Finder._repeat) as tried:
        for times in (5, 6):
            order = np.zeros(times, dtype=np.int64)
            loops_of(order, order)
            assert tried.call_count == times - 5


def nests(overlap: st.SearchStrategy[int]) -> st.SearchStrategy[LoopNest]:
    return st.builds(
        lambda advance, more, end, tile, channel_groups: LoopNest(advance, end, advance + more, tile, channel_groups),
        st.integers(1, 4),
        overlap,
        st.integers(-3, 5),
        st.integers(0, 4),
        st.integers(1, 3),
    )


NESTS = nests(st.integers(0, 3))
STRIPES, HEIGHT, WIDTH = st.integers(1, 9), st.integers(1, 9), st.integers(1, 7)


def listed(nest: LoopNest, stripes: int, height: int, width: int) -> list[tuple[int, int, int, int, int]]:
    result, done = [], 0
    for m in range(stripes):
        end = min(max(m * nest.advance + nest.end, 0), height)
        first = min(max(m * nest.advance + nest.end - nest.rows, 0), height) if nest.recomputes else done
        done = end
        for channel_group, x0 in itertools.product(range(nest.channel_groups), range(0, width, nest.tile or width)):
            for row in range(first, end):
                result.append((m, channel_group, row, x0, min(x0 + (nest.tile or width), width)))
    return result


@given(NESTS, STRIPES, HEIGHT, WIDTH)
def test_iterations_are_those_of_five_loops(nest: LoopNest, stripes: int, height: int, width: int) -> None:
    each = nest_iterations(nest, stripes, height, width)
    columns = (each.stripe, each.channel_group, each.row, each.x0, each.x1)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == listed(nest, stripes, height, width)
