"""TRANSPOSE_CONV: its output's shape is an operand, which TFLM does not look at: tensors state their shapes."""

from __future__ import annotations

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.rewrite.rules.rule import Ops, Rule, replace_ops


def match(graph: Graph, op: Op) -> Ops | None:
    return (op,) if op.type == "TRANSPOSE_CONV" and len(op.inputs) in (3, 4) else None


def check(graph: Graph, ops: Ops) -> str | None:
    return None


def rewrite(graph: Graph, ops: Ops) -> Graph:
    """Operands as CONV_2D has them: input, filter, bias."""
    (op,) = ops
    _, filter_, source, *bias = op.inputs
    return replace_ops(graph, {op.index: (replace(op, inputs=(source, filter_, *bias)),)})


RULE = Rule("transpose-conv", match, check, rewrite)
