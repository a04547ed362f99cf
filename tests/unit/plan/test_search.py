"""Compare the best partition that the search finds with all partitions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from unittest import mock

from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.plan.sketch import random_sketch

from tflm_memopt.plan.pareto import undominated
from tflm_memopt.plan.search.cuts import SHORT, CutLabel, Cuts, Place, RowGroups, least_bytes
from tflm_memopt.plan.search.groups import Candidate, Chain, candidates

UNLIMITED = 1 << 40
SEEDS = st.integers(0, 1 << 32)


def alive(group: Candidate, _enough: int) -> int:
    """Return the live bytes of a group, like a placement without gaps."""
    return group.nbytes


def with_gaps(salt: int) -> Callable[[Candidate, int], int]:
    """Return a placement that adds a different number of bytes for each group."""
    return lambda group, _enough: group.nbytes + hash((salt, group.first, group.last)) % 40


def best_partition(chain: Chain, place: Place) -> CutLabel:
    """Return the best partition into row-wise groups, without a limit on compute."""
    return least_bytes([Cuts(RowGroups(chain), place, None)], UNLIMITED)[0]


def all_groups(chain: Chain) -> dict[tuple[int, int], Candidate]:
    ends = range(1, len(chain.ops) + 1)
    return {(c.first, last): c for last in ends for c in candidates(chain, last, UNLIMITED)}


def partitions(count: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield all ways to cut `count` operators into groups."""
    for cuts in range(count):
        for places in itertools.combinations(range(1, count), cuts):
            yield tuple(itertools.pairwise((0, *places, count)))


@settings(max_examples=examples(25), derandomize=True)
@given(SEEDS, st.booleans(), st.sampled_from((1, 3, SHORT)))
def test_no_partition_is_better(number: int, gaps: bool, short: int) -> None:
    """The best partition is found for any length of groups with which the search starts."""
    s = random_sketch(number, most=7)
    chain = s.chain(*s.unread())
    place = with_gaps(number) if gaps else alive
    cost = {edge: place(group, 0) for edge, group in all_groups(chain).items()}
    least = min(max(cost[e] for e in edges) for edges in partitions(len(chain.ops)) if cost.keys() >= set(edges))
    with mock.patch("tflm_memopt.plan.search.cuts.SHORT", short):
        best = best_partition(chain, lambda group, _enough: cost[group.first, group.last])
    assert best.nbytes == least
    assert max(cost[group.first, group.last] for group in best.groups()) == least


def test_the_front_keeps_what_is_best_in_something() -> None:
    costs = [(10, 5), (8, 7), (8, 6), (12, 5), (9, 6), (20, 1)]
    assert undominated(costs, lambda pair: pair) == [(8, 6), (10, 5), (20, 1)]
    assert undominated(costs, lambda pair: pair, grain=1) == [(8, 6), (20, 1)]
