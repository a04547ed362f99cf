"""Computes the integer multipliers and limits of TFLM's kernels, bit by bit. The scales are float32, and the last bit
of a multiplier depends on whether TFLM computes a product or quotient in float32 or in double. Each docstring names the
function of TFLM, which is in tensorflow/lite/kernels/internal/quantization_util.cc if no file is named.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tflm_memopt.format.codes import FloatFunction, FloatRange

INT8_MIN, INT8_MAX = -128, 127
ADD_LEFT_SHIFT, INT16_ADD_LEFT_SHIFT = 20, 15
SQUARED_DIFFERENCE_LEFT_SHIFT = 7
SOFTMAX_INTEGER_BITS = 5
"""TFLM's constant kScaledDiffIntegerBits (micro/kernels/softmax_common.cc)."""

BOUNDS: Mapping[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
"""Lowest and highest real number that an activation returns, where None stands for no bound."""

POWER_TOLERANCE = 1e-3
"""TFLM treats a scale as a power of two if its binary logarithm differs from an integer by at most POWER_TOLERANCE."""


class Multiplier(NamedTuple):
    """A multiplier is `value` times 2^(`shift` - 31). The field `value` is 0 or in [2^30, 2^31), except for MEAN."""

    value: int
    shift: int


def scaling(multipliers: Sequence[Multiplier]) -> dict[str, Any]:
    """Return the fields `multipliers` and `shifts` of a RowOp, or no fields without multipliers."""
    value, shift = ([m.value for m in multipliers], [min(m.shift, 127) for m in multipliers])
    return {"multipliers": np.array(value, np.int32), "shifts": np.array(shift, np.int8)} if multipliers else {}


def quantize_multiplier(real: float) -> Multiplier:
    """Return the Q31 multiplier that is nearest to a factor >= 0 (QuantizeMultiplier). Factors below about 2^-31 give
    0.

    >>> quantize_multiplier(0.5), quantize_multiplier(1.0)
    (Multiplier(value=1073741824, shift=0), Multiplier(value=1073741824, shift=1))
    """
    fraction, shift = math.frexp(real)
    value = round_away(fraction * (1 << 31))
    if value == 1 << 31:
        value, shift = value // 2, shift + 1
    return Multiplier(0, 0) if shift < -31 else Multiplier(value, shift)


def round_away(x: float) -> int:
    """Round to the nearest integer, and halves away from zero, like std::round.

    >>> round_away(2.5), round_away(-2.5)
    (3, -3)
    """
    return math.floor(x + 0.5) if x >= 0 else -math.floor(-x + 0.5)


def float32_quotient(a: float, b: float) -> float:
    """Return a / b computed in float32, or infinity on overflow."""
    with np.errstate(over="ignore"):
        return float(np.float32(a) / np.float32(b))


def weighted(scale_in: float, scales_filter: Iterable[float], scale_out: float) -> tuple[Multiplier, ...]:
    """Return the multipliers of CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED, one per filter scale, computed in
    double (GetQuantizedConvolutionMultipler, kernels/kernel_util.cc).

    For FULLY_CONNECTED with one scale, TFLM of August 2026 (90b983c2b) multiplies in float32, and the pinned version in
    double.
    """
    return tuple(quantize_multiplier(scale_in * scale / scale_out) for scale in scales_filter)


def add(
    scale_a: float, scale_b: float, scale_out: float, left_shift: int = ADD_LEFT_SHIFT
) -> tuple[Multiplier, Multiplier, Multiplier]:
    """Return ADD's and SUB's multipliers of both inputs and the output (micro/kernels/add_common.cc, sub_common.cc)."""
    twice = 2 * max(scale_a, scale_b)
    return (
        quantize_multiplier(scale_a / twice),
        quantize_multiplier(scale_b / twice),
        quantize_multiplier(add_output_factor(twice, scale_out, left_shift)),
    )


def squared_difference(scale_a: float, scale_b: float, scale_out: float) -> tuple[Multiplier, Multiplier, Multiplier]:
    """Return the multipliers of both inputs and the output of SQUARED_DIFFERENCE (PrepareQuantized,
    micro/kernels/squared_difference.cc).
    """
    twice = 2 * max(scale_a, scale_b)
    factor = twice * twice / ((1 << 2 * SQUARED_DIFFERENCE_LEFT_SHIFT) * scale_out)
    return (*add(scale_a, scale_b, scale_out)[:2], quantize_multiplier(factor))


def add_output_factor(twice_max_scale: float, scale_out: float, left_shift: int = ADD_LEFT_SHIFT) -> float:
    """Return the real output multiplier of ADD and SUB, which TFLM requires to be below 1."""
    return twice_max_scale / ((1 << left_shift) * scale_out)


def mean(scale_in: float, scale_out: float, count: int) -> Multiplier:
    """Return the multiplier of MEAN, which includes the division by `count` values (QuantizedMeanOrSum, reduce.h)."""
    value, shift = quantize_multiplier(scale_in / scale_out)
    bits = min(count.bit_length() - 1, 32, 31 + shift)
    return Multiplier((value << bits) // count, shift - bits)


def rescale(scale_in: float, scale_out: float) -> Multiplier:
    """Return the multiplier of QUANTIZE int8 -> int8 (micro/kernels/quantize_common.cc) and RELU
    (activations_common.cc), computed in double.

    For RELU, TFLM of August 2026 (90b983c2b) divides in float32, and the pinned wheel in double.
    """
    return quantize_multiplier(scale_in / scale_out)


def softmax_factor(beta: float, scale_in: float) -> float:
    """Return SOFTMAX's multiplier after clamping (PreprocessSoftmaxScaling), which TFLM requires to be above 1."""
    return min(beta * scale_in * (1 << (31 - SOFTMAX_INTEGER_BITS)), (1 << 31) - 1.0)


def softmax(beta: float, scale_in: float) -> tuple[Multiplier, int]:
    """Return SOFTMAX's input multiplier and the limit diff_min (CalculateInputRadius). If an input minus the largest
    input is below diff_min, the exponential is 0.
    """
    multiplier = quantize_multiplier(softmax_factor(beta, scale_in))
    radius = ((1 << SOFTMAX_INTEGER_BITS) - 1) * (1 << (31 - SOFTMAX_INTEGER_BITS)) / (1 << multiplier.shift)
    return multiplier, -math.floor(radius)


def softmax_int16_factor(beta: float, scale_in: float) -> float:
    """Return the real multiplier of SOFTMAX of int16 (CalculateSoftmaxParams, micro/kernels/softmax_common.cc)."""
    return scale_in * beta / (10.0 / 65535.0)


def log2(scale: float) -> tuple[int, float]:
    """Return the integer nearest to a scale's binary logarithm, and their distance (CheckedLog2 in float32)."""
    log = np.float32(np.log(np.float32(scale))) * (np.float32(1) / np.float32(np.log(np.float32(2))))
    nearest = round_away(float(log))
    return nearest, abs(float(log) - nearest)


def curve(scale_in: float, exact: Iterable[int]) -> Multiplier:
    """Return the factor and right shift that convert an int16 input of LOGISTIC and TANH to units of 1 / 12288
    (micro/kernels/logistic_common.cc and tanh.cc). TFLM does not round the factor for a scale of 2^(n - 12), if
    `exact` contains n.
    """
    power, distance = log2(scale_in)
    if distance < POWER_TOLERANCE and power + 12 in exact:
        return Multiplier(3 << power + 12, 0)
    factor, right = scale_in * 4096.0 * 3.0, 0
    while factor <= 32767.0 / 2.0 and right <= 30:
        factor, right = 2 * factor, right + 1
    return Multiplier(int(factor), -right)


def log_softmax(scale_in: float) -> tuple[Multiplier, Multiplier, int]:
    """Return LOG_SOFTMAX's input multiplier, the inverse multiplier, and diff_min (PreprocessLogSoftmaxScalingExp)."""
    multiplier, diff_min = softmax(1.0, scale_in)
    return multiplier, quantize_multiplier(log_softmax_inverse(scale_in)), diff_min


def log_softmax_inverse(scale_in: float) -> float:
    """Return LOG_SOFTMAX's inverse multiplier, which must be below 1 in TFLM."""
    multiplier, _ = softmax(1.0, scale_in)
    return 2.0 ** (31 - multiplier.shift) / multiplier.value


def quantized(real: float, scale: float, zero_point: int) -> int:
    """Return the quantized value of `real`, rounded half away from zero after a float32 division, and not clamped."""
    return zero_point + round_away(float32_quotient(real, scale))


def bounds_fit(activation: str, scale: float) -> bool:
    """Return whether an activation's bounds in units of the scale fit an int32, as TFLM's Quantize() requires. NONE and
    RELU have no bound except 0, which fits for every scale.

    >>> bounds_fit("RELU6", 1e-12), bounds_fit("RELU", 1e-12)
    (False, True)
    """
    return all(abs(float32_quotient(bound, scale)) < 2**31 for bound in BOUNDS[activation] if bound)


def activation_range(activation: str, scale: float, zero_point: int, bits: int = 8) -> tuple[int, int]:
    """Return the range of a fused activation for int8 or int16 (CalculateActivationRangeQuantized,
    kernels/kernel_util.cc).

    >>> activation_range("RELU6", 0.05, -28)
    (-28, 92)
    """
    low, high = BOUNDS[activation]
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    return (
        least if low is None else max(least, quantized(low, scale, zero_point)),
        most if high is None else min(most, quantized(high, scale, zero_point)),
    )


FLOAT_RANGES: Mapping[str, FloatRange] = {
    "NONE": FloatRange.FINITE,
    "UNLIMITED": FloatRange.ALL,
    "RELU": FloatRange.RELU,
    "RELU_N1_TO_1": FloatRange.RELU_N1_TO_1,
    "RELU6": FloatRange.RELU6,
}
"""Output limits of float32 operators for each fused activation (TFLite lacks UNLIMITED)."""


def float_form(limits: FloatRange, function: FloatFunction) -> int:
    """Encode a float32 operator's output limits and function as the field `param` (program.h)."""
    return limits | function << 4


def bits(value: float) -> int:
    """Return the bits of a float32 as an int32.

    >>> hex(bits(1.0))
    '0x3f800000'
    """
    return int(np.float32(value).view(np.int32))


def int16_activation(activation: str, scale: float) -> int:
    """Return the field `param` of an int16 operator, which encodes the activation range of the output (program.h)."""
    low, high = activation_range(activation, scale, 0, 16)
    return high << 16 | low & 0xFFFF
