"""Transposes a reduction's input where kept and reduced axes alternate, as in a group norm. Kept axes come last."""

from __future__ import annotations

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import AXES, OperatorContext
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, Rule, has, reason_to_stay, replace_ops

REDUCTIONS = frozenset({"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"})


def match(graph: Graph, op: Op) -> Ops | None:
    """Match a reduction over constant axes that are not adjacent."""
    if op.type not in REDUCTIONS or not has(op, 1) or graph.tensors[op.inputs[1]].data is None:
        return None
    context = OperatorContext(graph, op)
    valid = context.axes() <= set(range(len(context.input().shape)))
    return (op,) if valid and not context.is_image() and context.run() is None else None


def check(graph: Graph, ops: Ops) -> str | None:
    extended, made = _rewritten(graph, ops[0])
    return reason_to_stay(extended, made)


def rewrite(graph: Graph, ops: Ops) -> Graph:
    """Rewrite the operator. Each sum adds the same values in the same order."""
    extended, made = _rewritten(graph, ops[0])
    return replace_ops(extended, {ops[0].index: made})


def _rewritten(graph: Graph, op: Op) -> tuple[Graph, Ops]:
    """Return the graph with the transposed input, and the two operators."""
    made, context = NewOps(op, dict(graph.tensors), max(o.index for o in graph.ops)), OperatorContext(graph, op)
    x, reduced = context.input(), context.reduced()
    kept = [a for a, d in enumerate(x.shape) if d > 1 and not reduced[a] and a > reduced.index(True)]
    order = [*(a for a in range(len(x.shape)) if a not in kept), *kept]
    behind = made.put(x, tuple(x.shape[a] for a in order))
    made.add("TRANSPOSE", [x.id, made.integers(order)], behind)
    axes = tuple(order.index(a) for a in sorted(context.axes()))
    new = replace(op, inputs=(behind,), options={**op.options, AXES: axes}, sources=op.stands_for)
    return replace(graph, tensors=made.tensors), (*made.ops, new)


RULE = Rule("apart-axes", match, check, rewrite)
