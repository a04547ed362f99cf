"""Removes the operand of TRANSPOSE_CONV that holds the output's shape. TFLM does not read this operand."""

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.rewrite.rules.rule import Ops, replace_ops


def match(graph: Graph, op: Op) -> Ops | None:
    return (op,) if op.type == "TRANSPOSE_CONV" and len(op.inputs) in (3, 4) else None


def rewrite(graph: Graph, ops: Ops) -> Graph:
    (op,) = ops
    _, filter_, source, *bias = op.inputs
    return replace_ops(graph, {op.index: (replace(op, inputs=(source, filter_, *bias)),)})
