"""Transposes a left matrix of BATCH_MATMUL with adj_x, and a right matrix that has too many rows for the library.

Large right matrices occur in attention over long sequences. The order in which values are added stays the same.
"""

from dataclasses import replace

from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import Graph, Op, Tensor, TensorId
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, has


def match(graph: Graph, op: Op) -> Ops | None:
    if op.type != "BATCH_MATMUL" or not has(op, 1) or any(len(graph.tensors[t].shape) < 2 for t in op.inputs[:2]):
        return None
    return (op,) if op.options.get("adjX", False) or _is_long(graph.tensors[op.inputs[1]]) else None


def _is_long(right: Tensor) -> bool:
    return right.shape[-1] < MAX_KERNEL_H <= right.shape[-2]


def rewrite(graph: Graph, ops: Ops) -> Graph | None:
    (op,) = ops
    made = NewOps(graph, op)
    (left, right), options = op.inputs[:2], dict(op.options)
    if options.get("adjX", False):
        left, options["adjX"] = _transposed(made, left), False
    if _is_long(graph.tensors[right]):
        right, options["adjY"] = _transposed(made, right), not options.get("adjY", False)
    made.ops.append(replace(op, inputs=(left, right), options=options, sources=op.stands_for))
    return made.supported()


def _transposed(made: NewOps, matrix: TensorId) -> TensorId:
    *batch, rows, columns = made.tensors[matrix].shape
    order = made.integers([*range(len(batch)), len(batch) + 1, len(batch)])
    return made.add("TRANSPOSE", [matrix, order], made.put(made.tensors[matrix], (*batch, columns, rows)))
