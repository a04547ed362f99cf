"""Cuts a model into models that run one after the other, each of which passes one tensor to the next."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.model.reader import Model
from tflm_memopt.model.writer import drop_unused, edit, write

NEAREST = 3


def partitions(model: Model, starts: Sequence[int]) -> list[bytes]:
    """Return the models of a pipeline. The argument `starts` lists the index of the first operator of each model except
    the first model.

    Raises UsageError for a cycle of models, for a cut that several tensors cross, and for a model of several subgraphs.
    """
    graph = model.graph
    last = len(graph.ops) - 1
    if any(a >= b for a, b in pairwise((0, *starts, last + 1))):
        raise UsageError(
            f"partitions that start at operators {', '.join(map(str, starts))} would feed each other in a cycle",
            code="cannot_share",
            hint=f"give increasing operators from 1 to {last}",
        )
    if model.subgraphs > 1:
        raise UsageError(
            f"a model of {model.subgraphs} subgraphs cannot be a pipeline",
            code="cannot_share",
            hint="use a model without resource variables and control flow",
        )
    borders = [_border(graph, start) for start in starts]
    inputs = [graph.inputs, *((t,) for t in borders)]
    outputs = [*((t,) for t in borders), graph.outputs]
    ranges = pairwise((0, *starts, last + 1))
    return [_part(model, *one) for one in zip(ranges, inputs, outputs, strict=True)]


def message(graph: Graph, start: int) -> list[TensorId]:
    made = {*graph.inputs, *(t for op in graph.ops[:start] for t in op.outputs)}
    read = {*graph.outputs, *(t for op in graph.ops[start:] for t in op.inputs)}
    return sorted(made & read)


def _border(graph: Graph, start: int) -> TensorId:
    found = message(graph, start)
    if len(found) != 1:
        names = ", ".join(f"'{graph.tensors[t].label}'" for t in found)
        cuts = [i for i in range(1, len(graph.ops)) if len(message(graph, i)) == 1]
        near = sorted(sorted(cuts, key=lambda i: abs(i - start))[:NEAREST])
        raise UsageError(
            f"{len(found)} tensors cross where operator {start} {graph.ops[start].type} starts a partition: {names}",
            code="cannot_share",
            hint=f"one tensor crosses at operator {', '.join(map(str, near))}"
            if near
            else "run the model without a pipeline",
        )
    return found[0]


def _part(model: Model, ops: tuple[int, int], inputs: Sequence[TensorId], outputs: Sequence[TensorId]) -> bytes:
    """The returned model has no signatures, because it may lack inputs and outputs of the original signatures."""
    tree = edit(model)
    graph = tree.subgraphs[0]
    graph.operators = graph.operators[slice(*ops)]
    graph.inputs, graph.outputs = np.asarray(inputs, np.int32), np.asarray(outputs, np.int32)
    tree.signatureDefs = None
    drop_unused(tree)
    return write(tree)
