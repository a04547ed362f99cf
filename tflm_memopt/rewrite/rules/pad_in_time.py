"""Rewrites a PAD of three dimensions with four dimensions, so that convolutions can do the padding (fold_pad.py).

Converters write a causal convolution as a PAD of time steps and a RESHAPE, which puts all steps into one row.
"""

from dataclasses import replace

import numpy as np

from tflm_memopt.model.graph import VIEW, Graph, Op
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, has, replace_ops


def match(graph: Graph, op: Op) -> Ops | None:
    """Match a PAD of [1, steps, channels] and all its readers. Each reader must only put the steps into one row."""
    if op.type not in ("PAD", "PADV2") or not has(op, 1) or graph.tensors[op.inputs[1]].data is None:
        return None
    shape, readers = graph.tensors[op.outputs[0]].shape, graph.consumers(op.outputs[0])
    if len(shape) != 3 or shape[0] != 1 or op.outputs[0] in graph.outputs or not readers:
        return None
    alike = all(
        r.type in ("RESHAPE", VIEW) and r.outputs and graph.tensors[r.outputs[0]].shape == (1, *shape) for r in readers
    )
    return (op, *readers) if alike else None


def rewrite(graph: Graph, ops: Ops) -> Graph | None:
    """Move the change of shape before the PAD, so that the next operators read the padded row directly."""
    pad, *readers = ops
    has_pairs = np.asarray(graph.tensors[pad.inputs[1]].data).shape == (3, 2)
    if not has_pairs or any(r.outputs[0] in graph.outputs for r in readers):
        return None
    made = NewOps(graph, pad)
    x, y = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    row = made.shaped(x.id, 1, *x.shape)
    amounts = made.integers([(0, 0), *np.asarray(graph.tensors[pad.inputs[1]].data).tolist()])
    padded = made.put(y, (1, *y.shape))
    new = replace(pad, inputs=(row, amounts, *pad.inputs[2:]), outputs=(padded,), sources=pad.stands_for)
    graph = replace_ops(made.extended, {pad.index: (*made.ops, new)})
    graph = replace_ops(graph, {reader.index: () for reader in readers})
    views = {reader.outputs[0] for reader in readers}
    read = {o.index: (replace(o, inputs=tuple(padded if t in views else t for t in o.inputs)),) for o in graph.ops}
    return replace_ops(graph, read)
