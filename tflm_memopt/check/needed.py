"""Computes the first and the last input pixel that TFLM's kernels read for each output pixel.

Each function repeats the loops of one TFLM kernel, from the operator's own parameters. The pixels that an output pixel
needs form a rectangle, which two corners describe. The checker compares these rectangles with the results of
ops/parse.py, which shares no code with this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import Ints
from tflm_memopt.model.graph import FEATURES, Graph, Op
from tflm_memopt.ops.context import AXES, EXPLICIT_PADDING


class Corners(NamedTuple):
    """First and last corner of the part of an input that each output pixel needs."""

    operand: int
    """Position of the input among the operator's inputs."""
    pixels: int
    first: Ints
    last: Ints
    """First and last input pixel that each output pixel needs. A pixel needs no input if `last` is below `first`."""


Axis = tuple[Ints, Ints]
"""For each index along an axis of the output, the first and last index that it needs along the input's axis."""
NONE = -1


def _box(operand: int, sizes: tuple[int, ...], rows: Axis, columns: Axis) -> Corners:
    """Return the first and last input pixel that each output pixel needs.

    sizes: height and width of the input. rows, columns: the first and last needed row or column, for each row or column
    of the output.
    """
    some = (rows[0] <= rows[1])[:, None] & (columns[0] <= columns[1])
    first, last = (
        np.where(some, y[:, None] * sizes[1] + x, at) for y, x, at in zip(rows, columns, (0, NONE), strict=True)
    )
    return Corners(operand, math.prod(sizes), first.ravel(), last.ravel())


class _Slide(NamedTuple):
    kernel: int
    stride: int
    dilation: int
    before: int
    """Padding before the window's first index."""

    def reads(self, size: int, made: int) -> Axis:
        """Return the first and last index inside the input under each window."""
        taps = np.arange(made)[:, None] * self.stride - self.before + np.arange(self.kernel) * self.dilation
        inside = (taps >= 0) & (taps < size)
        return np.where(inside, taps, size).min(axis=1), np.where(inside, taps, NONE).max(axis=1)


def _padding(size: int, made: int, kernel: int, stride: int, dilation: int = 1) -> int:
    """Compute the padding like TFLM's ComputePadding (kernels/padding.h)."""
    return max(0, (made - 1) * stride + (kernel - 1) * dilation + 1 - size) // 2


def _shape(graph: Graph, op: Op, k: int = 0) -> tuple[int, ...]:
    return graph.tensors[op.inputs[k]].shape


def _made(graph: Graph, op: Op) -> tuple[int, ...]:
    return graph.tensors[op.outputs[0]].shape


def _window(graph: Graph, op: Op) -> Iterator[Corners]:
    """Find what CONV_2D, DEPTHWISE_CONV_2D and pools read, with the padding of a PAD before them."""
    pools = op.type.endswith("POOL_2D")
    kernel = (op.options["filterHeight"], op.options["filterWidth"]) if pools else _shape(graph, op, 1)[1:3]
    sizes, made = _shape(graph, op)[1:3], _made(graph, op)[1:3]
    explicit, axes = op.options.get(EXPLICIT_PADDING), []
    for axis, name in enumerate("HW"):
        stride, dilation = op.options[f"stride{name}"], op.options.get(f"dilation{name}Factor", 1)
        before = _padding(sizes[axis], made[axis], kernel[axis], stride, dilation)
        if explicit:
            before = explicit[2 * axis]
        elif op.options["padding"] == "VALID":
            before = 0
        axes.append(_Slide(kernel[axis], stride, dilation, before).reads(sizes[axis], made[axis]))
    yield _box(0, sizes, *axes)


def _transpose_conv(graph: Graph, op: Op) -> Iterator[Corners]:
    """Find what TRANSPOSE_CONV reads: input i adds to `kernel` outputs, the first of which is i * stride - padding."""
    sizes, made, kernel, axes = _shape(graph, op)[1:3], _made(graph, op)[1:3], _shape(graph, op, 1)[1:3], []
    for axis, name in enumerate("HW"):
        stride = op.options[f"stride{name}"]
        before = 0 if op.options["padding"] == "VALID" else _padding(made[axis], sizes[axis], kernel[axis], stride)
        start = np.arange(sizes[axis]) * stride - before
        adds = (start <= np.arange(made[axis])[:, None]) & (np.arange(made[axis])[:, None] < start + kernel[axis])
        i = np.arange(sizes[axis])
        axes.append((np.where(adds, i, sizes[axis]).min(axis=1), np.where(adds, i, NONE).max(axis=1)))
    yield _box(0, sizes, *axes)


def _resize_bilinear(graph: Graph, op: Op) -> Iterator[Corners]:
    """Compute source positions like ComputeInterpolationValues and its Integer form (reference/resize_bilinear.h)."""
    sizes, made, axes = _shape(graph, op)[1:3], _made(graph, op)[1:3], []
    half = bool(op.options["halfPixelCenters"])
    for size, out in zip(sizes, made, strict=True):
        corners = int(bool(op.options["alignCorners"]) and out > 1)
        if graph.tensors[op.inputs[0]].dtype == "FLOAT32":
            scale, x = np.float32(size - corners) / np.float32(out - corners), np.arange(out, dtype=np.float32)
            x = (x + np.float32(0.5)) * scale - np.float32(0.5) if half else x * scale
            low, high = np.floor(x).astype(np.int64), np.ceil(x).astype(np.int64)
        else:  # positions are in 1/1024 of a pixel
            step = ((size - corners << 10) + (out - corners) // 2) // (out - corners)
            at = np.arange(out) * step + (step // 2 - 512 if half else 0)
            low, high = at // 1024, (at + 1023) // 1024
        axes.append((np.maximum(low, 0), np.minimum(high, size - 1)))
    yield _box(0, sizes, *axes)


def _dense(graph: Graph, op: Op) -> Iterator[Corners]:
    """Find the pixels that FULLY_CONNECTED and the dense layer of SVDF read for each vector of a batch."""
    made, units = math.prod(_made(graph, op)), _shape(graph, op, 1)[0]
    batch = np.arange(max(1, made // units))
    yield Corners(0, len(batch), batch, batch)


def _elementwise(graph: Graph, op: Op) -> Iterator[Corners]:
    """Find what element-wise operators read: the same pixel of each input, or its broadcast pixel. An output pixel
    needs the same pixel of each input, or a broadcast one.
    """
    out = _made(graph, op)[:-1]
    for k, tensor in enumerate(op.inputs):
        if tensor < 0 or graph.tensors[tensor].constant:
            continue
        shape = graph.tensors[tensor].shape[:-1]
        pixels = math.prod(shape)
        alike = pixels == math.prod(out)  # the shapes may differ by dimensions of size 1
        at = np.arange(pixels) if alike else np.broadcast_to(np.arange(pixels).reshape(shape), out).ravel()
        yield Corners(k, pixels, at, at)


def _reduction(graph: Graph, op: Op) -> Iterator[Corners]:
    """Find what MEAN, SUM, REDUCE_MAX, REDUCE_MIN, ARG_MAX and ARG_MIN read. Unreduced channels count as one."""
    shape = _shape(graph, op)
    stated = op.options.get(AXES)
    axes = {
        int(a) % len(shape)
        for a in np.ravel(np.asarray(graph.tensors[op.inputs[1]].data if stated is None else stated))
    }
    if len(shape) - 1 not in axes:
        shape = shape[:-1]
    index: NDArray[np.int64] = np.arange(math.prod(shape)).reshape(shape)
    reduced = tuple(a for a in axes if a < len(shape))
    yield Corners(0, index.size, index.min(axis=reduced).ravel(), index.max(axis=reduced).ravel())


def _gather(graph: Graph, op: Op) -> Iterator[Corners]:
    """Find what GATHER and GATHER_ND read, where an index or a vector of indices selects a part of a tensor."""
    at = np.arange(math.prod(_shape(graph, op, 1)[: -1 if op.type == "GATHER_ND" else None]))
    yield Corners(1, len(at), at, at)
    if not graph.tensors[op.inputs[0]].constant:
        yield Corners(0, 1, 0 * at, 0 * at)


def _batch_matmul(graph: Graph, op: Op) -> Iterator[Corners]:
    """Repeat BATCH_MATMUL. A row of the product needs a row of the left matrix and the whole right matrix."""
    *batch, rows, _ = _shape(graph, op)
    at = np.arange(math.prod(batch) * rows)
    yield Corners(0, len(at), at, at)
    yield Corners(1, math.prod(batch), at // rows, at // rows)


_SAME_PIXEL = (
    "ABS", "ADD", "CAST", "CEIL", "DEQUANTIZE", "DIV", "ELU", "EQUAL", "EXP", "FLOOR", "FLOOR_DIV", "FLOOR_MOD",
    "GREATER", "GREATER_EQUAL", "HARD_SWISH", "LEAKY_RELU", "LESS", "LESS_EQUAL", "LOG", "LOGICAL_AND", "LOGICAL_NOT",
    "LOGICAL_OR", "LOGISTIC", "LOG_SOFTMAX", "MAXIMUM", "MINIMUM", "MUL", "NEG", "NOT_EQUAL", "PRELU", "QUANTIZE",
    "RELU", "RELU6", "ROUND", "RSQRT", "SELECT_V2", "SOFTMAX", "SQRT", "SQUARE", "SQUARED_DIFFERENCE", "SUB", "TANH",
)  # fmt: skip
_REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "ARG_MAX", "ARG_MIN")
_WINDOWS = ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D")

NEEDS: Mapping[str, Callable[[Graph, Op], Iterator[Corners]]] = {
    **dict.fromkeys(_SAME_PIXEL, _elementwise),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(_WINDOWS, _window),
    "TRANSPOSE_CONV": _transpose_conv,
    "RESIZE_BILINEAR": _resize_bilinear,
    "FULLY_CONNECTED": _dense,
    FEATURES: _dense,
    "GATHER": _gather,
    "GATHER_ND": _gather,
    "BATCH_MATMUL": _batch_matmul,
}
"""The function of each operator that computes, by TFLite's operator name."""
