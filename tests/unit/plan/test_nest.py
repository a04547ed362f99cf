"""Test the outputs of the iterations of loop nests, in their order."""

from __future__ import annotations

import itertools

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
