"""Replaces a CONV_2D with groups by one CONV_2D per group, or by a DEPTHWISE_CONV_2D if each group has one channel."""

from dataclasses import replace

import numpy as np

from tflm_memopt.model.graph import Graph, Op, Tensor, TensorId
from tflm_memopt.ops.context import PIECE
from tflm_memopt.rewrite.rules.rule import NewOps, has

MAX_GROUPS = 64
"""Maximum number of groups that become convolutions, because each convolution takes space in the program."""


def rewrite(graph: Graph, op: Op) -> Graph | None:
    if op.type != "CONV_2D" or not has(op, 1) or len(op.outputs) != 1:
        return None
    source, filter_ = (graph.tensors[i] for i in op.inputs[:2])
    if len(source.shape) != 4 or len(filter_.shape) != 4 or filter_.data is None or filter_.data.shape != filter_.shape:
        return None
    groups, made = _groups(graph, op), NewOps(graph, op)
    if groups <= 1 or source.shape[3] % groups or filter_.shape[0] % groups:
        return None
    if filter_.shape[3] == 1:
        _depthwise(made)
    elif groups <= MAX_GROUPS:
        _apart(made)
    return made.supported() if made.ops else None


def _groups(graph: Graph, op: Op) -> int:
    return graph.tensors[op.inputs[0]].shape[3] // max(1, graph.tensors[op.inputs[1]].shape[3])


def _apart(made: NewOps) -> None:
    graph, op = made.graph, made.op
    groups = _groups(graph, op)
    x, y = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    each, outputs = x.shape[3] // groups, list[TensorId]()
    for n in range(groups):
        piece = {PIECE: (3, n * each, (n + 1) * each)}
        inputs = [made.add("SPLIT", [x.id], made.put(x, (*x.shape[:3], each)), **piece)]
        inputs += [_part(made, graph.tensors[t], n, groups) if t in graph.tensors else t for t in op.inputs[1:]]
        output = made.put(y, (*y.shape[:3], y.shape[3] // groups))
        outputs.append(made.add(op.type, inputs, output, **op.options))
    made.add("CONCATENATION", outputs, y.id, axis=3, fusedActivationFunction="NONE")


def _part(made: NewOps, constant: Tensor, n: int, groups: int) -> TensorId:
    data = np.split(np.asarray(constant.data), groups)[n]
    q = constant.quantization
    if q is not None and len(q.scale) > 1:
        size = len(q.scale) // groups
        own = slice(n * size, (n + 1) * size)
        q = replace(q, scale=q.scale[own], zero_point=q.zero_point[own])
    return made.put(constant, data.shape, data=data, quantization=q)


def _depthwise(made: NewOps) -> None:
    op = made.op
    source, filter_ = (made.tensors[i] for i in op.inputs[:2])
    data, scales = np.swapaxes(np.asarray(filter_.data), 0, 3), filter_.quantization
    if scales is not None:
        scales = replace(scales, axis={0: 3, 3: 0}.get(scales.axis, scales.axis))
    filters = made.put(filter_, data.shape, data=data, quantization=scales)
    options = {**op.options, "depthMultiplier": filter_.shape[0] // source.shape[3]}
    made.ops.append(
        replace(op, type="DEPTHWISE_CONV_2D", inputs=(op.inputs[0], filters, *op.inputs[2:]), options=options)
    )
