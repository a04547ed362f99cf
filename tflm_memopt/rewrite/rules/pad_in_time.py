"""Turns a PAD of three dimensions into a PAD of four dimensions, so that convolutions can do the padding (fold_pad.py).

Converters write a causal convolution as a PAD of time steps and a RESHAPE, which puts all steps into one row.
"""

from dataclasses import replace

from tflm_memopt.model.graph import VIEW, Graph, Op, Tensor, renamed
from tflm_memopt.rewrite.rules.rule import NewOps, has, replace_ops, same_numbers


def rewrite(graph: Graph, pad: Op) -> Graph | None:
    """If a RESHAPE follows a PAD of [1, steps, channels], exchange the RESHAPE and the PAD, so that the next operators
    read the padded row. Every reader of the PAD must be a RESHAPE to a single row.
    """
    data = graph.tensors[pad.inputs[1]].data if pad.type in ("PAD", "PADV2") and has(pad, 1) else None
    if data is None or data.shape != (3, 2) or pad.outputs[0] in graph.outputs:
        return None
    x, y, readers = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]], graph.consumers(pad.outputs[0])
    if len(y.shape) != 3 or y.shape[0] != 1 or not all(_is_row(graph, one, y) for one in readers) or not readers:
        return None
    made = NewOps(graph, pad)
    row = made.shaped(x.id, 1, *x.shape)
    amounts = made.integers([(0, 0), *data.tolist()])
    padded = made.put(y, (1, *y.shape))
    new = replace(pad, inputs=(row, amounts, *pad.inputs[2:]), outputs=(padded,), sources=pad.stands_for)
    graph = replace_ops(made.extended, {pad.index: (*made.ops, new)})
    graph = replace_ops(graph, {reader.index: () for reader in readers})
    names = {reader.outputs[0]: padded for reader in readers}
    after = (op for view in names for op in graph.consumers(view))
    return replace_ops(graph, {op.index: (replace(op, inputs=renamed(op.inputs, names)),) for op in after})


def _is_row(graph: Graph, reader: Op, steps: Tensor) -> bool:
    if reader.type not in ("RESHAPE", VIEW) or not reader.outputs or reader.outputs[0] in graph.outputs:
        return False
    row = graph.tensors[reader.outputs[0]]
    return row.shape == (1, *steps.shape) and same_numbers(row, steps)
