"""Computes a lower bound of the arena size from buffers that are all live together.

Buffers that are live together form a stack. Held and Karp's dynamic program finds the order of the buffers in the
lowest stack. The lower bound includes alignment and minimum distances, so it can exceed the number of live bytes.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

MOST_BUFFERS = 12
"""The search for the lowest stack of n buffers takes about n² × 2ⁿ operations."""
MOST_CLIQUES = 4
MOST_LISTED = 1000
SECONDS, PAIR_SECONDS = 0.01, 5e-6
"""Estimated seconds to compute a lower bound: a fixed part, and a part for each pair of buffers."""
UNREACHED = 1 << 40

Constraints = Mapping[tuple[int, int], int]


def clique_bound(nbytes: Sequence[int], align: Sequence[int], constraints: Constraints, known: int) -> int:
    cliques = (
        sorted(clique, key=lambda i: (-nbytes[i], i)) for clique in itertools.islice(_cliques(constraints), MOST_LISTED)
    )
    heavy = sorted((c for c in cliques if sum(nbytes[i] for i in c) > known), key=lambda c: -sum(nbytes[i] for i in c))
    parts = dict.fromkeys(tuple(clique[:MOST_BUFFERS]) for clique in heavy[:MOST_CLIQUES])
    return max((_stacked(part, nbytes, align, constraints) for part in parts), default=known)


def _cliques(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Yield each maximal set of buffers that are live together, by the algorithm of Bron and Kerbosch."""
    live: dict[int, set[int]] = {}
    for i, j in pairs:
        live.setdefault(i, set()).add(j)
    waiting: list[tuple[tuple[int, ...], set[int], set[int]]] = [((), set(live), set())]
    while waiting:
        clique, more, done = waiting.pop()
        if not more and not done:
            yield clique
        pivot = max(more | done, key=lambda i: len(live[i] & more), default=-1)
        for i in sorted(more - live.get(pivot, set())):
            waiting.append(((*clique, i), more & live[i], done & live[i]))
            more, done = more - {i}, done | {i}


def _stacked(clique: Sequence[int], nbytes: Sequence[int], align: Sequence[int], constraints: Constraints) -> int:
    count = len(clique)
    apart = np.array([[_in_order(constraints, u, v) if u != v else 0 for v in clique] for u in clique])
    # `lowest[placed, last]` is the lowest offset of buffer `last` above all other buffers of the set `placed`.
    lowest = np.full((1 << count, count), UNREACHED)
    lowest[1 << np.arange(count), np.arange(count)] = 0
    placed = np.arange(1 << count)
    size = sum(placed >> i & 1 for i in range(count))
    for more in range(2, count + 1):
        for last in range(count):
            these = placed[(size == more) & (placed >> last & 1 == 1)]
            starts = (lowest[these ^ 1 << last] + apart[:, last]).min(axis=1)
            lowest[these, last] = starts + -starts % align[clique[last]]
    return int((lowest[-1] + [nbytes[i] for i in clique]).min())


def _in_order(constraints: Constraints, first: int, second: int) -> int:
    return max(0, constraints[first, second]) if constraints[second, first] > 0 else 0
