"""Joins dimensions of tensors with several images in a batch, and of tensors with more than four dimensions, as in a
group norm.

Adjacent dimensions are joined if each operand is broadcast along all of these dimensions or along none. Before the
dimensions are joined, a value for a group of channels is repeated for each channel. If an operator such as SOFTMAX
computes along the channels, the last dimension is not joined.
"""

import math
from collections.abc import Sequence

import numpy as np

from tflm_memopt.model.graph import ABSENT, Graph, Op, TensorId
from tflm_memopt.ops.context import COMPARISONS, any_rows, natural_rows
from tflm_memopt.rewrite.rules.columns import ALONG_CHANNELS
from tflm_memopt.rewrite.rules.rule import NewOps

MAPPED = frozenset(
    {
        "ABS", "CAST", "CEIL", "DEQUANTIZE", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LEAKY_RELU", "LOG", "LOGICAL_NOT",
        "LOGISTIC", "NEG", "QUANTIZE", "RELU", "RELU6", "ROUND", "RSQRT", "SQRT", "SQUARE", "TANH",
    }
)  # fmt: skip
BROADCAST = frozenset(
    {
        "ADD", "DIV", "FLOOR_DIV", "FLOOR_MOD", "LOGICAL_AND", "LOGICAL_OR", "MAXIMUM", "MINIMUM", "MUL", "PRELU",
        "SELECT_V2", "SQUARED_DIFFERENCE", "SUB", *COMPARISONS,
    }
)  # fmt: skip
Whole = tuple[bool, ...]


def rewrite(graph: Graph, op: Op) -> Graph | None:
    if op.type not in MAPPED | BROADCAST | ALONG_CHANNELS or len(op.outputs) != 1 or ABSENT in op.inputs:
        return None
    if natural_rows(graph.tensors[op.outputs[0]].shape) is not None or (shapes := _shapes(graph, op)) is None:
        return None
    made, inputs = NewOps(graph, op), list[TensorId]()
    repeated, (*joined, output) = shapes
    for t, whole, shape in zip(op.inputs, repeated, joined, strict=True):
        x = graph.tensors[t]
        if x.data is not None:
            data = np.broadcast_to(np.asarray(x.data), whole).reshape(shape)
            inputs.append(made.put(x, shape, data=data))
            continue
        complete = math.prod(whole) == x.elements
        source = t if complete else made.add("BROADCAST_TO", [t, made.integers(whole)], made.put(x, whole))
        inputs.append(made.shaped(source, *shape))
    y = made.put(graph.tensors[op.outputs[0]], output)
    made.add(op.type, inputs, y, **op.options)
    made.add("RESHAPE", [y], op.outputs[0])
    return made.supported()


def _shapes(graph: Graph, op: Op) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]] | None:
    out = graph.tensors[op.outputs[0]].shape
    if min(out, default=0) < 1:
        return None
    padded = [(1,) * (len(out) - len(s)) + s for s in (graph.tensors[t].shape for t in op.inputs)]
    if any(len(s) != len(out) or any(d not in (1, o) for d, o in zip(s, out, strict=True)) for s in padded):
        return None
    if op.type in ALONG_CHANNELS:
        rows = any_rows(out)
        return padded, [(1, rows.h, rows.w, rows.c)] * 2
    padded = [_repeated(shape, out) for shape in padded]
    sizes: list[int] = []
    wholes: list[Whole] = []
    for axis, size in enumerate(out):
        whole = tuple(shape[axis] == size for shape in padded)
        if size > 1 and wholes and wholes[-1] == whole:
            sizes[-1] *= size
        elif size > 1:
            sizes, wholes = [*sizes, size], [*wholes, whole]
    if len(sizes) > 3:
        return None
    missing = (1,) * (4 - len(sizes))
    joined = [
        missing + tuple(size if whole[k] else 1 for size, whole in zip(sizes, wholes, strict=True))
        for k in range(len(op.inputs))
    ]
    return padded, [*joined, (*missing, *sizes)]


def _repeated(shape: Sequence[int], out: Sequence[int]) -> tuple[int, ...]:
    """Return an operand's shape after some of its dimensions were broadcast.

    >>> _repeated((1, 1, 1, 4, 1), (1, 15, 15, 4, 2)), _repeated((1, 15, 15, 1, 1), (1, 15, 15, 4, 2))
    ((1, 1, 1, 4, 2), (1, 15, 15, 1, 1))
    """
    real = [a for a, d in enumerate(out) if d > 1]
    there = [a for a in real if shape[a] == out[a]]
    if not there or there == real[: len(there)]:
        return tuple(shape)
    return tuple(d if a < there[0] else out[a] for a, d in enumerate(shape))
