"""Turns CONV_2D with one group per input channel, as onnx2tf writes depthwise convolutions, into DEPTHWISE_CONV_2D."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflm_memopt.model.graph import Graph, Op, Tensor
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.opset import refusal
from tflm_memopt.rewrite.rules.rule import Ops, Rule, has, replace_ops


def match(graph: Graph, op: Op) -> Ops | None:
    """Match a filter that reads one of several channels and has as many output channels, or a multiple of these."""
    if op.type != "CONV_2D" or not has(op, 1):
        return None
    source, filter_ = (graph.tensors[i] for i in op.inputs[:2])
    if (source.dtype, filter_.dtype) != ("INT8", "INT8") or len(source.shape) != 4 or len(filter_.shape) != 4:
        return None
    channels, outputs = source.shape[3], filter_.shape[0]
    one_each = filter_.shape[3] == 1 < channels and outputs % channels == 0
    return (op,) if one_each and filter_.data is not None and filter_.data.shape == filter_.shape else None


def check(graph: Graph, ops: Ops) -> str | None:
    extended, op = _depthwise(graph, ops[0])
    reason = refusal(OperatorContext(extended, op))
    return None if reason is None else f"as DEPTHWISE_CONV_2D it stays builtin: {reason}"


def rewrite(graph: Graph, ops: Ops) -> Graph:
    """Rewrite the operator. In both forms, output channel m reads input m // multiplier and sums in the same order."""
    extended, op = _depthwise(graph, ops[0])
    return replace_ops(extended, {op.index: (op,)})


def _depthwise(graph: Graph, op: Op) -> tuple[Graph, Op]:
    """Return the graph with the depthwise filter, and the depthwise operator."""
    source, filter_ = (graph.tensors[i] for i in op.inputs[:2])
    is_reversed = _reversed(filter_, max(graph.tensors) + 1)
    options = {**op.options, "depthMultiplier": filter_.shape[0] // source.shape[3]}
    inputs = (op.inputs[0], is_reversed.id, *op.inputs[2:])
    new = replace(op, type="DEPTHWISE_CONV_2D", inputs=inputs, options=options)
    return replace(graph, tensors={**graph.tensors, is_reversed.id: is_reversed}), new


def _reversed(filter_: Tensor, number: int) -> Tensor:
    """Return the filter [out, kernel_h, kernel_w, 1] as [1, kernel_h, kernel_w, out], with the given tensor id."""
    data = np.swapaxes(np.asarray(filter_.data), 0, 3)
    scales = filter_.quantization
    if scales is not None:
        scales = replace(scales, axis={0: 3, 3: 0}.get(scales.axis, scales.axis))
    return replace(filter_, id=number, shape=data.shape, data=data, quantization=scales)


RULE = Rule("grouped", match, check, rewrite)
