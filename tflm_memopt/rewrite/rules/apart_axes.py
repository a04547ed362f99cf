"""Transposes the input of a reduction if kept and reduced axes alternate, as in a group norm."""

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import AXES, REDUCTIONS, OperatorContext
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, has


def match(graph: Graph, op: Op) -> Ops | None:
    if op.type not in REDUCTIONS or not has(op, 1) or graph.tensors[op.inputs[1]].data is None:
        return None
    context = OperatorContext(graph, op)
    valid = context.axes() <= set(range(len(context.input().shape)))
    return (op,) if valid and not context.is_image() and context.run() is None else None


def rewrite(graph: Graph, ops: Ops) -> Graph | None:
    """Transpose the input so that the reduced axes are adjacent. The order in which values are added stays the same."""
    (op,) = ops
    made, context = NewOps(graph, op), OperatorContext(graph, op)
    x, reduced = context.input(), context.reduced()
    kept = [a for a, d in enumerate(x.shape) if d > 1 and not reduced[a] and a > reduced.index(True)]
    order = [*(a for a in range(len(x.shape)) if a not in kept), *kept]
    behind = made.put(x, tuple(x.shape[a] for a in order))
    made.add("TRANSPOSE", [x.id, made.integers(order)], behind)
    axes = tuple(order.index(a) for a in sorted(context.axes()))
    made.ops.append(replace(op, inputs=(behind,), options={**op.options, AXES: axes}, sources=op.stands_for))
    return made.supported()
