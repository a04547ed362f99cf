"""Removes TRANSPOSE_CONV's operand with the output shape, which TFLM takes from the output tensor."""

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.rewrite.rules.rule import Ops, replace_ops


def match(graph: Graph, op: Op) -> Ops | None:
    return (op,) if op.type == "TRANSPOSE_CONV" and len(op.inputs) in (3, 4) else None


def rewrite(graph: Graph, ops: Ops) -> Graph:
    (op,) = ops
    _, filter_, source, *bias = op.inputs
    return replace_ops(graph, {op.index: (replace(op, inputs=(source, filter_, *bias)),)})
