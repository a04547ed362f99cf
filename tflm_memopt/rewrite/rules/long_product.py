"""Changes right matrices of BATCH_MATMUL that have too many rows for the library, and transposes left matrices if adj_x
is set.

Large right matrices occur in attention over long sequences. The rule transposes a right matrix, or divides the matrix
into parts, each of which gives some columns of the product. The order in which values are added stays the same.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tflm_memopt.format.limits import MAX_INPUTS, MAX_KERNEL_H
from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.rewrite.rules.rule import NewOps, has

MOST_ROWS = MAX_KERNEL_H - 1
"""Maximum number of rows of a right matrix. An iteration reads all rows of the right matrix and one row of the left
matrix.
"""


def rewrite(graph: Graph, op: Op) -> Graph | None:
    if op.type != "BATCH_MATMUL" or not has(op, 1) or any(len(graph.tensors[t].shape) < 2 for t in op.inputs[:2]):
        return None
    made, (left, right), options = NewOps(graph, op), op.inputs[:2], dict(op.options)
    if options.get("adjX", False):
        left, options["adjX"] = _transposed(made, left), False
    *_, rows, columns = graph.tensors[right].shape
    if rows > MOST_ROWS and (columns <= MOST_ROWS or not options.get("adjY", False)):
        right, options["adjY"] = _transposed(made, right), not options.get("adjY", False)
        rows, columns = columns, rows
    parts = -(-rows // MOST_ROWS)
    if (not made.ops and parts == 1) or parts > MAX_INPUTS:
        return None
    if parts == 1:
        made.ops.append(replace(op, inputs=(left, right), options=options, sources=op.stands_for))
    else:
        _joined(made, [_product(made, left, part) for part in _cut(made, right, parts)])
    return made.supported()


def _transposed(made: NewOps, matrix: TensorId) -> TensorId:
    *batch, rows, columns = made.tensors[matrix].shape
    order = made.integers([*range(len(batch)), len(batch) + 1, len(batch)])
    return made.add("TRANSPOSE", [matrix, order], made.put(made.tensors[matrix], (*batch, columns, rows)))


def _cut(made: NewOps, matrix: TensorId, parts: int) -> list[TensorId]:
    *batch, rows, columns = made.tensors[matrix].shape
    ends = [rows * n // parts for n in range(parts + 1)]
    return [
        made.cut(matrix, [*(0 for _ in batch), first, 0], (*batch, end - first, columns))
        for first, end in pairwise(ends)
    ]


def _product(made: NewOps, left: TensorId, part: TensorId) -> TensorId:
    out, columns = made.tensors[made.op.outputs[0]], made.tensors[part].shape[-2]
    y = made.put(out, (*out.shape[:-1], columns))
    return made.add("BATCH_MATMUL", [left, part], y, **{**made.op.options, "adjX": False, "adjY": True})


def _joined(made: NewOps, products: Sequence[TensorId]) -> None:
    """Concatenate the products to one matrix, which has the rows of all batches."""
    out = made.tensors[made.op.outputs[0]]
    rows, columns = math.prod(out.shape[:-1]), out.shape[-1]
    parts = [made.shaped(y, rows, made.tensors[y].shape[-1]) for y in products]
    whole = made.put(out, (rows, columns))
    made.add("CONCATENATION", parts, whole, axis=1, fusedActivationFunction="NONE")
    made.add("RESHAPE", [whole], out.id)
