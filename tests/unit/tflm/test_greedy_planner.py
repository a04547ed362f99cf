"""Test the replay of TFLM's greedy planner: its order, its gaps, and that its placements never overlap."""

from __future__ import annotations

from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from tflm_memopt.tflm.greedy_planner import Need, high_water, place

sizes = st.integers(1, 20).map(lambda n: 16 * n)
lives = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(sorted)
buffers = st.builds(
    lambda size, life, offline: Need(size, life[0], life[1], offline), sizes, lives, st.none() | st.none() | sizes
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
