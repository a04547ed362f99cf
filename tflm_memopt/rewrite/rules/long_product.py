"""Transposes the right matrix of a BATCH_MATMUL that has more rows than an operator reads at once, as in attention over
long sequences. The kernel reads a transposed matrix by its columns, in the same order of sums.
"""

from __future__ import annotations

from dataclasses import replace

from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.opset import refusal
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, Rule, has, replace_ops


def match(graph: Graph, op: Op) -> Ops | None:
    if op.type != "BATCH_MATMUL" or not has(op, 1):
        return None
    right = graph.tensors[op.inputs[1]].shape
    return (op,) if len(right) >= 2 and right[-1] < MAX_KERNEL_H <= right[-2] else None


def check(graph: Graph, ops: Ops) -> str | None:
    extended, made = _transposed(graph, ops[0])
    reasons = (refusal(OperatorContext(extended, op)) for op in made)
    return next((f"it stays builtin: {reason}" for reason in reasons if reason is not None), None)


def rewrite(graph: Graph, ops: Ops) -> Graph:
    extended, made = _transposed(graph, ops[0])
    return replace_ops(extended, {ops[0].index: made})


def _transposed(graph: Graph, op: Op) -> tuple[Graph, Ops]:
    """Return the graph with the transposed matrix, and the two operators."""
    made = NewOps(op, dict(graph.tensors), max(o.index for o in graph.ops))
    right = graph.tensors[op.inputs[1]]
    *batch, rows, columns = right.shape
    order = made.integers([*range(len(batch)), len(batch) + 1, len(batch)])
    turned = made.add("TRANSPOSE", [right.id, order], made.put(right, (*batch, columns, rows)))
    options = {**op.options, "adjY": not op.options.get("adjY", False)}
    product = replace(op, inputs=(op.inputs[0], turned), options=options, sources=op.stands_for)
    return replace(graph, tensors=made.tensors), (*made.ops, product)


RULE = Rule("long-product", match, check, rewrite)
