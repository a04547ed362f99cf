"""Computes the first and the last input pixel that TFLM's kernels read for each output pixel.

Each function repeats the loops of one TFLM kernel. The input pixels for one output pixel form a rectangle. The checker
compares the rectangles with those of ops/parse.py, which shares no code with this module.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import Ints
from tflm_memopt.check.movements import shape_of
from tflm_memopt.model.graph import FEATURES, ITEM_BYTES, TIME, Graph, Op
from tflm_memopt.ops.context import AXES, EXPLICIT_PADDING
from tflm_memopt.ops.rowop import RowOp


class Corners(NamedTuple):
    operand: int
    pixels: int
    first: Ints
    last: Ints
    """First and last input pixel that each output pixel needs. If an output pixel needs no input pixel, `last` is below
    `first`.
    """


Axis = tuple[Ints, Ints]
"""For each output index along an axis, the first and the last input index that the output needs."""
NONE = -1


def _box(operand: int, sizes: tuple[int, ...], rows: Axis, columns: Axis) -> Corners:
    some = (rows[0] <= rows[1])[:, None] & (columns[0] <= columns[1])
    first, last = (
        np.where(some, y[:, None] * sizes[1] + x, at) for y, x, at in zip(rows, columns, (0, NONE), strict=True)
    )
    return Corners(operand, math.prod(sizes), first.ravel(), last.ravel())


class AxisWindows(NamedTuple):
    kernel: int
    stride: int
    dilation: int
    before: int
    made: int

    def reads(self, size: int) -> Axis:
        """Return the first and the last input index that each window covers."""
        taps = np.arange(self.made)[:, None] * self.stride - self.before + np.arange(self.kernel) * self.dilation
        inside = (taps >= 0) & (taps < size)
        return np.where(inside, taps, size).min(axis=1), np.where(inside, taps, NONE).max(axis=1)


def slide(graph: Graph, op: Op, axis: int, size: int) -> AxisWindows:
    """Return the windows of a convolution or pool along the height (axis 0) or width (axis 1) of an input.

    The padding comes from a PAD before the operator, or from TFLM's ComputePadding (kernels/padding.h).
    """
    kernel, name = _kernel(graph, op)[axis], "HW"[axis]
    stride, dilation = op.options[f"stride{name}"], op.options.get(f"dilation{name}Factor", 1)
    extent, explicit = (kernel - 1) * dilation + 1, op.options.get(EXPLICIT_PADDING)
    if explicit:
        before, after = explicit[2 * axis : 2 * axis + 2]
    elif op.options["padding"] == "VALID":
        before = after = 0
    else:
        padding = max(0, (-(-size // stride) - 1) * stride + extent - size)
        before, after = padding // 2, padding - padding // 2
    return AxisWindows(kernel, stride, dilation, before, (size + before + after - extent) // stride + 1)


def slide_in_time(graph: Graph, of: Op, op: RowOp, height: int) -> tuple[AxisWindows, AxisWindows] | None:
    """Return a TFLM operator's windows along both axes of an input of `height` rows, or None if the operator has no
    window.
    """
    width, w = op.reads[0].w, op.window
    all_columns = AxisWindows(width, w.stride_w, w.dilation_w, 0, 1)
    if of.type == TIME:
        return AxisWindows(shape_of(graph, of, 2)[1], 1, 1, 0, 1), all_columns
    if of.type == "FULLY_CONNECTED":
        kernel = shape_of(graph, of, 1)[1] * ITEM_BYTES[graph.tensors[of.inputs[0]].dtype] // op.reads[0].row_bytes
        return AxisWindows(kernel, 1, 1, 0, height - kernel + 1), all_columns
    if of.type not in WINDOWS or "padding" not in of.options:
        return None
    # If each row has only one pixel, the rows may be the columns of a TFLM tensor of height 1.
    axes = (0,) if width > 1 else (1, 0) if shape_of(graph, of)[1:2] == (1,) else (0, 1)
    found = [(slide(graph, of, axis, height), slide(graph, of, 1 - axis, width)) for axis in axes]
    like = (pair for pair in found if (pair[0].kernel, pair[0].dilation) == (w.kernel_h, w.dilation_h))
    return next((pair for pair in like if pair[0].stride == w.stride_h or op.writes.h == 1), found[0])


def _kernel(graph: Graph, op: Op) -> tuple[int, ...]:
    pools = op.type.endswith("POOL_2D")
    return (op.options["filterHeight"], op.options["filterWidth"]) if pools else shape_of(graph, op, 1)[1:3]


def _made(graph: Graph, op: Op) -> tuple[int, ...]:
    return graph.tensors[op.outputs[0]].shape


def _window(graph: Graph, op: Op) -> Iterator[Corners]:
    sizes = shape_of(graph, op)[1:3]
    rows, columns = (slide(graph, op, axis, size).reads(size) for axis, size in enumerate(sizes))
    yield _box(0, sizes, rows, columns)


def _transpose_conv(graph: Graph, op: Op) -> Iterator[Corners]:
    """TRANSPOSE_CONV adds input `i` to consecutive outputs, beginning with output `i × stride − padding`."""
    sizes, made, kernel, axes = shape_of(graph, op)[1:3], _made(graph, op)[1:3], shape_of(graph, op, 1)[1:3], []
    for axis, name in enumerate("HW"):
        stride = op.options[f"stride{name}"]
        same = max(0, (sizes[axis] - 1) * stride + kernel[axis] - made[axis]) // 2
        before = 0 if op.options["padding"] == "VALID" else same
        start = np.arange(sizes[axis]) * stride - before
        adds = (start <= np.arange(made[axis])[:, None]) & (np.arange(made[axis])[:, None] < start + kernel[axis])
        i = np.arange(sizes[axis])
        axes.append((np.where(adds, i, sizes[axis]).min(axis=1), np.where(adds, i, NONE).max(axis=1)))
    yield _box(0, sizes, *axes)


def _resize_bilinear(graph: Graph, op: Op) -> Iterator[Corners]:
    """Compute positions like TFLM's ComputeInterpolationValues (reference/resize_bilinear.h)."""
    sizes, made, axes = shape_of(graph, op)[1:3], _made(graph, op)[1:3], []
    half = bool(op.options["halfPixelCenters"])
    for size, out in zip(sizes, made, strict=True):
        corners = int(bool(op.options["alignCorners"]) and out > 1)
        if graph.tensors[op.inputs[0]].dtype == "FLOAT32":
            scale, x = np.float32(size - corners) / np.float32(out - corners), np.arange(out, dtype=np.float32)
            x = (x + np.float32(0.5)) * scale - np.float32(0.5) if half else x * scale
            low, high = np.floor(x).astype(np.int64), np.ceil(x).astype(np.int64)
        else:  # For integer tensors, TFLM's RESIZE_BILINEAR uses positions in units of 1/1024 pixel.
            step = ((size - corners << 10) + (out - corners) // 2) // (out - corners)
            at = np.arange(out) * step + (step // 2 - 512 if half else 0)
            low, high = at // 1024, (at + 1023) // 1024
        axes.append((np.maximum(low, 0), np.minimum(high, size - 1)))
    yield _box(0, sizes, *axes)


def _dense(graph: Graph, op: Op) -> Iterator[Corners]:
    made, units = math.prod(_made(graph, op)), shape_of(graph, op, 1)[0]
    batch = np.arange(max(1, made // units))
    yield Corners(0, len(batch), batch, batch)


def _elementwise(graph: Graph, op: Op) -> Iterator[Corners]:
    out = _made(graph, op)[:-1]
    for k, tensor in enumerate(op.inputs):
        if tensor < 0 or graph.tensors[tensor].constant:
            continue
        shape = graph.tensors[tensor].shape[:-1]
        pixels = math.prod(shape)
        alike = pixels == math.prod(out)
        at = np.arange(pixels) if alike else np.broadcast_to(np.arange(pixels).reshape(shape), out).ravel()
        yield Corners(k, pixels, at, at)


def _reduction(graph: Graph, op: Op) -> Iterator[Corners]:
    """Yield indices of single values if channels are reduced, and indices of whole pixels if not."""
    shape = shape_of(graph, op)
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
    """GATHER and GATHER_ND need the whole input, since an index may select any element."""
    at = np.arange(math.prod(shape_of(graph, op, 1)[: -1 if op.type == "GATHER_ND" else None]))
    yield Corners(1, len(at), at, at)
    if not graph.tensors[op.inputs[0]].constant:
        yield Corners(0, 1, 0 * at, 0 * at)


def _batch_matmul(graph: Graph, op: Op) -> Iterator[Corners]:
    """A row of a matrix product needs one row of the left matrix and the whole right matrix."""
    *batch, rows, _ = shape_of(graph, op)
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
WINDOWS = ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D")

NEEDS: Mapping[str, Callable[[Graph, Op], Iterator[Corners]]] = {
    **dict.fromkeys(_SAME_PIXEL, _elementwise),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(WINDOWS, _window),
    "TRANSPOSE_CONV": _transpose_conv,
    "RESIZE_BILINEAR": _resize_bilinear,
    "FULLY_CONNECTED": _dense,
    FEATURES: _dense,
    "GATHER": _gather,
    "GATHER_ND": _gather,
    "BATCH_MATMUL": _batch_matmul,
}
