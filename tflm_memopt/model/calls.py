"""Finds the subgraphs that operators run."""

from collections.abc import Mapping, Sequence

from tflm_memopt.errors import ModelError
from tflm_memopt.model.graph import Graph, Op

MOST_RUNS = 1000
"""Greatest number of times that one inference may run subgraphs. TFLM plans memory for each run of a subgraph."""
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "IF": ("thenSubgraphIndex", "elseSubgraphIndex"),
    "CALL_ONCE": ("initSubgraphIndex",),
    "WHILE": ("condSubgraphIndex", "bodySubgraphIndex"),
}


def called(op: Op) -> tuple[int, ...]:
    """Return the indices of the subgraphs that an operator runs.

    >>> called(Op(0, "IF", (), (), {"thenSubgraphIndex": 2, "elseSubgraphIndex": 1}))
    (2, 1)
    """
    return tuple(int(op.options.get(option, 0)) for option in _OPTIONS.get(op.type, ()))


def called_from_main(graphs: Sequence[Graph]) -> set[int]:
    """Return the indices of all subgraphs that run with subgraph 0, including 0."""
    found, waiting = {0}, [0]
    while waiting:
        new = {number for op in graphs[waiting.pop()].ops for number in called(op)} - found
        found |= new
        waiting += new
    return found


def check(graphs: Sequence[Graph]) -> None:
    """Raise ModelError if a subgraph calls itself, even indirectly, or if subgraphs run more than MOST_RUNS times."""
    waiting = {number: [other for op in graph.ops for other in called(op)] for number, graph in enumerate(graphs)}
    runs: dict[int, int] = {}
    while waiting:
        ready = [number for number, others in waiting.items() if all(other in runs for other in others)]
        if not ready:
            what, where = "the subgraph calls itself, or a subgraph that calls itself", f"subgraph {min(waiting)}"
            raise ModelError(what, code="damaged_model", where=where, hint="convert the model again")
        runs |= {number: 1 + sum(runs[other] for other in waiting.pop(number)) for number in ready}
    if runs[0] > MOST_RUNS:
        raise ModelError(
            f"subgraphs run {runs[0]:,} times, more than the limit of {MOST_RUNS:,}",
            code="unsupported_model",
            hint="use a model with fewer calls, or without calls",
        )
