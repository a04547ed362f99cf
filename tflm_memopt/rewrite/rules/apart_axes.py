"""Transposes the input of a reduction if kept and reduced axes alternate, as in a group norm."""

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import AXES, REDUCTIONS, OperatorContext
from tflm_memopt.rewrite.rules.rule import NewOps, has


def rewrite(graph: Graph, op: Op) -> Graph | None:
    """Transpose the input so that the reduced axes are adjacent. The new operators add values in the same order as the
    original operator.
    """
    if op.type not in REDUCTIONS or not has(op, 1) or graph.tensors[op.inputs[1]].data is None:
        return None
    context = OperatorContext(graph, op)
    x = context.input()
    if not context.axes() <= set(range(len(x.shape))) or context.is_image() or context.run() is not None:
        return None
    made, reduced = NewOps(graph, op), context.reduced()
    kept = [a for a, d in enumerate(x.shape) if d > 1 and not reduced[a] and a > reduced.index(True)]
    order = [*(a for a in range(len(x.shape)) if a not in kept), *kept]
    behind = made.put(x, tuple(x.shape[a] for a in order))
    made.add("TRANSPOSE", [x.id, made.integers(order)], behind)
    axes = tuple(order.index(a) for a in sorted(context.axes()))
    made.ops.append(replace(op, inputs=(behind,), options={**op.options, AXES: axes}, sources=op.stands_for))
    return made.supported()
