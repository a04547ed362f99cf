"""Rewrites a graph to use fewer types of operators, so that more operators run row by row. No rewrite changes an output
byte of the model.
"""

import math
from collections.abc import Collection, Mapping
from functools import partial

from tflm_memopt.model.graph import VIEW, Graph, TensorId
from tflm_memopt.rewrite.known import with_known
from tflm_memopt.rewrite.rules import (
    apart_axes,
    batched,
    columns,
    composed,
    dilated,
    fold_pad,
    grouped,
    layout,
    long_product,
    long_window,
    many_dimensions,
    moves,
    pad_in_time,
    padded_pool,
    split,
    transpose_conv,
    transposed_mean,
    view,
    wide_concatenation,
)
from tflm_memopt.rewrite.rules.rule import Rule, has
from tflm_memopt.rewrite.scalars import with_dimension

RULES: tuple[Rule, ...] = (
    layout,
    composed,
    dilated,
    transpose_conv,
    batched,
    grouped,
    columns,
    pad_in_time,
    fold_pad,
    padded_pool,
    long_window,
    transposed_mean,
    apart_axes,
    many_dimensions,
    split,
    wide_concatenation,
    long_product,
    view,
    moves,
)


def canonicalise(graph: Graph, left_alone: Collection[int] = (), *, sliding: bool = False) -> Graph:
    """Replace known integers by constants and apply all rules in order. Operators whose index is in `left_alone` stay
    unchanged.
    """
    graph = with_dimension(with_known(graph, left_alone), left_alone)
    for rule in RULES:
        # The rows of a sliding input must not become columns, since the input arrives row by row.
        rewrite = partial(columns.rewrite, worth=math.inf) if sliding and rule is columns else rule.rewrite
        for anchor in graph.ops:
            new = rewrite(graph, anchor) if has(anchor, 0) and anchor.outputs else None
            if new is not None and _changed(graph, new).isdisjoint(left_alone):
                graph = new
    return graph


def _changed(before: Graph, after: Graph) -> set[int]:
    kept = {id(op) for op in after.ops}
    return {i for op in before.ops if id(op) not in kept for i in op.stands_for}


def views(graph: Graph) -> Mapping[TensorId, TensorId]:
    """Map the output of each VIEW to the tensor whose memory the output shares."""
    storage: dict[TensorId, TensorId] = {}
    for op in graph.ops:
        if op.type == VIEW:
            storage[op.outputs[0]] = storage.get(op.inputs[0], op.inputs[0])
    return storage
