"""Removes the operand of TRANSPOSE_CONV that holds the output's shape, which TFLM ignores."""

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.rewrite.rules.rule import replace_ops


def rewrite(graph: Graph, op: Op) -> Graph | None:
    if op.type != "TRANSPOSE_CONV" or len(op.inputs) not in (3, 4):
        return None
    _, filter_, source, *bias = op.inputs
    return replace_ops(graph, {op.index: (replace(op, inputs=(source, filter_, *bias)),)})
