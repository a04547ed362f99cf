"""Gives scalars one dimension, because a tensor without dimensions has no rows."""

from collections.abc import Collection
from dataclasses import replace

from tflm_memopt.model.graph import Graph
from tflm_memopt.ops.context import REDUCTIONS
from tflm_memopt.rewrite.rules.many_dimensions import BROADCAST, MAPPED

ALIKE = MAPPED | BROADCAST | REDUCTIONS | {"RESHAPE"}
"""Operators that compute the same numbers from a scalar and from a vector of one number."""


def with_dimension(graph: Graph, left_alone: Collection[int] = ()) -> Graph:
    """Give the shape (1,) to each scalar that only operators in ALIKE read and write. States and the model's inputs
    stay scalars, as do the inputs and outputs of operators with an index in `left_alone`.
    """
    fixed = {*graph.inputs, *(state.tensor for state in graph.states)}
    for op in graph.ops:
        if op.type not in ALIKE or op.index in left_alone:
            fixed.update(op.inputs, op.outputs)
    scalars = {t: x for t, x in graph.tensors.items() if not x.shape and not x.constant and t not in fixed}
    if not scalars:
        return graph
    return replace(graph, tensors={**graph.tensors, **{t: replace(x, shape=(1,)) for t, x in scalars.items()}})
