"""Computes the tables of 256 bytes by which LOOKUP maps each input byte to the output byte of TFLM's operator.

Entry x + 128 of a table is the output for input x. The pinned wheel of TFLM converts scales to double before it divides
or multiplies them. TFLM's source of August 2026 (90b983c2b) divides or multiplies some scales in float32.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import MAX_SHIFT
from tflm_memopt.model.graph import Op, Quantization, Tensor
from tflm_memopt.ops import quant, transcendental
from tflm_memopt.ops.fixed import Ints, round_shift
from tflm_memopt.ops.fixed import rescale as fixed_rescale

Table = NDArray[np.int8]

EVERY = np.arange(quant.INT8_MIN, quant.INT8_MAX + 1, dtype=np.int64)
MAX_ROUNDED = 2.0**30
"""If a float is below MAX_ROUNDED, TFLM converts the float to int32 and adds a zero point without overflow."""
INTEGER_BITS = 4
"""Number of integer bits of the inputs of LOGISTIC and TANH in TFLM's fixed point."""
ROOT_SHIFT = 20
"""Number of fractional bits of the inverse roots of RSQRT in TFLM's fixed point."""


class OutOfRange(ValueError):
    """Raised if a number exceeds the range of TFLM's arithmetic, or if a result depends on the C library."""


def table(op: Op, source: Quantization, target: Quantization) -> Table:
    """Return the table that replaces an operator. Input and output must have one scale each. Raises OutOfRange."""
    return TABLES[op.type](op, source, target)


def requantized(source: Tensor, target: Tensor) -> Table:
    """Return the table of QUANTIZE between int8 and uint8 (internal/reference/requantize.h). Raises OutOfRange."""
    before, after = source.quantization, target.quantization
    if before is None or after is None:
        raise OutOfRange("no scale")
    x = (EVERY & 0xFF if source.dtype == "UINT8" else EVERY) - before.zero_point[0]
    y = _rescaled(x, quant.rescale(before.scale[0], after.scale[0])) + after.zero_point[0]
    if target.dtype != "UINT8":
        return _bytes(y)
    return np.clip(y, 0, 255).astype(np.uint8).view(np.int8)


def compared(name: str, x: Quantization, constant: Quantization, value: int, *, first: bool) -> Table:
    """Return the table of a comparison of int8 with a constant (ComparisonWithScaling, reference/comparisons.h). The
    argument `first` is true if the constant is the first operand.
    """
    scaled = [
        _rescaled((values - q.zero_point[0]) << COMPARED_SHIFT, quant.quantize_multiplier(q.scale[0]))
        for values, q in ((EVERY, x), (np.array([value], np.int64), constant))
    ]
    left, right = reversed(scaled) if first else scaled
    return COMPARISONS[name](left, right).astype(np.int8)


COMPARISONS: Mapping[str, Callable[[Ints, Ints], NDArray[np.bool_]]] = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
}
COMPARED_SHIFT = 8
NEGATED: Table = (EVERY == 0).astype(np.int8)


def _relu6(op: Op, source: Quantization, target: Quantization) -> Table:
    """Return the table of RELU6 (Relu6Quantized), which limits outputs by the input's scale and ignores the output's
    scale.
    """
    scale = source.scale[0]
    if not quant.bounds_fit("RELU6", scale):
        raise OutOfRange(f"input scale {scale:g}")
    bounds = quant.activation_range("RELU6", scale, source.zero_point[0])
    return _bytes(np.minimum(np.maximum(EVERY, bounds[0]), bounds[1]))


def _relu(op: Op, source: Quantization, target: Quantization) -> Table:
    """Return the table of RELU (ReluQuantized, micro/kernels/activations.h), which rescales negative inputs, too."""
    scaled = _rescaled(_centred(source), quant.rescale(source.scale[0], target.scale[0]))
    return _output(np.maximum(scaled, 0), target)


def _leaky_relu(op: Op, source: Quantization, target: Quantization) -> Table:
    """Return the table of LEAKY_RELU (QuantizeLeakyRelu, kernels/internal/reference/leaky_relu.h)."""
    scale_in, scale_out, alpha = source.scale[0], target.scale[0], float(op.options.get("alpha", 0))
    if not math.isfinite(alpha):
        raise OutOfRange(f"alpha {alpha:g}")
    x = _centred(source)
    negative = _rescaled(x, quant.quantize_multiplier(scale_in * alpha / scale_out))
    return _output(np.where(x >= 0, _rescaled(x, quant.rescale(scale_in, scale_out)), negative), target)


def _abs(op: Op, source: Quantization, target: Quantization) -> Table:
    """Return the table of ABS (micro/kernels/elementwise.cc)."""
    return _output(_rescaled(np.abs(_centred(source)), quant.rescale(source.scale[0], target.scale[0])), target)


def _rsqrt(op: Op, source: Quantization, target: Quantization) -> Table:
    """Return the table of RSQRT (RsqrtEvalQuantized, micro/kernels/elementwise.cc)."""
    if source.zero_point[0] != quant.INT8_MIN:
        raise OutOfRange("TFLM's kernel fails for inputs below the zero point")
    x = _centred(source)
    root, shift = transcendental.inverse_root(np.maximum(x, 1))
    y = fixed_rescale(np.ones_like(x), root, ROOT_SHIFT - shift)
    factor = quant.quantize_multiplier(1 / (math.sqrt(source.scale[0]) * target.scale[0]))
    if factor.shift - ROOT_SHIFT < -31:
        raise OutOfRange(f"scales {source.scale[0]:g} and {target.scale[0]:g}, for which TFLM shifts by over 31 bits")
    scaled = _rescaled(y, factor._replace(shift=factor.shift - ROOT_SHIFT))
    return np.where(x == 0, np.int8(quant.INT8_MAX), _output(scaled, target))


def _saturating(
    function: Callable[[Ints, int], Ints], shift: int, offset: int, op: Op, source: Quantization, target: Quantization
) -> Table:
    """Return the table of a function whose result in Q0 is shifted right by `shift` bits. As in TFLM, the output's
    scale is ignored. Inputs beyond four integer bits give -128 or 127 (CalculateInputRadius).
    """
    fraction, left = math.frexp(source.scale[0] * (1 << (31 - INTEGER_BITS)))
    if not 0 <= left <= 62:  # TFLM converts the input radius to int32, which overflows for a negative `left`.
        raise OutOfRange(f"input scale {source.scale[0]:g}")
    radius = math.floor(((1 << INTEGER_BITS) - 1) * (1 << (31 - INTEGER_BITS)) / 2.0**left)
    x = _centred(source)
    inside = np.abs(x) < radius
    multiplier = quant.Multiplier(quant.round_away(fraction * (1 << 31)), min(left, MAX_SHIFT))
    y = round_shift(function(_rescaled(np.where(inside, x, 0), multiplier), INTEGER_BITS), shift) + offset
    return _bytes(np.where(inside, y, np.where(x <= -radius, quant.INT8_MIN, quant.INT8_MAX)))


def _hard_swish(op: Op, source: Quantization, target: Quantization) -> Table:
    """Return the table of HARD_SWISH in int16 arithmetic (HardSwish, kernels/internal/reference/hard_swish.h)."""
    to_output, to_unit = (quant.rescale(source.scale[0] / 128, scale) for scale in (target.scale[0], 3 / 32768))
    if to_output.shift > 0 or to_unit.shift > MAX_SHIFT:
        raise OutOfRange(f"scales {source.scale[0]:g} and {target.scale[0]:g}")
    x = _centred(source) << 7
    swish, gate = _high_mul16(x, to_output), x
    if to_unit.shift > 0:
        gate = _int16(gate << (to_unit.shift - 1))
    gate = _high_mul16(gate, to_unit)
    gate = _int16(gate << 1) if to_unit.shift > 0 else _round_shift16(gate, -to_unit.shift)
    gate = (gate + (1 << 15)) >> 1
    product = np.sign(swish) * (np.abs(swish * gate) >> 15)  # The shift rounds towards 0, since `gate` is not negative.
    return _output(_round_shift16(product, -to_output.shift), target)


def _high_mul16(x: Ints, multiplier: quant.Multiplier) -> Ints:
    """Return the result of TFLM's SaturatingRoundingDoublingHighMul for int16 values and a 16-bit multiplier."""
    return (x * min((multiplier.value + (1 << 15)) >> 16, 0x7FFF) + (1 << 14)) >> 15


def _int16(x: Ints) -> Ints:
    return np.clip(x, -0x8000, 0x7FFF)


def _round_shift16(x: Ints, exponent: int) -> Ints:
    """Return the result of TFLM's RoundingDivideByPOT for int16 values. If the exponent is 16 or more, the result is -1
    for a negative x, and 1 for any other x.
    """
    return round_shift(x, exponent) if exponent < 16 else np.where(x < 0, -1, 1)


@np.errstate(over="ignore", invalid="ignore")
def _elu(op: Op, source: Quantization, target: Quantization) -> Table:
    """Return the table of ELU in float32 (PopulateLookupTable, micro/kernels/elu.cc).

    Raises OutOfRange if an output depends on the last bits of exp(x), which the C library computes.
    """
    scale, inverse = np.float32(source.scale[0]), np.float32(1) / np.float32(target.scale[0])
    x = scale * _centred(source).astype(np.float32)
    power = np.exp(np.minimum(x, 0).astype(np.float64)).astype(np.float32)
    tables = []
    for exponential in (power, np.nextafter(power, np.float32(0)), np.nextafter(power, np.float32(2))):
        y = np.where(x < 0, exponential - np.float32(1), x) * inverse
        if not (np.abs(y) < MAX_ROUNDED).all():
            raise OutOfRange(f"scales {source.scale[0]:g} and {target.scale[0]:g}")
        rounded = np.trunc(y + np.copysign(np.float64(0.5), y))
        tables.append(_output(rounded.astype(np.int64), target))
    if not all(np.array_equal(t, tables[0]) for t in tables):
        raise OutOfRange("a value of its exponential lies between two bytes")
    return tables[0]


TABLES: Mapping[str, Callable[[Op, Quantization, Quantization], Table]] = {
    "RELU": _relu,
    "RELU6": _relu6,
    "LEAKY_RELU": _leaky_relu,
    "ABS": _abs,
    "LOGISTIC": partial(_saturating, transcendental.logistic, 23, quant.INT8_MIN),  # reference/integer_ops/logistic.h
    "TANH": partial(_saturating, transcendental.tanh, 24, 0),  # reference/integer_ops/tanh.h
    "HARD_SWISH": _hard_swish,
    "ELU": _elu,
    "RSQRT": _rsqrt,
}


def _centred(q: Quantization) -> Ints:
    return EVERY - q.zero_point[0]


def _rescaled(x: Ints, multiplier: quant.Multiplier) -> Ints:
    """Return the product of each input and a multiplier. As in TFLM's MultiplyByQuantizedMultiplier, the result of a
    left shift wraps around like an int32.
    """
    if multiplier.shift > MAX_SHIFT:
        raise OutOfRange(f"a rescaling by 2^{multiplier.shift}, at most 2^{MAX_SHIFT}")
    left = max(multiplier.shift, 0)
    return fixed_rescale((x << left).astype(np.int32).astype(np.int64), multiplier.value, multiplier.shift - left)


def _output(x: Ints, target: Quantization) -> Table:
    return _bytes(x + target.zero_point[0])


def _bytes(x: Ints) -> Table:
    return np.clip(x, quant.INT8_MIN, quant.INT8_MAX).astype(np.int8)
