"""A model cut where one tensor crosses, into models that run one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.model.reader import Model
from tflm_memopt.model.writer import drop_unused, edit, write

NEAREST = 3
"""Cuts that are named where one is impossible."""


def partitions(model: Model, starts: Sequence[int]) -> list[bytes]:
    """The models of a pipeline: the first has the operators before starts[0], the last those from starts[-1] on.

    Each has one input and one output at a cut. Raises UsageError where they would feed each other in a cycle, where a
    cut is crossed by anything but one tensor, and for a model of several subgraphs.
    """
    graph = model.graph
    last = len(graph.ops) - 1
    if any(a >= b for a, b in pairwise((0, *starts, last + 1))):
        raise UsageError(
            f"partitions that start at operators {', '.join(map(str, starts))} would feed each other in a cycle",
            code="app_pipeline_cycle",
            hint=f"some of the operators 1 to {last}, in order",
        )
    if model.subgraphs > 1:
        raise UsageError(
            f"a model of {model.subgraphs} subgraphs is no pipeline",
            code="app_pipeline_subgraphs",
            hint="one without resource variables and control flow",
        )
    borders = [_border(graph, start) for start in starts]
    inputs = [graph.inputs, *((t,) for t in borders)]
    outputs = [*((t,) for t in borders), graph.outputs]
    ranges = pairwise((0, *starts, last + 1))
    return [_part(model, *one) for one in zip(ranges, inputs, outputs, strict=True)]


def crossing(graph: Graph, start: int) -> list[TensorId]:
    """Tensors that exist before operator `start`, and are read by it or behind it, or are the model's outputs."""
    made = {*graph.inputs, *(t for op in graph.ops[:start] for t in op.outputs)}
    read = {*graph.outputs, *(t for op in graph.ops[start:] for t in op.inputs)}
    return sorted(made & read)


def _border(graph: Graph, start: int) -> TensorId:
    """The tensor that crosses a cut."""
    found = crossing(graph, start)
    if len(found) != 1:
        names = ", ".join(f"'{graph.tensors[t].label}'" for t in found)
        cuts = [i for i in range(1, len(graph.ops)) if len(crossing(graph, i)) == 1]
        near = sorted(sorted(cuts, key=lambda i: abs(i - start))[:NEAREST])
        raise UsageError(
            f"{len(found)} tensors cross where operator {start} {graph.ops[start].type} starts a partition: {names}",
            code="app_pipeline_cut",
            hint=f"one tensor crosses at operator {', '.join(map(str, near))}" if near else "a model without pipeline",
        )
    return found[0]


def _part(model: Model, ops: tuple[int, int], inputs: Sequence[TensorId], outputs: Sequence[TensorId]) -> bytes:
    """The model of some operators. Signatures name inputs and outputs that it does not have, and go."""
    tree = edit(model)
    graph = tree.subgraphs[0]
    graph.operators = graph.operators[slice(*ops)]
    graph.inputs, graph.outputs = np.asarray(inputs, np.int32), np.asarray(outputs, np.int32)
    tree.signatureDefs = None
    drop_unused(tree)
    return write(tree)
