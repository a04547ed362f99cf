"""A lower bound of layouts: buffers that all meet each other lie one above the other, in some order.

The order that needs least is a shortest path through all of them (Held and Karp's dynamic program), with alignment: it
sees what the bytes alive at one moment do not, pairs that meet at different moments and places that buffers may not
start at.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

MOST_BUFFERS = 12
"""Buffers of a clique that are looked at, the largest ones: 2^n * n^2 steps."""
MOST_CLIQUES = 4
MOST_LISTED = 1000
SECONDS, PAIR_SECONDS = 0.01, 5e-6
"""Work (effort.py) for one bound, and for each separation in it."""
UNREACHED = 1 << 40
"""An offset above all others."""

Separations = Mapping[tuple[int, int], int]


def clique_bound(nbytes: Sequence[int], align: Sequence[int], separations: Separations, known: int) -> int:
    """No layout has a lower top; `known` is such a bound already."""
    import networkx as nx  # noqa: PLC0415 (slow to import, and not all commands plan)

    graph: nx.Graph[int] = nx.Graph()
    graph.add_edges_from(separations)  # given to the constructor, they would make it import pandas, if it is there
    cliques = (
        sorted(clique, key=lambda i: (-nbytes[i], i))
        for clique in itertools.islice(nx.find_cliques(graph), MOST_LISTED)
    )
    heavy = sorted((c for c in cliques if sum(nbytes[i] for i in c) > known), key=lambda c: -sum(nbytes[i] for i in c))
    parts = dict.fromkeys(tuple(clique[:MOST_BUFFERS]) for clique in heavy[:MOST_CLIQUES])
    return max((_stacked(part, nbytes, align, separations) for part in parts), default=known)


def _stacked(clique: Sequence[int], nbytes: Sequence[int], align: Sequence[int], separations: Separations) -> int:
    """The least top of these buffers when each is held only by the one that starts next below it."""
    count = len(clique)
    apart = np.array([[_in_order(separations, u, v) if u != v else 0 for v in clique] for u in clique])
    lowest = np.full((1 << count, count), UNREACHED)  # by those placed and the last of them: its offset
    lowest[1 << np.arange(count), np.arange(count)] = 0
    placed = np.arange(1 << count)
    size = sum(placed >> i & 1 for i in range(count))
    for more in range(2, count + 1):
        for last in range(count):
            these = placed[(size == more) & (placed >> last & 1 == 1)]
            starts = (lowest[these ^ 1 << last] + apart[:, last]).min(axis=1)
            lowest[these, last] = starts + -starts % align[clique[last]]
    return int((lowest[-1] + [nbytes[i] for i in clique]).min())


def _in_order(separations: Separations, first: int, second: int) -> int:
    """By how much `second` starts above `first` if it does not start below: not at all where it might lie below."""
    return max(0, separations[first, second]) if separations[second, first] > 0 else 0
