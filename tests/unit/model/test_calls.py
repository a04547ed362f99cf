"""Test models whose subgraphs call other subgraphs, some of them endlessly."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tflm_memopt.errors import ModelError
from tflm_memopt.model import calls
from tflm_memopt.model.graph import Graph, Op


def graphs(*others: Sequence[int]) -> list[Graph]:
    """Return subgraphs that call other subgraphs, with two calls per IF."""
    return [
        Graph({}, tuple(choice(k, *called[k : k + 2]) for k in range(0, len(called), 2)), (), ()) for called in others
    ]


def choice(index: int, then: int, otherwise: int) -> Op:
    return Op(index, "IF", (), (), {"thenSubgraphIndex": then, "elseSubgraphIndex": otherwise})


def test_subgraphs_may_call_others() -> None:
    calls.check(graphs((3, 1), (2, 3), (), (2, 2)))


@pytest.mark.parametrize("others", [[(0, 1), ()], [(1, 1), (2, 2), (1, 1)], [(), (1, 1)]])
def test_without_an_end(others: Sequence[Sequence[int]]) -> None:
    first = min(k for k, called in enumerate(others) if called)
    with pytest.raises(
        ModelError, match=f"the subgraph calls itself, or a subgraph that calls itself\n  at subgraph {first}"
    ):
        calls.check(graphs(*others))
