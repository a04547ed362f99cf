"""Transposes a left matrix of BATCH_MATMUL with adj_x, and a right matrix that has too many rows for the library.

Large right matrices occur in attention over long sequences. The order in which values are added stays the same.
"""

from dataclasses import replace

from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.rewrite.rules.rule import NewOps, has


def rewrite(graph: Graph, op: Op) -> Graph | None:
    if op.type != "BATCH_MATMUL" or not has(op, 1) or any(len(graph.tensors[t].shape) < 2 for t in op.inputs[:2]):
        return None
    made, (left, right), options = NewOps(graph, op), op.inputs[:2], dict(op.options)
    if options.get("adjX", False):
        left, options["adjX"] = _transposed(made, left), False
    *_, rows, columns = graph.tensors[right].shape
    if columns < MAX_KERNEL_H <= rows:
        right, options["adjY"] = _transposed(made, right), not options.get("adjY", False)
    if not made.ops:
        return None
    made.ops.append(replace(op, inputs=(left, right), options=options, sources=op.stands_for))
    return made.supported()


def _transposed(made: NewOps, matrix: TensorId) -> TensorId:
    *batch, rows, columns = made.tensors[matrix].shape
    order = made.integers([*range(len(batch)), len(batch) + 1, len(batch)])
    return made.add("TRANSPOSE", [matrix, order], made.put(made.tensors[matrix], (*batch, columns, rows)))
