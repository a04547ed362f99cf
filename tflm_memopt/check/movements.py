"""For operators that only copy data, computes which input element TFLM copies to each output element.

Each function runs the loops of a TFLM reference kernel (kernels/internal/reference/) on coordinates instead of values.
The checker compares the results with those of ops/movement.py, which shares no code with this module.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.model.graph import VIEW, Graph, Op
from tflm_memopt.ops.context import PIECE, STEPS

PADDING = -1

Point = Sequence[Ints]
"""Coordinates of several elements of a tensor: one array per axis."""


class Origin(NamedTuple):
    """For each of several output elements, the input element from which it is copied. The coordinates of padding have
    no meaning.
    """

    operand: Ints
    """Index of the input from which each element is copied, or PADDING for the padding value."""
    point: Point


def origins(graph: Graph, op: Op, elements: Ints) -> tuple[Ints, Ints]:
    """For each output element, return the index of the copied input, and the element's index in this input."""
    steps = op.options.get(STEPS, (op,))
    operand = np.zeros_like(elements)
    for step in reversed(steps):
        if step.type == VIEW:
            continue
        shape = graph.tensors[step.outputs[0]].shape or (1,)
        found = MOVEMENTS[step.type](graph, step, np.unravel_index(elements, shape))
        operand = np.where(operand == PADDING, PADDING, found.operand)
        elements = np.zeros_like(elements)
        for k in np.unique(found.operand[found.operand != PADDING]).tolist():
            mine, sizes = found.operand == k, shape_of(graph, step, k)
            if sizes:
                elements[mine] = np.ravel_multi_index([axis[mine] for axis in found.point], sizes)
    return operand, elements


def _single(point: Point) -> Origin:
    return Origin(np.zeros_like(point[0]), point)


def _integers(graph: Graph, op: Op, k: int) -> list[int]:
    return [int(value) for value in np.ravel(np.asarray(graph.tensors[op.inputs[k]].data))]


def shape_of(graph: Graph, op: Op, k: int = 0) -> tuple[int, ...]:
    return graph.tensors[op.inputs[k]].shape


def _pad(graph: Graph, op: Op, out: Point) -> Origin:
    point = [x - before for x, before in zip(out, _integers(graph, op, 1)[::2], strict=True)]
    inside = np.logical_and.reduce([(x >= 0) & (x < d) for x, d in zip(point, shape_of(graph, op), strict=True)])
    return Origin(np.where(inside, 0, PADDING), point)


def _mirror_pad(graph: Graph, op: Op, out: Point) -> Origin:
    """Compute source positions like TFLM's GetInputDimension (micro/kernels/mirror_pad.cc)."""
    offset = int(op.options["mode"] == 0)
    point = []
    for x, size, before in zip(out, shape_of(graph, op), _integers(graph, op, 1)[::2], strict=True):
        low, behind = before + offset - 1, x - before - size
        high = size - 1 - offset
        inner = np.where(behind >= 0, high - np.minimum(behind, high), x - before)
        point.append(np.where(x < before, low - np.minimum(x, low - offset), inner))
    return _single(point)


def _concatenation(graph: Graph, op: Op, out: Point) -> Origin:
    axis = int(op.options["axis"]) % len(out)
    ends = np.cumsum([shape_of(graph, op, k)[axis] for k in range(len(op.inputs))])
    operand = np.searchsorted(ends, out[axis], side="right")
    within = out[axis] - np.append(0, ends)[operand]
    return Origin(operand, [within if a == axis else x for a, x in enumerate(out)])


def _pack(graph: Graph, op: Op, out: Point) -> Origin:
    axis = int(op.options["axis"]) % len(out)
    return Origin(out[axis], [x for a, x in enumerate(out) if a != axis])


def _piece(graph: Graph, op: Op, out: Point) -> Origin:
    """UNPACK removes the axis along which it splits."""
    axis, begin, _ = op.options[PIECE]
    if op.type == "UNPACK":
        return _single([*out[:axis], np.full_like(out[0], begin), *out[axis : len(shape_of(graph, op)) - 1]])
    return _single([x + begin if a == axis else x for a, x in enumerate(out)])


def _strided_slice(graph: Graph, op: Op, out: Point) -> Origin:
    """Compute source positions like TFLM's StridedSlice."""
    left, point = list(out), []
    begins, strides = (_integers(graph, op, k) for k in (1, 3))
    for axis, (size, begin, stride) in enumerate(zip(shape_of(graph, op), begins, strides, strict=True)):
        start = begin + size if begin < 0 else begin
        start = min(max(start, 0), size) if stride > 0 else min(max(start, -1), size - 1)
        if op.options["beginMask"] >> axis & 1:
            start = 0 if stride > 0 else size - 1
        shrunk = op.options["shrinkAxisMask"] >> axis & 1
        point.append(np.full_like(out[0], start) if shrunk else start + stride * left.pop(0))
    return _single(point)


def _depth_to_space(graph: Graph, op: Op, out: Point) -> Origin:
    n, y, x, c = out
    block, channels = int(op.options["blockSize"]), graph.tensors[op.outputs[0]].shape[3]
    return _single([n, y // block, x // block, (y % block * block + x % block) * channels + c])


def _space_to_depth(graph: Graph, op: Op, out: Point) -> Origin:
    n, y, x, d = out
    block, channels = int(op.options["blockSize"]), shape_of(graph, op)[3]
    within = d // channels
    return _single([n, y * block + within // block, x * block + within % block, d % channels])


def _transpose(graph: Graph, op: Op, out: Point) -> Origin:
    point = list(out)
    for axis, source in enumerate(_integers(graph, op, 1)):
        point[source] = out[axis]
    return _single(point)


def _repeated(graph: Graph, op: Op, out: Point) -> Origin:
    shape = shape_of(graph, op)
    return _single([x % d for x, d in zip(out[len(out) - len(shape) :], shape, strict=True)])


def _reverse(graph: Graph, op: Op, out: Point) -> Origin:
    axes = {axis % len(out) for axis in _integers(graph, op, 1)}
    sizes = shape_of(graph, op)
    return _single([sizes[a] - 1 - x if a in axes else x for a, x in enumerate(out)])


def _resize_nearest(graph: Graph, op: Op, out: Point) -> Origin:
    """Compute source positions like TFLM's GetNearestNeighbor, in float."""
    corners, half = bool(op.options["alignCorners"]), bool(op.options["halfPixelCenters"])
    point = list(out)
    for axis in (1, 2):
        size, made = shape_of(graph, op)[axis], graph.tensors[op.outputs[0]].shape[axis]
        shrunk = int(corners and made > 1)
        scale = np.float32(size - shrunk) / np.float32(made - shrunk)
        at = (out[axis].astype(np.float32) + np.float32(0.5 if half else 0)) * scale
        whole = np.trunc(at.astype(np.float64) + 0.5) if corners else np.floor(at)
        point[axis] = np.minimum(whole.astype(np.int64), size - 1)
    return _single(point)


def _gather(graph: Graph, op: Op, out: Point) -> Origin:
    """Compute source positions like TFLM's Gather."""
    indices = np.asarray(graph.tensors[op.inputs[1]].data)
    axis = int(op.options["axis"]) % len(shape_of(graph, op))
    end = axis + indices.ndim
    return _single([*out[:axis], indices[tuple(out[axis:end])].astype(np.int64), *out[end:]])


MOVEMENTS: Mapping[str, Callable[[Graph, Op, Point], Origin]] = {
    **dict.fromkeys(("PAD", "PADV2"), _pad),
    "MIRROR_PAD": _mirror_pad,
    "CONCATENATION": _concatenation,
    "PACK": _pack,
    **dict.fromkeys(("SPLIT", "SPLIT_V", "UNPACK"), _piece),
    "SLICE": lambda graph, op, out: _single([x + b for x, b in zip(out, _integers(graph, op, 1), strict=True)]),
    "STRIDED_SLICE": _strided_slice,
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_DEPTH": _space_to_depth,
    "TRANSPOSE": _transpose,
    **dict.fromkeys(("BROADCAST_TO", "TILE"), _repeated),
    "REVERSE_V2": _reverse,
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest,
    "GATHER": _gather,
    "CAST": lambda graph, op, out: _single(out),
}
"""CAST copies the low byte of each element."""
