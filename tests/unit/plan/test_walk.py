"""Test walks: the output of each unit, and the order of units."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflm_memopt.plan.walk import Walk, units


def walks(overlap: st.SearchStrategy[int]) -> st.SearchStrategy[Walk]:
    return st.builds(
        lambda advance, more, end, tile, groups: Walk(advance, end, advance + more, tile, groups),
        st.integers(1, 4),
        overlap,
        st.integers(-3, 5),
        st.integers(0, 4),
        st.integers(1, 3),
    )


WALKS = walks(st.integers(0, 3))
STRIPS, HEIGHT, WIDTH = st.integers(1, 9), st.integers(1, 9), st.integers(1, 7)


def listed(walk: Walk, strips: int, height: int, width: int) -> list[tuple[int, int, int, int, int]]:
    """(strip, group, row, x0, x1) of all units, by five loops."""
    result, done = [], 0
    for m in range(strips):
        end = min(max(m * walk.advance + walk.end, 0), height)
        first = min(max(m * walk.advance + walk.end - walk.rows, 0), height) if walk.recomputes else done
        done = end
        for group, x0 in itertools.product(range(walk.groups), range(0, width, walk.tile or width)):
            for row in range(first, end):
                result.append((m, group, row, x0, min(x0 + (walk.tile or width), width)))
    return result


@given(WALKS, STRIPS, HEIGHT, WIDTH)
def test_units_are_those_of_five_loops(walk: Walk, strips: int, height: int, width: int) -> None:
    u = units(walk, strips, height, width)
    columns = (u.strip, u.group, u.row, u.x0, u.x1)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == listed(walk, strips, height, width)


@given(WALKS, STRIPS, HEIGHT, WIDTH)
def test_a_unit_is_found_by_any_of_its_pixels(walk: Walk, strips: int, height: int, width: int) -> None:
    u = units(walk, strips, height, width)
    number = np.arange(len(u))
    assert np.array_equal(u.strip_making(u.row, u.strip), u.strip)
    for column in (u.x0, u.x1 - 1):
        assert np.array_equal(u.index(u.strip, u.group, u.row, column), number)


@given(walks(st.just(0)), HEIGHT, WIDTH)
def test_without_recompute_every_pixel_is_made_once(walk: Walk, height: int, width: int) -> None:
    enough = 1 + max(0, -((walk.end - height) // walk.advance))
    u = units(walk, enough, height, width)
    made = [
        (int(g), int(y), x)
        for g, y, x0, x1 in zip(u.group, u.row, u.x0, u.x1, strict=True)
        for x in range(int(x0), int(x1))
    ]
    assert sorted(made) == list(itertools.product(range(walk.groups), range(height), range(width)))


@pytest.mark.parametrize(("advance", "end"), [(1, 1), (3, 2), (3, 3), (3, 4), (4, -5), (2, 0)])
def test_strips_end_where_periods_do(advance: int, end: int) -> None:
    """The origin is the highest possible one at or above the first row."""
    origin = Walk(advance, end, advance).origin
    assert -advance < origin <= 0
    assert (end - origin) % advance == 0
