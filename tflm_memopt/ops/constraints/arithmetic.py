"""Constraints on operators without windows: element-wise operators, sums, matrix products and tables."""

import math

from tflm_memopt.format.limits import MAX_PLACES, MAX_SOFTMAX_CHANNELS
from tflm_memopt.model.graph import Tensor
from tflm_memopt.ops import lookup, quant
from tflm_memopt.ops.constraints.base import QUANTIZE, hint, name, quantization, scale_fault
from tflm_memopt.ops.context import AXES, OperatorContext

SOFTMAX_TOLERANCE = 0.00099
"""TFLM accepts a relative error of at most SOFTMAX_TOLERANCE in an int16 SOFTMAX's output scale (softmax_common.cc)."""
BORDER = 1e-5
"""If a scale's logarithm is less than BORDER away from a limit, TFLM's result depends on rounding in the C library."""
MAX_CURVE_FACTOR, MAX_CURVE_SHIFT = 32767, 30
"""Up to the factor MAX_CURVE_FACTOR and the right shift MAX_CURVE_SHIFT, the product in an int16 LOGISTIC or TANH fits
an int32.
"""
SELECTED = ("INT8", "INT16", "INT32", "FLOAT32")
MAX_INT16_FACTOR = 1 << 15
"""The product of an int16 and a factor below MAX_INT16_FACTOR fits an int32."""


@hint(QUANTIZE)
def constant_operand(context: OperatorContext) -> str | None:
    """A constant operand must have the other operand's type, one positive scale and a zero point in [-128, 127]"""
    for t in (context.input(0), context.input(1)):
        alike = t.dtype == next(one.dtype for one in context.activations)
        if t.constant and (t.data is None or not alike or t.data.shape != t.shape):
            return f"{name(t)} is {t.dtype} {list(t.shape)}"
        if t.constant and t.dtype in ("INT8", "INT16") and (fault := scale_fault(t)):
            return fault
    return None


@hint("expand the smaller operand before the conversion, to at most four dimensions with batch size 1")
def broadcast(context: OperatorContext) -> str | None:
    """Broadcast operands must have at most four dimensions, with batch size 1"""
    shapes = [*(context.input(k).shape for k in range(len(context.op.inputs))), context.output.shape]
    fits = all(len(shape) < 4 or (len(shape) == 4 and shape[0] == 1) for shape in shapes)
    return None if fits else " and ".join(str(list(s)) for s in shapes)


def select_types(context: OperatorContext) -> str | None:
    """SELECT_V2 must choose between int8, int16, int32 or float32 values by a bool, and the condition and a choice must
    not both be constants
    """
    types = [context.input(k).dtype for k in range(3)]
    if types[0] != "BOOL" or {*types[1:], context.output.dtype} != {types[1]} or types[1] not in SELECTED:
        return f"{context.output.dtype} of {', '.join(types)}"
    fixed = [k for k in range(3) if context.input(k).constant]
    if any(context.input(k).data is None for k in fixed) or fixed in ([0, 1], [0, 2], [0, 1, 2]):
        return "its condition and a choice are constants"
    return None


@hint(QUANTIZE)
def add_scales(context: OperatorContext) -> str | None:
    """The output scale of ADD and SUB must not be far below the input scales"""
    a, b, out = (quantization(t).scale[0] for t in (context.input(0), context.input(1), context.output))
    left_shift = quant.INT16_ADD_LEFT_SHIFT if context.output.dtype == "INT16" else quant.ADD_LEFT_SHIFT
    if quant.add_output_factor(2 * max(a, b), out, left_shift) < 1.0:
        return None
    return f"inputs {a:g} and {b:g}, output {out:g}"


@hint("reduce height, width or channels, by axes that are written in the model: axis=(1, 2)")
def reduced_axes(context: OperatorContext) -> str | None:
    """A reduction must be along constant axes: any of height, width and channels, or adjacent dimensions"""
    given = context.tensor(1)
    if AXES not in context.op.options and (given is None or given.data is None or given.dtype != "INT32"):
        return "its axes are not a constant int32 tensor"
    fits = context.axes() and (context.is_image() or context.run())
    return None if fits else f"axes {sorted(context.axes())} of shape {list(context.input().shape)}"


@hint("transpose the left matrix before this operator, and give both matrices the same batch")
def plain_matrices(context: OperatorContext) -> str | None:
    """BATCH_MATMUL must read two matrices with the same batches, and its left matrix must not be transposed"""
    if context.op.options["adjX"]:
        return "adj_x is set"
    a, b = context.input(0).shape, context.input(1).shape
    return None if a[:-2] == b[:-2] else f"{list(a)} and {list(b)}"


@hint(QUANTIZE)
def slopes(context: OperatorContext) -> str | None:
    """LEAKY_RELU, RELU and ABS of int16 must multiply by less than 2^15, and LEAKY_RELU by at least 0"""
    scale, out = quantization(context.input()).scale[0], quantization(context.output).scale[0]
    alpha = float(context.op.options.get("alpha", 0))
    fits = 0 <= alpha < math.inf and max(scale, scale * alpha) < MAX_INT16_FACTOR * out
    return None if fits or context.output.dtype != "INT16" else f"alpha {alpha:g}, scales {scale:g} and {out:g}"


@hint("remove SOFTMAX if only the largest class matters, or use fewer classes")
def softmax_classes(context: OperatorContext) -> str | None:
    """SOFTMAX and LOG_SOFTMAX must have at most 4095 classes"""
    classes = context.input().shape[-1]
    return None if classes <= MAX_SOFTMAX_CHANNELS else f"{classes} classes"


@hint("remove SOFTMAX if only the largest class matters, or quantize again with more varied examples")
def softmax_scale(context: OperatorContext) -> str | None:
    """The input scale of SOFTMAX must not be tiny or, for int16, huge"""
    scale, beta = quantization(context.input()).scale[0], float(context.op.options["beta"])
    if context.output.dtype == "INT16":
        fits = 0 < quant.softmax_int16_factor(beta, scale) < MAX_INT16_FACTOR
    else:
        fits = beta > 0 and quant.softmax_factor(beta, scale) > 1.0
    return None if fits else f"scale {scale:g}, beta {beta:g}"


def softmax_output(context: OperatorContext) -> str | None:
    """The output of SOFTMAX must have scale 1/256 and zero point -128, or for int16 scale 1/32768"""
    q = quantization(context.output)
    if context.output.dtype == "INT16" and abs(q.scale[0] * 32768 - 1) < SOFTMAX_TOLERANCE:
        return None
    if q.scale[0] == 1 / 256 and q.zero_point[0] == -128:
        return None
    return f"scale {q.scale[0]:g}, zero point {q.zero_point[0]}"


def log_softmax_output(context: OperatorContext) -> str | None:
    """The output of LOG_SOFTMAX must have scale 1/16 and zero point 127"""
    q = quantization(context.output)
    if q.scale[0] == 1 / 16 and q.zero_point[0] == 127:
        return None
    return f"scale {q.scale[0]:g}, zero point {q.zero_point[0]}"


@hint("remove LOG_SOFTMAX if only the largest class matters, or quantize again with more varied examples")
def log_softmax_scale(context: OperatorContext) -> str | None:
    """The input scale of LOG_SOFTMAX must not be tiny"""
    scale = quantization(context.input()).scale[0]
    fits = quant.softmax_factor(1.0, scale) > 1.0 > quant.log_softmax_inverse(scale)
    return None if fits else f"scale {scale:g}"


@hint("divide by a constant")
def constant_divisor(context: OperatorContext) -> str | None:
    """FLOOR_DIV must divide by constants other than 0, since TFLM's kernel fails for 0"""
    divisor = context.input(1)
    if divisor.data is None:
        return f"{name(divisor)} is computed"
    return None if divisor.data.all() else f"{name(divisor)} contains 0"


@hint("use tf.argmax(x, output_type=tf.int32)")
def int32_places(context: OperatorContext) -> str | None:
    """ARG_MAX and ARG_MIN must return int32 indices of int8 or float32 values"""
    source, found = context.input(), context.output
    fits = source.dtype in ("INT8", "FLOAT32") and found.dtype == "INT32"
    return None if fits else f"{found.dtype} of {source.dtype}"


@hint("use a constant axis, as in tf.argmax(x, axis=-1)")
def one_axis(context: OperatorContext) -> str | None:
    """The axis of ARG_MAX and ARG_MIN must be one int32 constant, and its dimension must have at most 2^23 values"""
    axis, shape = context.tensor(1), context.input().shape
    if axis is None or axis.data is None or axis.dtype != "INT32" or axis.elements != 1:
        return "its axis is known only at run time"
    size = shape[int(axis.data.flatten()[0])]
    return None if size <= MAX_PLACES else f"{size} values"


@hint("compare float32, int32 or int8 tensors")
def compared_types(context: OperatorContext) -> str | None:
    """A comparison must be of two float32, int32 or int8 tensors, and int8 scales must be below 1"""
    types = {context.input(k).dtype for k in range(2)}
    if context.output.dtype != "BOOL" or len(types) > 1 or not types <= {"FLOAT32", "INT32", "INT8"}:
        return f"{context.output.dtype} of {' and '.join(sorted(types))}"
    if types != {"INT8"}:
        return None
    return next((fault for k in range(2) if (fault := _small_scale(context.input(k)))), None)


def _small_scale(tensor: Tensor) -> str | None:
    fault = scale_fault(tensor)
    if fault or quantization(tensor).scale[0] < 1:
        return fault
    return f"{name(tensor)} has scale {quantization(tensor).scale[0]:g}"


def logistic_output(context: OperatorContext) -> str | None:
    """The output of LOGISTIC must have zero point -128, or be int16"""
    zero_point = quantization(context.output).zero_point[0]
    wide = context.output.dtype == "INT16"
    return None if wide or zero_point == quant.INT8_MIN else f"zero point {zero_point}"


def curve_scales(context: OperatorContext) -> str | None:
    """LOGISTIC and TANH of int16 must have an output scale of 2^-15 and an input scale from 1e-9 to 2.6"""
    if context.output.dtype != "INT16":
        return None
    scale, out = quantization(context.input()).scale[0], quantization(context.output).scale[0]
    power, distance = quant.log2(out)
    near = abs(quant.log2(scale)[1] - quant.POWER_TOLERANCE) < BORDER
    multiplier = quant.curve(scale, ())
    fits = multiplier.value <= MAX_CURVE_FACTOR and multiplier.shift >= -MAX_CURVE_SHIFT
    if power == -15 and distance < quant.POWER_TOLERANCE - BORDER and fits and not near:
        return None
    return f"input scale {scale:g}, output scale {out:g}"


@hint("replace it by other operators in the model")
def tabulated(context: OperatorContext) -> str | None:
    """Scales must be within the range of TFLM's fixed point, and no output may depend on the last bits of a C library's
    functions
    """
    if context.output.dtype == "INT16":
        return None
    try:
        lookup.table(context.op, quantization(context.input()), quantization(context.output))
    except lookup.OutOfRange as why:
        return str(why)
    return None
