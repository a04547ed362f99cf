"""Makes windows of many samples, as on raw audio, windows of few rows that hold several samples each.

A convolution over one axis reads `kernel` samples for each output, and its next output reads `stride` samples further
on. Rows of `outputs * stride` samples make the same bytes with a window of fewer rows and a stride of one: row r makes
outputs r * outputs to (r + 1) * outputs, whose filters lie one behind the other, each `stride` samples further down.
Samples that a filter does not reach have a weight of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import Graph, Op, Quantization, Tensor, TensorId
from tflm_memopt.ops.context import EXPLICIT_PADDING, PIECE, OperatorContext, Span
from tflm_memopt.ops.opset import Unsupported, row_op
from tflm_memopt.rewrite.rules.rule import Ops, Rule, has

MOST_OUTPUTS = 64
"""Limit of the outputs of a row: the filters take as many times their bytes."""


@dataclass(frozen=True, slots=True)
class _Long:
    """A convolution along one axis."""

    samples: int
    channels: int
    kernel: int
    stride: int
    along: Span

    def rows(self, outputs: int) -> int:
        """Return the rows of a window, if a row makes this many outputs."""
        return -(-((outputs - 1) * self.stride + self.kernel) // (outputs * self.stride))


def match(graph: Graph, op: Op) -> Ops | None:
    """Match a convolution along one axis with more taps than a kernel reads rows."""
    long = _long(graph, op)
    return (op,) if long and long.kernel > MAX_KERNEL_H else None


def _long(graph: Graph, op: Op) -> _Long | None:
    if op.type != "CONV_2D" or not has(op, 1):
        return None
    source, filter_ = (graph.tensors[t] for t in op.inputs[:2])
    output = graph.tensors[op.outputs[0]]
    if any(len(t.shape) != 4 for t in (source, filter_, output)) or filter_.data is None or filter_.dtype != "INT8":
        return None
    context = OperatorContext(graph, op)
    spans, axes = context.spans(), (source.shape[1:3], context.kernel(), context.strides(), context.dilations())
    for axis in (0, 1):
        samples, kernel, stride, dilation = (pair[axis] for pair in axes)
        size, across, _, _ = (pair[1 - axis] for pair in axes)
        if source.shape[0] == size == across == dilation == 1 and spans[1 - axis] == Span(1, 0, 0):
            return _Long(samples, source.shape[3], kernel, stride, spans[axis])
    return None


def check(graph: Graph, ops: Ops) -> str | None:
    (op,) = ops
    long = _long(graph, op)
    if long is None or _outputs(long) is None:
        return f"its window has no form of at most {MAX_KERNEL_H} rows"
    extended, made = _rewritten(graph, op, long)
    reasons = (row_op(OperatorContext(extended, part)) for part in made if part.type != "RESHAPE")
    return next((f"it cannot be made row by row: {r}" for r in reasons if isinstance(r, Unsupported)), None)


def rewrite(graph: Graph, ops: Ops) -> Graph:
    (op,) = ops
    long = _long(graph, op)
    if long is None:
        raise ValueError("this is not a convolution along one axis")
    extended, made = _rewritten(graph, op, long)
    return replace(extended, ops=tuple(n for o in graph.ops for n in (made if o.index == op.index else (o,))))


def _outputs(long: _Long) -> int | None:
    """Return how many outputs a row makes: as few as a window of few enough rows allows."""
    return next((n for n in range(1, MOST_OUTPUTS + 1) if long.rows(n) <= MAX_KERNEL_H), None)


def _rewritten(graph: Graph, op: Op, long: _Long) -> tuple[Graph, Ops]:
    """Return the graph with new tensors, and the operators that take the place of the convolution."""
    outputs = _outputs(long) or 1
    step, window = outputs * long.stride, long.rows(outputs)
    count = -(-long.along.output // outputs)
    rows = count - 1 + window
    tensors, made, index = dict(graph.tensors), list[Op](), max(o.index for o in graph.ops)
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]

    def put(like: Tensor, shape: tuple[int, ...], **changes: Any) -> TensorId:
        tensor = max(tensors) + 1
        tensors[tensor] = replace(like, id=tensor, name=f"{like.name}/rows", shape=shape, **changes)
        return tensor

    def add(kind: str, inputs: Sequence[TensorId], output: TensorId, **options: Any) -> TensorId:
        nonlocal index
        index += 1
        made.append(Op(index, kind, tuple(inputs), (output,), options, sources=op.stands_for))
        return output

    x = op.inputs[0]
    before, missing = long.along.before, rows * step - long.samples - long.along.before
    if source.shape[1] != long.samples:
        x = add("RESHAPE", [x], put(source, (1, long.samples, 1, long.channels)))
    if missing < 0:  # samples behind the last window
        read = long.samples + missing
        x = add("SPLIT", [x], put(source, (1, read, 1, long.channels)), **{PIECE: (1, 0, read)})
    if before or missing > 0:
        paddings = np.array([[0, 0], [before, max(0, missing)], [0, 0], [0, 0]], np.int32)
        amounts = put(replace(source, dtype="INT32", quantization=None), paddings.shape, data=paddings)
        x = add("PAD", [x, amounts], put(source, (1, rows * step, 1, long.channels)))
    x = add("RESHAPE", [x], put(source, (1, rows, 1, step * long.channels)))
    filter_ = tensors[op.inputs[1]]
    data = _filters(filter_, long, outputs, window)
    operands = [x, put(filter_, data.shape, data=data, quantization=_repeated(filter_, outputs))]
    if has(op, 2):
        bias = tensors[op.inputs[2]]
        data = np.tile(np.asarray(bias.data), outputs)
        operands.append(put(bias, data.shape, data=data, quantization=_repeated(bias, outputs)))
    options = {name: value for name, value in op.options.items() if name != EXPLICIT_PADDING}
    options |= {"padding": "VALID", "strideH": 1, "strideW": 1}
    depth = target.shape[3]
    y = add("CONV_2D", operands, put(target, (1, count, 1, outputs * depth)), **options)
    if count * outputs != long.along.output:
        y = add("RESHAPE", [y], put(target, (1, count * outputs, 1, depth)))
        y = add("SPLIT", [y], put(target, (1, long.along.output, 1, depth)), **{PIECE: (1, 0, long.along.output)})
    add("RESHAPE", [y], op.outputs[0])
    made[-1] = replace(made[-1], index=op.index)
    return replace(graph, tensors=tensors), tuple(made)


def _filters(filter_: Tensor, long: _Long, outputs: int, window: int) -> NDArray[np.int8]:
    """Return the filters of the outputs of a row, each `stride` samples further down: [outputs * O, window, 1, C]."""
    samples = np.asarray(filter_.data, np.int8).reshape(filter_.shape[0], long.kernel, long.channels)
    made = np.zeros((outputs, len(samples), window * outputs * long.stride, long.channels), np.int8)
    for n, one in enumerate(made):
        one[:, n * long.stride : n * long.stride + long.kernel] = samples
    return made.reshape(outputs * len(samples), window, 1, -1)


def _repeated(tensor: Tensor, times: int) -> Quantization | None:
    """Return the scales of a tensor whose channels are there several times."""
    q = tensor.quantization
    return (
        q
        if q is None or len(q.scale) <= 1
        else replace(q, scale=q.scale * times, zero_point=q.zero_point * times, axis=0)
    )


RULE = Rule("long-window", match, check, rewrite)
