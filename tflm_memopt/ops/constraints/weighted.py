"""Constraints on operators with windows and filters: convolutions, dense layers and pools."""

from tflm_memopt.ops.constraints.base import QUANTIZE, Constraint, hint, is_scale, name, quantization, two_scales
from tflm_memopt.ops.context import OperatorContext

SUMS_OF_BIAS_TYPE = ("CONV_2D", "FULLY_CONNECTED")
"""Without a bias, int16 CONV_2D and FULLY_CONNECTED take the type of their sums from `quantizedBiasType`."""
INT32 = 2
"""The value of TensorType.INT32 in the schema of `.tflite` files."""
MAX_STEP = 0x7FFF
"""TFLM stores strides, dilations and paddings as int16 (kernels/internal/types.h, ConvParams)."""


@hint(QUANTIZE)
def int8_filter(context: OperatorContext) -> str | None:
    """The filter must be a constant int8 or int4 tensor, not sparse"""
    w = context.input(1)
    if w.data is None:
        return f"{name(w)} is computed at run time"
    known = w.dtype in ("INT8", "INT4") and w.data.shape == w.shape and w.elements
    return None if known else f"{name(w)} is {w.dtype}"


@hint("convert without quantization, or quantize activations as well")
def float_filter(context: OperatorContext) -> str | None:
    """Filter and bias must be constant float32 tensors, not sparse, with a bias per output channel or none"""
    w, bias = context.input(1), context.tensor(2)
    if w.data is None or w.dtype != "FLOAT32" or w.data.shape != w.shape or not w.elements:
        return f"{name(w)} is {'computed at run time' if w.data is None else w.dtype}"
    if bias is None or (bias.data is not None and (bias.dtype, bias.elements) == ("FLOAT32", context.output.shape[-1])):
        return None
    return f"{name(bias)} is {'computed at run time' if bias.data is None else f'{bias.dtype} {list(bias.shape)}'}"


def filter_rank(rank: int) -> Constraint:
    def filter_dimensions(context: OperatorContext) -> str | None:
        """The filter must have as many dimensions as its operator expects"""
        w = context.input(1)
        return None if len(w.shape) == rank else f"{name(w)} has shape {list(w.shape)}"

    return filter_dimensions


def filter_scales(channel_axis: int) -> Constraint:
    def symmetric_filter(context: OperatorContext) -> str | None:
        """The filter must have zero point 0 and one scale, or one for each output channel"""
        w = context.input(1)
        q = w.quantization
        if q is None:
            return f"{name(w)} has no scale"
        if any(z != 0 for z in q.zero_point):
            return f"{name(w)} has zero point {next(z for z in q.zero_point if z)}"
        if len(q.scale) != 1 and (q.axis != channel_axis or len(q.scale) != w.shape[channel_axis]):
            return f"{name(w)} has {len(q.scale)} scales along dimension {q.axis}"
        return None if all(is_scale(s) for s in q.scale) else f"{name(w)} has a scale that is not positive"

    return hint(QUANTIZE)(symmetric_filter)


@hint("use one scale for the whole filter, or int8 weights")
def dense_int4_scale(context: OperatorContext) -> str | None:
    """An int4 filter of a dense layer must have one scale, since TFLM ignores further scales"""
    w, scales = context.input(1), len(quantization(context.input(1)).scale)
    return f"{name(w)} has {scales} scales" if w.dtype == "INT4" and scales > 1 else None


@hint(QUANTIZE)
def int32_bias(context: OperatorContext) -> str | None:
    """The bias must be absent, or a constant int32 per output channel (int64 if the output is int16)"""
    bias, channels, wide = context.tensor(2), context.output.shape[-1], context.output.dtype == "INT16"
    if bias is None:
        narrow = context.op.type in SUMS_OF_BIAS_TYPE and context.op.options.get("quantizedBiasType") == INT32
        return "its sums are int32" if wide and narrow else None
    if bias.data is None:
        return f"{name(bias)} has no values"
    if bias.dtype == ("INT64" if wide else "INT32") and bias.elements == channels:
        return None
    return f"{name(bias)} is {bias.dtype} {list(bias.shape)}"


@hint("use a convolution without groups, or split it")
def all_channels(context: OperatorContext) -> str | None:
    """The filter must read all input channels (no groups)"""
    w, c_in = context.input(1), context.input().shape[-1]
    return None if w.shape[-1] == c_in else f"filter {list(w.shape)}, {c_in} input channels"


@hint("use a kernel, stride and dilation of at most 32767, and padding 'same' or 'valid'")
def window(context: OperatorContext) -> str | None:
    """Kernel, stride and dilation must be positive and not too large, and padding must be SAME or VALID"""
    numbers = {"kernel": context.kernel(), "stride": context.strides(), "dilation": context.dilations()}
    for what, pair in numbers.items():
        if not all(1 <= n <= MAX_STEP for n in pair):
            return f"{what} {pair[0]}x{pair[1]}"
    extent = [(k - 1) * d + 1 for k, d in zip(context.kernel(), context.dilations(), strict=True)]
    if max(extent) > MAX_STEP:
        return f"kernel with dilation {extent[0]}x{extent[1]}"
    padding = context.op.options.get("padding")
    return None if padding in ("SAME", "VALID") else f"padding {padding}"


def default_weights_format(context: OperatorContext) -> str | None:
    """The weights must be in the default format"""
    return f"weightsFormat {context.op.options['weightsFormat']}" if context.op.options.get("weightsFormat") else None


@hint(QUANTIZE)
def bias_scale(context: OperatorContext) -> str | None:
    """The scale of the bias must be about the product of input and filter scale"""
    bias, w = context.tensor(2), quantization(context.input(1))
    if bias is None or len(w.scale) > 1:
        return None
    scale = bias.quantization.scale[0] if bias.quantization else 0.0
    product, out = quantization(context.input()).scale[0] * w.scale[0], quantization(context.output).scale[0]
    return None if abs(product - scale) / out <= 0.02 else f"{name(bias)} has scale {scale:g}, not {product:g}"


@hint(QUANTIZE)
def pool_keeps_scale(context: OperatorContext) -> str | None:
    """Input and output of a pool must have the same scale and zero point"""
    a, b = quantization(context.input()), quantization(context.output)
    same = abs(a.scale[0] - b.scale[0]) <= 1e-6 and a.zero_point == b.zero_point
    return None if same else two_scales(context)
