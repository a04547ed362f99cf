"""Replaces operators that TFLM lacks by others, so that such models can be run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tflm_memopt.model import interface, writer
from tflm_memopt.model.graph import ABSENT, Graph, Op
from tflm_memopt.model.names import OFFLINE_PLAN, ONLINE
from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.rules.composed import is_plain_select

Shape = tuple[int, ...]


def runnable(data: bytes) -> bytes:
    """Return the model with operators that TFLM has in place of TILE and of SELECT between tensors of one shape.

    SELECT becomes SELECT_V2, and TILE becomes RESHAPE, BROADCAST_TO and RESHAPE. The outputs are the same bytes. Other
    models are returned unchanged, and so are operators with invalid operands.
    """
    model = read(data)
    tiles = {op.index: op for op in model.graph.ops if op.type == "TILE"}
    selects = {op.index for op in model.graph.ops if is_plain_select(model.graph, op)}
    if not tiles and not selects:
        return data
    tree = writer.edit(model)
    operators = []
    for index, operator in enumerate(tree.subgraphs[0].operators):
        steps = _steps(model.graph, tiles[index]) if index in tiles else None
        if index in selects:
            operator.opcodeIndex = writer.add_opcode(tree, "SELECT_V2")
        operators += [operator] if steps is None else _broadcast(tree, model.graph, operator, steps)
    tree.subgraphs[0].operators = operators
    plan = interface.metadata(tree, OFFLINE_PLAN)
    if plan is not None:
        version, subgraphs, known, *offsets = np.frombuffer(plan, "<i4").tolist()
        count = len(tree.subgraphs[0].tensors)
        table = [version, subgraphs, count, *offsets, *[ONLINE] * (count - known)]
        writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, "<i4"))
    return writer.write(tree)


def _steps(graph: Graph, op: Op) -> list[tuple[Shape, Shape]] | None:
    """Return, for each repeated dimension, the shape with 1 in this dimension and the shape after the repetition."""
    if (len(op.inputs), len(op.outputs)) != (2, 1) or ABSENT in op.inputs:
        return None
    source, multiples, output = (graph.tensors[t] for t in (*op.inputs, *op.outputs))
    if multiples.data is None or multiples.data.size != len(source.shape):
        return None
    shape, steps = list(source.shape), list[tuple[Shape, Shape]]()
    for axis, multiple in enumerate(multiples.data.flatten().tolist()):
        if multiple != 1:
            outer, inner = math.prod(shape[:axis]), math.prod(shape[axis:])
            steps.append(((outer, 1, inner), (outer, multiple, inner)))
            shape[axis] *= multiple
    return steps if tuple(shape) == output.shape else None


def _broadcast(tree: Any, graph: Graph, tile: Any, steps: Sequence[tuple[Shape, Shape]]) -> list[Any]:
    """Return the operators that replace `tile`."""
    source, output = tile.inputs[0], tile.outputs[0]
    operators = []

    def add(name: str, shape: Shape, output: int) -> int:
        data = np.array(shape, np.int32)
        operand = writer.add_tensor(tree, "", data.shape, "INT32", buffer=writer.add_buffer(tree, data))
        operators.append(writer.operator(writer.add_opcode(tree, name), (source, operand), (output,)))
        return output

    dtype = graph.tensors[source].dtype
    for one, many in steps:
        source = add("RESHAPE", one, writer.add_tensor(tree, "", one, dtype))
        source = add("BROADCAST_TO", many, writer.add_tensor(tree, "", many, dtype))
    add("RESHAPE", graph.tensors[output].shape, output)
    return operators
