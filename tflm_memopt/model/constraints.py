"""What an operator must fulfil to run row by row. Each function's docstring is the message that users read.

A constraint returns None when it holds, else the detail: which tensor or field, and its value. Those of a row of
opset.OPSET are asked in order, so each may rely on the ones before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tflm_memopt.model import lookup, quant
from tflm_memopt.model.graph import ABSENT, Quantization, Tensor
from tflm_memopt.model.rowop import BINARY, WIDE, RowOp
from tflm_memopt.model.site import AXES, ONE_PIXEL, PIECE, Site, natural_rows

Constraint = Callable[[Site], str | None]

MAX_DIMENSION = 0xFFFF
MAX_STEP = 0x7FFF
"""Strides, dilations and paddings are int16 in TFLM (kernels/internal/types.h, ConvParams)."""
"""uint16_t of tmo_tensor and tmo_op."""
MAX_KERNEL_H = 64
"""TMO_MAX_KERNEL_H."""
MAX_EXTENT = 1 << 30
MAX_WINDOW = 1 << 23
"""MAX_EXTENT and MAX_POOL_AREA of custom_ops/src/tmo_check.c."""
MAX_SHIFT = 30
"""MultiplyByQuantizedMultiplier shifts an int32 by so much at most."""
MAX_S16_SHIFT = 7
"""The same of an int64."""
MAX_SOFTMAX_CHANNELS = 4095
"""The sum of exponentials has 12 integer bits (kernels/internal/reference/softmax.h)."""

QUANTIZE = "full-integer quantization: tf.lite.Optimize.DEFAULT, a representative_dataset and TFLITE_BUILTINS_INT8"
RECONVERT = "convert again with a current TensorFlow Lite converter"
FREEZE = "fix the input shape and freeze the weights before the conversion"
BORDER = "--int8-io, when it is at the model's border"
SHAPE = "change this layer in the model"

HINTS: dict[Constraint, str] = {}
"""What a user can do about it."""


def hint(text: str) -> Callable[[Constraint], Constraint]:
    def register(constraint: Constraint) -> Constraint:
        HINTS[constraint] = text
        return constraint

    return register


def name(tensor: Tensor) -> str:
    return f"tensor {tensor.id} '{tensor.name}'"


def _activations(site: Site) -> tuple[Tensor, ...]:
    """What is read and written at run time."""
    return (*site.activations, site.output)


def quantization(tensor: Tensor) -> Quantization:
    """The tensor's quantization, which `quantized` has proved to be there."""
    if tensor.quantization is None:
        raise ValueError(f"{name(tensor)} is not quantized")
    return tensor.quantization


# ---- all operators ----


def operands(*, least: int, most: int) -> Constraint:
    def count_of_operands(site: Site) -> str | None:
        """It must have as many operands as its kernel expects"""
        given = [k for k in range(len(site.op.inputs)) if site.tensor(k) is not None]
        complete = given[:least] == list(range(least)) and len(site.op.inputs) <= most and len(site.op.outputs) == 1
        return None if complete else f"{len(given)} inputs, {len(site.op.outputs)} outputs"

    return hint(RECONVERT)(count_of_operands)


def options(*names: str) -> Constraint:
    def complete_options(site: Site) -> str | None:
        """It must have the options of its operator"""
        missing = [n for n in names if n not in site.op.options]
        return f"{', '.join(missing)} not given" if missing else None

    return hint(RECONVERT)(complete_options)


@hint(FREEZE)
def static_shapes(site: Site) -> str | None:
    """Shapes must be known before run time"""
    for t in _activations(site):
        if t.dynamic or not t.shape or not all(d >= 1 for d in t.shape):
            return f"{name(t)} has shape {list(t.shape)}"
    return None


@hint(QUANTIZE)
def int8_activations(site: Site) -> str | None:
    """Inputs and outputs must be int8"""
    return next((f"{name(t)} is {t.dtype}" for t in _activations(site) if t.dtype != "INT8"), None)


@hint(QUANTIZE)
def int8_or_int16(site: Site) -> str | None:
    """Inputs and outputs must be int8, or int16 with zero point 0"""
    types = {t.dtype for t in _activations(site)}
    if types != {"INT16"}:
        return int8_activations(site)
    shifted = (t for t in _activations(site) if t.quantization and t.quantization.zero_point[0] != 0)
    return next((f"{name(t)} has zero point {quantization(t).zero_point[0]}" for t in shifted), None)


@hint(BORDER)
def int8_to_int8(site: Site) -> str | None:
    """QUANTIZE must convert int8 to int8"""
    return int8_activations(site)


@hint(QUANTIZE)
def quantized(site: Site) -> str | None:
    """Inputs and outputs must have one positive scale and a zero point in [-128, 127]"""
    return next((fault for t in _activations(site) if (fault := _scale_fault(t))), None)


def _scale_fault(tensor: Tensor) -> str | None:
    q = tensor.quantization
    if q is None:
        return f"{name(tensor)} has no scale"
    if len(q.scale) != 1:
        return f"{name(tensor)} has {len(q.scale)} scales"
    if not _is_scale(q.scale[0]) or not quant.INT8_MIN <= q.zero_point[0] <= quant.INT8_MAX:
        return f"{name(tensor)} has scale {q.scale[0]:g}, zero point {q.zero_point[0]}"
    return None


def _is_scale(value: float) -> bool:
    return math.isfinite(value) and value > 0


@hint("compute with the constant before the conversion, or leave it builtin")
def runtime_values(site: Site) -> str | None:
    """Inputs must be computed at run time, not constants"""
    return next((f"{name(t)} is a constant" for t in _activations(site) if t.constant), None)


@hint("leave it builtin")
def stateless(site: Site) -> str | None:
    """Tensors must not keep state between inferences"""
    tensors = (site.graph.tensors[t] for t in (*site.op.inputs, *site.op.outputs) if t != ABSENT)
    return next((f"{name(t)} is a variable" for t in tensors if t.variable), None)


@hint("convert with batch size 1")
def batch_one(site: Site) -> str | None:
    """The batch size must be 1"""
    for t in _activations(site):
        if natural_rows(t.shape) is None:
            return f"{name(t)} has shape {list(t.shape)}"
    return None


@hint(RECONVERT)
def rank_four(site: Site) -> str | None:
    """Input and output must have four dimensions, the first of them 1"""
    for t in _activations(site):
        if len(t.shape) != 4 or t.shape[0] != 1:
            return f"{name(t)} has shape {list(t.shape)}"
    return None


@hint(RECONVERT)
def same_shape(site: Site) -> str | None:
    """Inputs and output must have the same shape"""
    shapes = [t.shape for t in _activations(site)]
    return None if all(s == shapes[0] for s in shapes) else " and ".join(str(list(s)) for s in shapes)


@hint(QUANTIZE)
def constant_operand(site: Site) -> str | None:
    """A constant operand must be int8, with one positive scale and a zero point in [-128, 127]"""
    for t in (site.input(0), site.input(1)):
        if t.constant and (t.data is None or t.dtype != "INT8" or t.data.shape != t.shape):
            return f"{name(t)} is {t.dtype} {list(t.shape)}"
        if t.constant and (fault := _scale_fault(t)):
            return fault
    return None


@hint(RECONVERT)
def broadcast(site: Site) -> str | None:
    """Operands must have the output's shape, or 1 in some of its dimensions: at most four, the first of four is 1"""
    shapes = [site.input(0).shape, site.input(1).shape, site.output.shape]
    padded = [(1,) * (4 - len(shape)) + shape for shape in shapes if len(shape) <= 4]
    dimensions = list(zip(*padded, strict=True)) if len(padded) == len(shapes) else [(0, 0, 0)]
    fits = all(out == max(a, b) and a in (1, out) and b in (1, out) for a, b, out in dimensions)
    return None if fits and dimensions[0][2] == 1 else " and ".join(str(list(s)) for s in shapes)


@hint("use NONE, RELU, RELU6 or RELU_N1_TO_1")
def fused_activation(site: Site) -> str | None:
    """The fused activation must be NONE, RELU, RELU6 or RELU_N1_TO_1"""
    activation = site.op.options.get("fusedActivationFunction")
    if activation not in quant.ACTIVATIONS:
        return f"it is {activation}"
    scale = quantization(site.output).scale[0]
    return (
        None if quant.float32_quotient(6.0, scale) < 2**31 else f"scale {scale:g} of {name(site.output)} is too small"
    )


# ---- convolutions and FULLY_CONNECTED ----


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
        return None if all(_is_scale(s) for s in q.scale) else f"{name(w)} has a scale that is not positive"

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
    return (
        None
        if bias.dtype == ("INT64" if wide else "INT32") and bias.elements == channels
        else f"{name(bias)} is {bias.dtype} {list(bias.shape)}"
    )


@hint("leave out groups, or split the convolution")
def all_channels(site: Site) -> str | None:
    """The filter must read all input channels (no groups) and give all output channels"""
    w, c_in, c_out = site.input(1), site.input().shape[-1], site.output.shape[-1]
    return (
        None
        if (w.shape[-1], w.shape[0]) == (c_in, c_out)
        else f"filter {list(w.shape)}, {c_in} input and {c_out} output channels"
    )


@hint(RECONVERT)
def depth_multiplier(site: Site) -> str | None:
    """Output channels must be input channels times the depth multiplier"""
    w, c_in, c_out, times = (
        site.input(1),
        site.input().shape[-1],
        site.output.shape[-1],
        site.op.options["depthMultiplier"],
    )
    if w.shape[0] == 1 and w.shape[3] == c_out == c_in * times:
        return None
    return f"filter {list(w.shape)}, {c_in} input channels, depth multiplier {times}, {c_out} output channels"


@hint(SHAPE)
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
    return (
        None
        if (vertical.output, horizontal.output) == stated
        else f"{list(stated)} instead of {[vertical.output, horizontal.output]}"
    )


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


# ---- the others ----


@hint("transpose the left matrix before; give both matrices the same batch")
def plain_matrices(site: Site) -> str | None:
    """Two matrices of int8, or as many pairs of them: the left one not transposed, none of them broadcast"""
    a, b, out, options = site.input(0).shape, site.input(1).shape, site.output.shape, site.op.options
    if options["adjX"]:
        return "adj_x is set"
    if min(len(a), len(b)) < 2:
        return f"{list(a)} and {list(b)}"
    depth, units = (b[-1], b[-2]) if options["adjY"] else (b[-2], b[-1])
    fits = a[-1] == depth and out[-2:] == (a[-2], units) and math.prod(out) == math.prod(a[:-1]) * units
    return None if fits and a[:-2] == b[:-2] == out[:-2] else f"{list(a)} and {list(b)} to {list(out)}"


@hint("give both operands the output's shape, or leave it builtin")
def plain_int16(site: Site) -> str | None:
    """Operands of int16 must be computed at run time and have the output's shape"""
    if site.output.dtype != "INT16":
        return None
    return next((f"{name(t)} is a constant" for t in (site.input(0), site.input(1)) if t.constant), same_shape(site))


@hint(QUANTIZE)
def add_scales(site: Site) -> str | None:
    """The output scale of ADD and SUB must not be far below the input scales"""
    a, b, out = (quantization(t).scale[0] for t in (site.input(0), site.input(1), site.output))
    left_shift = quant.INT16_ADD_LEFT_SHIFT if site.output.dtype == "INT16" else quant.ADD_LEFT_SHIFT
    return (
        None
        if quant.add_output_factor(2 * max(a, b), out, left_shift) < 1.0
        else f"inputs {a:g} and {b:g}, output {out:g}"
    )


@hint(QUANTIZE)
def pool_keeps_scale(site: Site) -> str | None:
    """A pool's input and output must have the same scale and zero point"""
    a, b = quantization(site.input()), quantization(site.output)
    if abs(a.scale[0] - b.scale[0]) <= 1e-6 and a.zero_point == b.zero_point:
        return None
    return f"scales {a.scale[0]:g} and {b.scale[0]:g}, zero points {a.zero_point[0]} and {b.zero_point[0]}"


@hint(SHAPE)
def reduced_axes(site: Site) -> str | None:
    """It must reduce constant axes: any of height, width and channels"""
    if AXES not in site.op.options and (
        len(site.op.inputs) < 2 or site.input(1).data is None or site.input(1).dtype != "INT32"
    ):
        return "its axes are not a constant int32 tensor"
    axes, shape = site.axes(), site.input().shape
    spatial = {a for a in range(len(shape)) if a >= len(shape) - 3}
    if not axes or not axes <= spatial:
        return f"axes {sorted(axes)} of shape {list(shape)}"
    kept = math.prod(d for i, d in enumerate(shape) if i not in axes)
    return (
        None if kept == site.output.elements else f"{list(shape)} to {list(site.output.shape)} over axes {sorted(axes)}"
    )


@hint(QUANTIZE)
def same_quantization(site: Site) -> str | None:
    """Input and output must have the same scale and zero point"""
    a, b = quantization(site.input()), quantization(site.output)
    same = (a.scale[0], a.zero_point[0]) == (b.scale[0], b.zero_point[0])
    return (
        None
        if same
        else f"scales {a.scale[0]:g} and {b.scale[0]:g}, zero points {a.zero_point[0]} and {b.zero_point[0]}"
    )


@hint(RECONVERT)
def softmax_output(site: Site) -> str | None:
    """The output of SOFTMAX must have scale 1/256 and zero point -128"""
    q = quantization(site.output)
    return (
        None
        if q.scale[0] == 1 / 256 and q.zero_point[0] == -128
        else f"scale {q.scale[0]:g}, zero point {q.zero_point[0]}"
    )


@hint(RECONVERT)
def logistic_output(site: Site) -> str | None:
    """The output of LOGISTIC must have zero point -128"""
    zero_point = quantization(site.output).zero_point[0]
    return None if zero_point == quant.INT8_MIN else f"zero point {zero_point}"


@hint("leave it builtin, or compute it from other operators in the model")
def tabulated(site: Site) -> str | None:
    """Scales must be within TFLM's fixed point, and no byte up to the last bits of a C library's exponential"""
    try:
        lookup.table(site.op, quantization(site.input()), quantization(site.output))
    except lookup.OutOfRange as why:
        return str(why)
    return None


@hint(SHAPE)
def softmax_input(site: Site) -> str | None:
    """SOFTMAX must have at most 4095 classes and an input scale that is not tiny"""
    classes, scale, beta = site.input().shape[-1], quantization(site.input()).scale[0], float(site.op.options["beta"])
    if classes <= MAX_SOFTMAX_CHANNELS and beta > 0 and quant.softmax_factor(beta, scale) > 1.0:
        return None
    return f"{classes} classes, scale {scale:g}, beta {beta:g}"


@hint("use int32 indices")
def indices(site: Site) -> str | None:
    """The indices of GATHER must be int32"""
    positions = site.input(1)
    return None if positions.dtype == "INT32" else f"{name(positions)} is {positions.dtype}"


@hint("gather along the first axis of a constant, quantized matrix")
def table(site: Site) -> str | None:
    """GATHER must take rows of a constant int8 matrix"""
    source, axis, batch = site.input(), site.op.options["axis"], site.op.options.get("batchDims", 0)
    if source.data is None or source.dtype != "INT8" or len(source.shape) != 2 or not source.elements:
        return f"{name(source)} is {source.dtype} {list(source.shape)}, {'constant' if source.constant else 'computed'}"
    return None if axis in (0, -2) and not batch else f"axis {axis}, {batch} batch dimensions"


@hint("convert with batch size 1")
def gathered(site: Site) -> str | None:
    """The output of GATHER must be int8, a row of the table for each index, and have batch size 1"""
    positions, out, (_, channels) = site.input(1), site.output, site.input().shape
    rows = natural_rows(out.shape)
    if out.dtype == "INT8" and out.shape == (*positions.shape, channels) and rows and rows.c == channels:
        return None
    return f"{list(positions.shape)} indices, rows of {channels}, output {out.dtype} {list(out.shape)}"


# ---- operators that move data ----

MAX_MOVED = 1 << 24
"""Bytes: how they move is found with an array of their numbers, for each part of a SPLIT."""
MAX_OPERANDS = 4
"""TMO_MAX_INPUTS."""


def constant_operands(*which: int) -> Constraint:
    def constant_operands(site: Site) -> str | None:
        """Operands that say what to do must be constants"""
        for k in which:
            t = site.tensor(k)
            if t is not None and (t.data is None or t.data.dtype.kind != "i"):
                return f"{name(t)} is {'computed at run time' if t.data is None else t.dtype}"
        return None

    return hint(FREEZE)(constant_operands)


@hint(SHAPE)
def movable(site: Site) -> str | None:
    """At most 16,777,216 bytes may be moved"""
    most = max(t.elements for t in _activations(site))
    return None if most <= MAX_MOVED else f"{most:,} bytes"


@hint(SHAPE)
def regular_moves(site: Site) -> str | None:
    """Every row of the output must be made in the same way, of at most 64 rows and 256 runs of bytes"""
    return None  # known when it is parsed: moves.Irregular


@hint(RECONVERT)
def one_piece(site: Site) -> str | None:
    """It must be split along a constant axis, into parts of constant sizes"""
    return None if PIECE in site.op.options else "operands or shapes do not say so"


@hint(RECONVERT)
def plain_slice(site: Site) -> str | None:
    """It must have no ellipsis, no new axis and no offset"""
    used = [n for n in ("ellipsisMask", "newAxisMask", "offset") if site.op.options.get(n)]
    return f"it has {', '.join(used)}" if used else None


@hint(RECONVERT)
def block_divides(site: Site) -> str | None:
    """The block size must divide the dimensions, and the output have the shape that follows"""
    b = int(site.op.options["blockSize"])
    deep, wide = (s.shape for s in (site.input(), site.output)[:: 1 if site.op.type == "DEPTH_TO_SPACE" else -1])
    fits = b > 0 and wide == (deep[0], deep[1] * b, deep[2] * b, deep[3] // (b * b)) and deep[3] % (b * b) == 0
    return None if fits else f"block size {b}, {list(site.input().shape)} to {list(site.output.shape)}"


@hint(RECONVERT)
def resized_channels(site: Site) -> str | None:
    """A resized image must keep its channels, in four dimensions; align_corners excludes half_pixel_centers"""
    a, b, options = site.input().shape, site.output.shape, site.op.options
    if len(a) != 4 or len(b) != 4 or a[0] != b[0] or a[3] != b[3]:
        return f"{list(a)} to {list(b)}"
    return "both are set" if options["alignCorners"] and options["halfPixelCenters"] else None


@hint(SHAPE)
def resized_inside(site: Site) -> str | None:
    """A resized image must lie inside its source, and shrink 63-fold at most"""
    half = bool(site.op.options["halfPixelCenters"])
    for size, output, scale in zip(site.input().shape[1:3], site.output.shape[1:3], site.resize_scales(), strict=True):
        last = (output - 1) * scale + (scale // 2 - ONE_PIXEL // 2 if half else 0)
        if scale > MAX_DIMENSION or last >= size * ONE_PIXEL:
            return f"{size} to {output} pixels"
    return None


def executable(op: RowOp) -> str | None:
    """Its numbers must be within the executor's limits (custom_ops/src/tmo_check.c)"""
    w, reads = op.window, op.reads[0]
    for rows in (*op.reads, op.writes):
        if max(rows.h, rows.w) > MAX_DIMENSION:
            return f"{rows.h} rows of {rows.w} pixels, at most {MAX_DIMENSION}"
    shift = 0 if op.shifts is None else int(op.shifts.max(initial=0))
    most = MAX_S16_SHIFT if op.kind in WIDE.values() else MAX_SHIFT
    if shift > most:
        return f"a rescaling by 2^{shift}, at most 2^{most}"
    if op.kind in BINARY:
        return None
    if op.access:
        if max(a.mul for a in op.access) * op.writes.h >= MAX_EXTENT:
            return f"{op.writes.h} rows, too many for its scale"
        at_once = op.rows_at_once
        return None if at_once <= MAX_KERNEL_H else f"it reads {at_once} rows at once, at most {MAX_KERNEL_H}"
    if w.kernel_h > MAX_KERNEL_H and not op.reducible:
        return f"a window of {w.kernel_h} rows, at most {MAX_KERNEL_H}"
    if w.kernel_h * w.kernel_w > MAX_WINDOW:
        return f"a window of {w.kernel_h}x{w.kernel_w}, at most {MAX_WINDOW} pixels"
    heights = (w.kernel_h, w.stride_h, w.dilation_h, w.pad_top, reads.h, op.writes.h)
    widths = (w.kernel_w, w.stride_w, w.dilation_w, w.pad_left, reads.w, op.writes.w)
    return None if _reaches(*heights) and _reaches(*widths) else "a window lies wholly in the padding"


def _reaches(kernel: int, stride: int, dilation: int, before: int, size: int, output: int) -> bool:
    """The first window and the last one reach into the input."""
    extent = (kernel - 1) * dilation + 1
    return extent < MAX_EXTENT and before < extent and (output - 1) * stride < size + before
