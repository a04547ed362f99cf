"""Test the replay of TFLM's greedy planner: its order, its gaps, and that its placements never overlap."""

from __future__ import annotations

import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from tflm_memopt.tflm.greedy_planner import Need, high_water, place


@pytest.mark.parametrize(
    ("requests", "offsets"),
    [
        pytest.param([], (), id="nothing"),
        pytest.param([Need(16, 0, 9), Need(64, 0, 9), Need(32, 0, 9)], (96, 0, 64), id="largest first"),
        pytest.param([Need(32, 0, 9), Need(32, 0, 9)], (32, 0), id="of equal sizes, the last one first"),
        pytest.param([Need(32, 0, 1), Need(32, 2, 3)], (0, 0), id="not alive together"),
        pytest.param([Need(32, 0, 1), Need(32, 1, 3)], (32, 0), id="alive together for one scope"),
        pytest.param([Need(64, 0, 9, 32), Need(32, 0, 9)], (32, 0), id="a gap before an offline buffer"),
        pytest.param([Need(64, 0, 9, 16), Need(32, 0, 9)], (16, 80), id="a gap that is too small"),
        pytest.param([Need(64, 0, 9, 16), Need(64, 0, 9, 48)], (16, 48), id="offline buffers may overlap"),
        pytest.param([Need(64, 0, 9), Need(16, 0, 9, 32)], (48, 32), id="offline buffers come first"),
    ],
)
def test_offsets(requests: list[Need], offsets: tuple[int, ...]) -> None:
    assert place(requests) == offsets


sizes = st.integers(1, 20).map(lambda n: 16 * n)
lives = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(sorted)
buffers = st.builds(
    lambda size, life, offline: Need(size, life[0], life[1], offline),
    sizes,
    lives,
    st.none() | st.none() | sizes,
)


@settings(max_examples=examples(50))
@given(st.lists(buffers, max_size=12))
def test_what_is_placed_online_overlaps_nothing_alive(requests: list[Need]) -> None:
    offsets = place(requests)
    assert high_water(requests, offsets) == max(
        (o + r.nbytes for o, r in zip(offsets, requests, strict=True)), default=0
    )
    for i, a in enumerate(requests):
        assert a.offline in (None, offsets[i])
        for j, b in enumerate(requests[:i]):
            together = a.first <= b.last and b.first <= a.last
            apart = offsets[i] >= offsets[j] + b.nbytes or offsets[j] >= offsets[i] + a.nbytes
            assert apart or not together or None not in (a.offline, b.offline)
