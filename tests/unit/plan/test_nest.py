"""Test loop nests: the output of each iteration, and the order of iterations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflm_memopt.plan.nest import LoopNest, units


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
    """Return (stripe, group, row, x0, x1) of all iterations, computed by five loops."""
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
def test_units_are_those_of_five_loops(nest: LoopNest, stripes: int, height: int, width: int) -> None:
    u = units(nest, stripes, height, width)
    columns = (u.stripe, u.channel_group, u.row, u.x0, u.x1)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == listed(nest, stripes, height, width)


@given(NESTS, STRIPES, HEIGHT, WIDTH)
def test_a_unit_is_found_by_any_of_its_pixels(nest: LoopNest, stripes: int, height: int, width: int) -> None:
    u = units(nest, stripes, height, width)
    number = np.arange(len(u))
    assert np.array_equal(u.stripe_making(u.row, u.stripe), u.stripe)
    for column in (u.x0, u.x1 - 1):
        assert np.array_equal(u.index(u.stripe, u.channel_group, u.row, column), number)


@given(nests(st.just(0)), HEIGHT, WIDTH)
def test_without_recompute_every_pixel_is_made_once(nest: LoopNest, height: int, width: int) -> None:
    enough = 1 + max(0, -((nest.end - height) // nest.advance))
    u = units(nest, enough, height, width)
    made = [
        (int(g), int(y), x)
        for g, y, x0, x1 in zip(u.channel_group, u.row, u.x0, u.x1, strict=True)
        for x in range(int(x0), int(x1))
    ]
    assert sorted(made) == list(itertools.product(range(nest.channel_groups), range(height), range(width)))


@pytest.mark.parametrize(("advance", "end"), [(1, 1), (3, 2), (3, 3), (3, 4), (4, -5), (2, 0)])
def test_stripes_end_where_periods_do(advance: int, end: int) -> None:
    """The origin is the highest possible one at or above the first row."""
    origin = LoopNest(advance, end, advance).origin
    assert -advance < origin <= 0
    assert (end - origin) % advance == 0
