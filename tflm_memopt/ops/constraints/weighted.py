"""Constraints of windows and filters: convolutions, dense layers, pools."""

from __future__ import annotations

from tflm_memopt.ops.constraints.base import (
    QUANTIZE,
    RECONVERT,
    Constraint,
    hint,
    is_scale,
    name,
    quantization,
    two_scales,
)
from tflm_memopt.ops.site import Site

MAX_STEP = 0x7FFF
"""Strides, dilations and paddings are int16 in TFLM (kernels/internal/types.h, ConvParams)."""


@hint(QUANTIZE)
def int8_filter(site: Site) -> str | None:
    """The filter must be a constant int8 or int4 tensor, not sparse"""
    w = site.input(1)
    if w.data is None:
        return f"{name(w)} is computed at run time"
    known = w.dtype in ("INT8", "INT4") and w.data.shape == w.shape and w.elements
    return None if known else f"{name(w)} is {w.dtype}"


def filter_rank(rank: int) -> Constraint:
    def filter_dimensions(site: Site) -> str | None:
        """The filter must have as many dimensions as its operator expects"""
        w = site.input(1)
        return None if len(w.shape) == rank else f"{name(w)} has shape {list(w.shape)}"

    return hint(RECONVERT)(filter_dimensions)


def filter_scales(channel_axis: int) -> Constraint:
    def symmetric_filter(site: Site) -> str | None:
        """The filter must have zero point 0 and one scale, or one for each output channel"""
        w = site.input(1)
        q = w.quantization
        if q is None:
            return f"{name(w)} has no scale"
        if any(z != 0 for z in q.zero_point):
            return f"{name(w)} has zero point {next(z for z in q.zero_point if z)}"
        if len(q.scale) != 1 and (q.axis != channel_axis or len(q.scale) != w.shape[channel_axis]):
            return f"{name(w)} has {len(q.scale)} scales along dimension {q.axis}"
        return None if all(is_scale(s) for s in q.scale) else f"{name(w)} has a scale that is not positive"

    return hint(QUANTIZE)(symmetric_filter)


@hint("one scale for all of the filter, or int8 weights")
def dense_int4_scale(site: Site) -> str | None:
    """An int4 filter of a dense layer must have one scale: TFLM ignores the others"""
    w, scales = site.input(1), len(quantization(site.input(1)).scale)
    return f"{name(w)} has {scales} scales" if w.dtype == "INT4" and scales > 1 else None


@hint(QUANTIZE)
def int32_bias(site: Site) -> str | None:
    """The bias must be absent, or a constant int32 for each output channel; int64 where outputs are int16"""
    bias, channels, wide = site.tensor(2), site.output.shape[-1], site.output.dtype == "INT16"
    if bias is None:
        return "an int16 operator has none" if wide and site.op.options.get("quantizedBiasType") else None
    if bias.data is None:
        return f"{name(bias)} has no values"
    if bias.dtype == ("INT64" if wide else "INT32") and bias.elements == channels:
        return None
    return f"{name(bias)} is {bias.dtype} {list(bias.shape)}"


@hint("leave out groups, or split the convolution")
def all_channels(site: Site) -> str | None:
    """The filter must read all input channels (no groups) and give all output channels"""
    w, c_in, c_out = site.input(1), site.input().shape[-1], site.output.shape[-1]
    if (w.shape[-1], w.shape[0]) == (c_in, c_out):
        return None
    return f"filter {list(w.shape)}, {c_in} input and {c_out} output channels"


@hint(RECONVERT)
def depth_multiplier(site: Site) -> str | None:
    """Output channels must be input channels times the depth multiplier"""
    w, times = site.input(1), site.op.options["depthMultiplier"]
    c_in, c_out = site.input().shape[-1], site.output.shape[-1]
    if w.shape[0] == 1 and w.shape[3] == c_out == c_in * times:
        return None
    return f"filter {list(w.shape)}, {c_in} input channels, depth multiplier {times}, {c_out} output channels"


@hint("a kernel, stride and dilation of at most 32767, and padding 'same' or 'valid'")
def window(site: Site) -> str | None:
    """Kernel, stride and dilation must be positive and not too large, and padding SAME or VALID"""
    numbers = {"kernel": site.kernel(), "stride": site.strides(), "dilation": site.dilations()}
    for what, pair in numbers.items():
        if not all(1 <= n <= MAX_STEP for n in pair):
            return f"{what} {pair[0]}x{pair[1]}"
    extent = [(k - 1) * d + 1 for k, d in zip(site.kernel(), site.dilations(), strict=True)]
    if max(extent) > MAX_STEP:
        return f"kernel with dilation {extent[0]}x{extent[1]}"
    padding = site.op.options.get("padding")
    return None if padding in ("SAME", "VALID") else f"padding {padding}"


@hint(RECONVERT)
def output_size(site: Site) -> str | None:
    """The output must be as large as input, kernel, stride and padding say"""
    vertical, horizontal = site.spans()
    stated = site.output.shape[1:3]
    if (vertical.output, horizontal.output) == stated:
        return None
    return f"{list(stated)} instead of {[vertical.output, horizontal.output]}"


@hint(RECONVERT)
def dense_shapes(site: Site) -> str | None:
    """Input and output must be as large as the filter says"""
    (units, depth), batches = site.input(1).shape, site.output.elements // site.output.shape[-1]
    if site.output.shape[-1] == units and site.input().elements == batches * depth:
        return None
    return f"input {list(site.input().shape)}, filter {[units, depth]}, output {list(site.output.shape)}"


@hint(RECONVERT)
def default_weights_format(site: Site) -> str | None:
    """The weights must be in the default format"""
    return f"weightsFormat {site.op.options['weightsFormat']}" if site.op.options.get("weightsFormat") else None


@hint(QUANTIZE)
def bias_scale(site: Site) -> str | None:
    """The bias must have about the scale of input times filter"""
    bias, w = site.tensor(2), quantization(site.input(1))
    if bias is None or len(w.scale) > 1:
        return None
    scale = bias.quantization.scale[0] if bias.quantization else 0.0
    product, out = quantization(site.input()).scale[0] * w.scale[0], quantization(site.output).scale[0]
    return None if abs(product - scale) / out <= 0.02 else f"{name(bias)} has scale {scale:g}, not {product:g}"


@hint(RECONVERT)
def pool_keeps_channels(site: Site) -> str | None:
    """A pool's input and output must have the same channels"""
    c_in, c_out = site.input().shape[-1], site.output.shape[-1]
    return None if c_in == c_out else f"{c_in} input and {c_out} output channels"


@hint(QUANTIZE)
def pool_keeps_scale(site: Site) -> str | None:
    """A pool's input and output must have the same scale and zero point"""
    a, b = quantization(site.input()), quantization(site.output)
    same = abs(a.scale[0] - b.scale[0]) <= 1e-6 and a.zero_point == b.zero_point
    return None if same else two_scales(site)
