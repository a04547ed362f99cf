"""Computes the live bytes of whole tensors while each operator runs, which a planner without fusion must hold."""

from __future__ import annotations

from itertools import accumulate

from tflm_memopt.model.graph import Graph, TensorId


def live_bytes(graph: Graph) -> list[int]:
    """Return, for each operator, the bytes of the activations that are live while it runs, including operands and
    results.

    Inputs are live from the start to their last use, and outputs from their producer to the end, as in TFLM
    (micro_allocation_info.cc).
    """
    first: dict[TensorId, int] = dict.fromkeys(graph.inputs, 0)
    last: dict[TensorId, int] = {}
    for i, op in enumerate(graph.ops):
        for t in op.outputs:
            first.setdefault(t, i)
        for t in (*op.inputs, *op.outputs):
            last[t] = i
    last.update(dict.fromkeys(graph.outputs, len(graph.ops) - 1))
    planned = [t for t in first if t in last and not graph.tensors[t].constant and not graph.tensors[t].variable]
    change = [0] * (len(graph.ops) + 1)
    for t in planned:
        if first[t] <= last[t]:
            change[first[t]] += graph.tensors[t].nbytes
            change[last[t] + 1] -= graph.tensors[t].nbytes
    return [*accumulate(change[: len(graph.ops)])]
