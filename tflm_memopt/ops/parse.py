"""Parses operators of a model that have passed their constraints in `opset.OPSET` into RowOps."""

import math
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.codes import FloatFunction, FloatRange, ResizeForm
from tflm_memopt.format.limits import INDEX_BYTES, MAX_KERNEL_H
from tflm_memopt.model.graph import ITEM_BYTES
from tflm_memopt.ops import elementwise, lookup, quant
from tflm_memopt.ops.constraints.base import quantization, values, zero_point
from tflm_memopt.ops.context import ONE_PIXEL, OperatorContext, any_rows, byte_shape
from tflm_memopt.ops.custom import CUSTOM_OPERATORS
from tflm_memopt.ops.kinds import FLOAT, WIDE, Kind, traits
from tflm_memopt.ops.quant import Multiplier
from tflm_memopt.ops.rowop import FLOAT_BYTES, UNIT, Access, RowOp, Rows, Window


def conv(context: OperatorContext) -> RowOp:
    return _weighted(context, Kind.CONV, slide(context), values(context.input(1)))


def depthwise(context: OperatorContext) -> RowOp:
    return _weighted(context, Kind.DEPTHWISE, slide(context), values(context.input(1))[0])


def fully_connected(context: OperatorContext) -> RowOp:
    """Parse FULLY_CONNECTED as a convolution over its whole input. If the batch size is above 1, each input vector of
    the batch becomes a pixel.
    """
    filter_ = values(context.input(1))
    units, depth = filter_.shape
    rows, batches = _channels(context, context.producer_rows()), context.output.elements // units
    if batches == 1:
        geometry = Geometry(Window(rows.h, rows.w), rows, Rows(1, 1, units))
    else:
        reads = rows if rows.c == depth else Rows(batches, 1, depth)
        geometry = Geometry(Window(), reads, Rows(reads.h, reads.w, units))
    weights = filter_.reshape(units, geometry.window.kernel_h, geometry.window.kernel_w, geometry.reads.c)
    return _weighted(context, Kind.CONV, geometry, weights)


def pool(context: OperatorContext) -> RowOp:
    kind = Kind.MAX_POOL if context.op.type == "MAX_POOL_2D" else Kind.AVERAGE_POOL
    return _counted(context, kind, slide(context))


def mean(context: OperatorContext) -> RowOp:
    """Parse MEAN or SUM over any of height, width and channels. A SUM is a MEAN without the division."""
    g, divides = _reduction(context), context.op.type == "MEAN"
    if _is_float(context):
        return _float_reduced(context, Kind.AVERAGE_POOL_F32 if divides else Kind.SUM_F32, g)
    scales = quantization(context.input()).scale[0], quantization(context.output).scale[0]
    multiplier = quant.mean(*scales, g.window.kernel_h * g.window.kernel_w) if divides else quant.rescale(*scales)
    return _counted(context, Kind.MEAN, g, multipliers=[multiplier])


def reduce_extreme(context: OperatorContext) -> RowOp:
    g, smallest = _reduction(context), context.op.type == "REDUCE_MIN"
    if _is_float(context):
        return _float_reduced(context, Kind.MIN_POOL_F32 if smallest else Kind.MAX_POOL_F32, g)
    return replace(_counted(context, Kind.MAX_POOL, g), param=int(smallest))


def gather(context: OperatorContext) -> RowOp:
    """Parse GATHER from a constant table to a RowOp in which each int32 index is a pixel with four channels of one
    byte.
    """
    stored = np.ascontiguousarray(values(context.input()), "<f4" if _is_float(context) else "<i1")
    table, rows = stored.view(np.int8), any_rows(byte_shape(context.output))
    return context.row_op(
        Kind.GATHER,
        operands=(1,),
        reads=(Rows(rows.h, rows.w, INDEX_BYTES),),
        writes=rows,
        weights=table,
        param=table.shape[0],
    )


def gather_nd(context: OperatorContext) -> RowOp:
    """Parse GATHER_ND, and GATHER along the first axis of a computed tensor. Each index selects one pixel of the first
    operand.
    """
    params, indices = context.input(0), context.input(1)
    depth = indices.shape[-1] if context.op.type == "GATHER_ND" else 1
    item, count = ITEM_BYTES[params.dtype], indices.elements // depth
    pixel = math.prod(params.shape[depth:]) * item
    steps = [math.prod(params.shape[k + 1 : depth]) for k in range(depth)]
    return context.row_op(
        Kind.GATHER_ND,
        reads=(Rows(1, params.nbytes // pixel, pixel), Rows(1, count, INDEX_BYTES * depth)),
        writes=Rows(1, count, pixel),
        bias=np.array(steps, np.int32),
        access=(Access(), Access()),
    )


def resize_bilinear(context: OperatorContext) -> RowOp:
    """Parse RESIZE_BILINEAR, whose positions are integers in units of 1/1024 of a pixel, as in TFLM."""
    (_, h, w, c), (_, h_out, w_out, _) = context.input().shape, context.output.shape
    half = int(bool(context.op.options["halfPixelCenters"]))
    scale_h, scale_w = context.resize_scales()
    return _row_op(
        context,
        Kind.RESIZE_BILINEAR,
        (Rows(h, w, c),),
        Rows(h_out, w_out, c),
        window=Window(stride_h=scale_h, stride_w=scale_w),
        access=(Access(half * (scale_h // 2 - ONE_PIXEL // 2), scale_h, ONE_PIXEL, 2),),
        param=half,
    )


def float_resize_bilinear(context: OperatorContext) -> RowOp:
    """As in TFLM, float32 arithmetic finds the input rows of each output row."""
    (_, h, w, c), (_, h_out, w_out, _) = context.input().shape, context.output.shape
    corners, centers = (bool(context.op.options[name]) for name in ("alignCorners", "halfPixelCenters"))
    less, y = int(corners and h_out > 1), np.arange(h_out, dtype=np.float32)
    scale, half = np.float32(h - less) / np.float32(h_out - less), np.float32(0.5)
    position = (y + half) * scale - half if centers else y * scale
    first = np.minimum(np.maximum(position, 0).astype(np.int64), h - 1)
    return context.row_op(
        Kind.RESIZE_BILINEAR_F32,
        reads=(_in_bytes(Rows(h, w, c), FLOAT_BYTES),),
        writes=_in_bytes(Rows(h_out, w_out, c), FLOAT_BYTES),
        window=Window(stride_h=h, stride_w=h_out),
        access=(Access(extent=2, table=tuple(first.tolist())),),
        param=ResizeForm.CENTERS if centers else ResizeForm.CORNERS if corners else ResizeForm.PLAIN,
    )


def transpose_conv(context: OperatorContext) -> RowOp:
    """Parse TRANSPOSE_CONV, whose windows lie in the output instead of the input. The operand that holds the output's
    shape was removed from the graph earlier.
    """
    padding = (span.before for span in context.spans(context.output))
    window = Window(*context.kernel(), *context.strides(), 1, 1, *padding)
    geometry = _along(context, window)
    if geometry.swapped and -(-geometry.window.kernel_h // geometry.window.stride_h) > MAX_KERNEL_H:
        geometry = _as_stated(context, window)
    macs = context.input().elements * math.prod(context.kernel()) * context.output.shape[3]
    op, w = _weighted(context, Kind.TRANSPOSE_CONV, geometry, values(context.input(1))), geometry.window
    extent = -(-w.kernel_h // w.stride_h)
    return replace(op, access=(Access(w.pad_top - w.stride_h * (extent - 1), 1, w.stride_h, extent),), macs=macs)


def batch_matmul(context: OperatorContext) -> RowOp:
    """Parse BATCH_MATMUL, whose right matrix stays in memory. The matrices of a batch are stacked as rows."""
    left, right, out = context.input(0).shape, context.input(1).shape, context.output.shape
    matrices, transposed = math.prod(left[:-2]), int(bool(context.op.options["adjY"]))
    first = np.repeat(np.arange(matrices) * right[-2], out[-2])
    item = ITEM_BYTES[context.output.dtype]
    scales = () if item == FLOAT_BYTES else tuple(map(quantization, (*context.activations, context.output)))
    product = quant.weighted(scales[0].scale[0], scales[1].scale, scales[2].scale[0]) if scales else ()
    whole = Access(mul=0, extent=right[-2])
    reads = Rows(matrices * left[-2], 1, left[-1]), Rows(matrices * right[-2], 1, right[-1])
    writes = Rows(matrices * out[-2], 1, out[-1])
    return _row_op(
        context,
        _kind(context, Kind.BATCH_MATMUL),
        tuple(_in_bytes(rows, item) for rows in reads),
        _in_bytes(writes, item),
        access=(Access(), whole if matrices == 1 else replace(whole, table=tuple(map(int, first)))),
        multipliers=product,
        param=transposed,
        macs=matrices * out[-2] * out[-1] * left[-1],
    )


def softmax(context: OperatorContext) -> RowOp:
    rows, beta = _last_dimension(context), float(context.op.options["beta"])
    wide = _in_bytes(rows, ITEM_BYTES[context.output.dtype])
    if _is_float(context):
        return _row_op(context, Kind.SOFTMAX_F32, (wide,), wide, param=quant.bits(beta))
    scale = quantization(context.input()).scale[0]
    if _is_int16(context):
        factor = quant.quantize_multiplier(quant.softmax_int16_factor(beta, scale))
        return _row_op(context, Kind.SOFTMAX_S16, (wide,), wide, multipliers=[factor])
    multiplier, diff_min = quant.softmax(beta, scale)
    return _row_op(context, Kind.SOFTMAX, (rows,), rows, multipliers=[multiplier], param=diff_min)


def log_softmax(context: OperatorContext) -> RowOp:
    rows = _last_dimension(context)
    if _is_float(context):
        wide = _in_bytes(rows, FLOAT_BYTES)
        return _row_op(context, Kind.LOG_SOFTMAX_F32, (wide,), wide)
    multiplier, inverse, diff_min = quant.log_softmax(quantization(context.input()).scale[0])
    return _row_op(context, Kind.LOG_SOFTMAX, (rows,), rows, multipliers=[multiplier, inverse], param=diff_min)


def own(context: OperatorContext) -> RowOp:
    """A user's operator works along the last dimension."""
    rows, custom = _last_dimension(context), CUSTOM_OPERATORS[context.op.type]
    numbers = {"channels": rows.c, **(custom.numbers(context) or {})}
    return _row_op(context, Kind.OWN, (rows,) * custom.operands, rows, param=custom.identify(numbers))


def arg_max(context: OperatorContext) -> RowOp:
    shape, dtype = context.input().shape, context.input().dtype
    (axis,) = context.axes()
    if dtype == "INT8" and shape[axis] > 1 and math.prod(shape[axis + 1 :]) == 1:
        rows = _last_dimension(context, shape[axis])
        kind, reads, writes, window = Kind.ARG_MAX, rows, replace(rows, c=INDEX_BYTES), UNIT
    else:
        kind, g = {"INT8": Kind.ARG_MAX_ALONG, "FLOAT32": Kind.ARG_MAX_F32}[dtype], _reduction(context)
        reads, writes, window = _in_bytes(g.reads, ITEM_BYTES[dtype]), _in_bytes(g.writes, INDEX_BYTES), g.window
    return context.row_op(kind, reads=(reads,), writes=writes, window=window, param=int(context.op.type == "ARG_MIN"))


def float_curve(context: OperatorContext) -> RowOp:
    rows, name = context.producer_rows(), context.op.type
    if (limits := {"RELU": FloatRange.POSITIVE, "RELU6": FloatRange.RELU6}.get(name)) is not None:
        return _row_op(context, Kind.CLAMP_F32, (rows,), rows, param=limits)
    form = quant.float_form(FloatRange.FINITE, FloatFunction[name])
    return _row_op(context, Kind.CURVE_F32, (rows,), rows, param=form)


def table(context: OperatorContext) -> RowOp:
    rows, scales = context.producer_rows(), map(quantization, (context.input(), context.output))
    return _row_op(context, Kind.LOOKUP, (rows,), rows, weights=lookup.table(context.op, *scales))


def comparison(context: OperatorContext) -> RowOp:
    """A comparison of int8 values with a constant becomes a lookup table."""
    at = int(context.input(1).constant)
    if context.input().dtype != "INT8" or not context.input(at).constant or context.input(at).elements > 1:
        return elementwise.comparison(context)
    x, constant, rows = context.input(1 - at), context.input(at), context.producer_rows(1 - at)
    scales, value = (quantization(x), quantization(constant)), int(values(constant).flatten()[0])
    found = lookup.compared(context.op.type, *scales, value, first=at == 0)
    return context.row_op(Kind.LOOKUP, operands=(1 - at,), reads=(rows,), writes=rows, weights=found)


def logical_not(context: OperatorContext) -> RowOp:
    rows = context.producer_rows()
    return context.row_op(Kind.LOOKUP, reads=(rows,), writes=rows, weights=lookup.NEGATED)


def sloped(context: OperatorContext) -> RowOp:
    """Parse RELU, ABS and LEAKY_RELU (micro/kernels/activations.cc, elementwise.cc, reference/leaky_relu.h)."""
    if not _is_int16(context):
        return table(context)
    scale, out = quantization(context.input()).scale[0], quantization(context.output).scale[0]
    above = quant.rescale(scale, out)
    below = quant.quantize_multiplier(scale * float(context.op.options.get("alpha", 0)) / out)
    if context.op.type == "ABS":
        below = Multiplier(-above.value, above.shift)
    rows = context.producer_rows()
    return _row_op(context, Kind.LEAKY_RELU_S16, (rows,), rows, multipliers=(above, below))


def relu6(context: OperatorContext) -> RowOp:
    """Parse RELU6, which for int16 becomes a MAX_POOL of single pixels, because a MAX_POOL clamps its output."""
    if not _is_int16(context):
        return table(context)
    rows = context.producer_rows()
    limits = quant.int16_activation("RELU6", quantization(context.input()).scale[0])
    return _row_op(context, Kind.MAX_POOL_S16, (rows,), rows, param=limits)


def curve(context: OperatorContext) -> RowOp:
    if not _is_int16(context):
        return table(context)
    is_tanh, rows = context.op.type == "TANH", context.producer_rows()
    scale = quant.curve(quantization(context.input()).scale[0], (0, 1) if is_tanh else (0,))
    return _row_op(context, Kind.CURVE_S16, (rows,), rows, multipliers=[scale], param=int(is_tanh))


def _last_dimension(context: OperatorContext, size: int | None = None) -> Rows:
    channels = context.input().shape[-1] if size is None else size
    rows = _channels(context, context.producer_rows())
    return rows if rows.c == channels else Rows(context.input().elements // channels, 1, channels)


class Geometry(NamedTuple):
    window: Window
    reads: Rows
    writes: Rows
    swapped: bool = False
    """True if height and width are exchanged, so that columns become rows."""


def slide(context: OperatorContext) -> Geometry:
    sizes, spans = (*context.kernel(), *context.strides(), *context.dilations()), context.spans()
    return _along(context, Window(*sizes, *(span.before for span in spans)))


def _along(context: OperatorContext, w: Window) -> Geometry:
    stated = _as_stated(context, w)
    (h_in, w_in, c_in), (h_out, w_out, c_out) = ((r.h, r.w, r.c) for r in (stated.reads, stated.writes))
    if not h_in == h_out == 1 or max(w_in, w_out) == 1:
        return stated
    return Geometry(w.transposed, Rows(w_in, h_in, c_in), Rows(w_out, h_out, c_out), True)


def _as_stated(context: OperatorContext, window: Window) -> Geometry:
    return Geometry(window, Rows(*context.input().shape[1:]), Rows(*context.output.shape[1:]))


def _weighted(context: OperatorContext, kind: Kind, g: Geometry, weights: NDArray[Any]) -> RowOp:
    if g.swapped:
        weights = weights.swapaxes(*traits(kind).constants.kernel_axes)
    bias = context.tensor(2)
    taps = g.window.kernel_h * g.window.kernel_w * (1 if kind is Kind.DEPTHWISE else g.reads.c)
    common: dict[str, Any] = {"macs": g.writes.nbytes * taps}
    if _is_float(context):
        common["weights"] = np.ascontiguousarray(weights, "<f4").view(np.int8)
    else:
        scales = (quantization(t).scale for t in (context.input(), context.input(1), context.output))
        (scale_in,), scales_filter, (scale_out,) = scales
        common["weights"] = np.ascontiguousarray(weights)
        common["nibbles"] = context.input(1).dtype == "INT4"
        common["multipliers"] = quant.weighted(scale_in, scales_filter, scale_out)
    if bias is not None:
        stored = {"INT16": "<i8", "FLOAT32": "<f4"}.get(context.output.dtype, "<i4")
        common["bias"] = values(bias).reshape(-1).astype(stored).view("<i4")
    op = _counted(context, kind, g, **common)
    return op if g.window.kernel_h <= MAX_KERNEL_H or op.reducible else _in_one_row(op)


def _in_one_row(op: RowOp) -> RowOp:
    """Join all rows of the input to one row if the operator's window covers the whole input."""
    (rows,), weights = op.reads, op.weights
    if (
        weights is None
        or op.writes.h * op.writes.w > 1
        or op.window != Window(rows.h, rows.w, *astuple(op.window)[2:4])
    ):
        return op
    k = weights.ndim - 3  # dimension k of the weights is the height of the window
    weights = weights.reshape(*weights.shape[:k], 1, rows.h * rows.w, -1)
    return replace(op, window=Window(1, rows.h * rows.w), reads=(Rows(1, rows.h * rows.w, rows.c),), weights=weights)


def _is_int16(context: OperatorContext) -> bool:
    return context.output.dtype == "INT16"


def _is_float(context: OperatorContext) -> bool:
    return context.output.dtype == "FLOAT32"


def _kind(context: OperatorContext, kind: Kind) -> Kind:
    return {"INT16": WIDE, "FLOAT32": FLOAT}.get(context.output.dtype, {}).get(kind, kind)


def _channels(context: OperatorContext, rows: Rows) -> Rows:
    """Return a copy of `rows` whose field `c` counts channels instead of bytes."""
    return replace(rows, c=rows.c // ITEM_BYTES[context.input().dtype])


def _reduction(context: OperatorContext) -> Geometry:
    """Return a window over all reduced elements, in which each reduced channel counts as a pixel."""
    run, made = context.run(), _channels(context, context.producer_rows())
    if run and run[0] == 1 < made.h and made.c % run[2] == 0:
        w = made.w * made.c // run[2]
        return Geometry(Window(made.h, w, made.h, w), Rows(made.h, w, run[2]), Rows(1, 1, run[2]))
    if run is not None and not context.is_image():
        before, along, behind = run
        return Geometry(Window(1, along, 1, along), Rows(before, along, behind), Rows(before, 1, behind))
    h, w, c = (1, 1, 1, *context.input().shape)[-3:]
    over_h, over_w, over_c = (False, False, False, *context.reduced())[-3:]
    if h == 1 and made != Rows(h, w, c):
        if not over_w and (made.h * made.w, made.c) == (w, c):
            h, w = made.h, made.w
        else:
            h, w, over_h, over_w = w, 1, over_w, False
    kernel_h, kernel_w = h if over_h else 1, w if over_w else 1
    reads, writes = Rows(h, w, c), Rows(h // kernel_h, w // kernel_w, c)
    if over_c:
        kernel_w *= c
        reads, writes = Rows(h, w * c, 1), Rows(writes.h, writes.w, 1)
    return Geometry(Window(kernel_h, kernel_w, kernel_h, kernel_w), reads, writes)


def _float_reduced(context: OperatorContext, kind: Kind, g: Geometry) -> RowOp:
    return replace(_counted(context, kind, g), param=FloatRange.ALL)


def _counted(context: OperatorContext, kind: Kind, g: Geometry, **fields: Any) -> RowOp:
    activation, item = context.op.options.get("fusedActivationFunction", "NONE"), ITEM_BYTES[context.output.dtype]
    if _is_float(context):
        fields["param"] = quant.FLOAT_RANGES[activation]
    elif _is_int16(context):
        fields["param"] = quant.int16_activation(activation, quantization(context.output).scale[0])
    else:
        q = quantization(context.output)
        fields["activation"] = quant.activation_range(activation, q.scale[0], q.zero_point[0])
    reads, writes = (_in_bytes(rows, item) for rows in (g.reads, g.writes))
    return _row_op(context, _kind(context, kind), (reads,), writes, window=g.window, **fields)


def _in_bytes(rows: Rows, item: int) -> Rows:
    return replace(rows, c=item * rows.c)


def _row_op(
    context: OperatorContext,
    kind: Kind,
    reads: tuple[Rows, ...],
    writes: Rows,
    *,
    multipliers: Sequence[Multiplier] = (),
    **fields: Any,
) -> RowOp:
    return context.row_op(
        kind,
        reads=reads,
        writes=writes,
        input_zero_points=tuple(zero_point(context.input(k)) for k in range(len(reads))),
        output_zero_point=zero_point(context.output),
        **quant.scaling(multipliers),
        **fields,
    )
