"""Computes TFLM's fixed-point arithmetic on arrays, like custom_ops/src/tmo/fixed.h. Values are int64, so that nothing
wraps and a caller can detect values beyond int32.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1


def high_mul(a: Ints, b: ArrayLike) -> Ints:
    """Return round(a * b / 2^31) of int32 values, with halves rounded up (SaturatingRoundingDoublingHighMul).

    >>> high_mul(np.array([3, -3]), 1 << 30).tolist()
    [2, -1]
    """
    product: Ints = a * np.asarray(b, np.int64)
    rounded: Ints = (product + (1 << 30)) >> 31
    return np.minimum(rounded, INT32_MAX)


def round_shift(x: Ints, exponent: ArrayLike) -> Ints:
    """Return round(x / 2^exponent), with halves rounded away from zero (RoundingDivideByPOT).

    >>> round_shift(np.array([3, -3, 1]), 1).tolist()
    [2, -2, 1]
    """
    half = (np.int64(1) << np.asarray(exponent, np.int64)) >> 1
    rounded: Ints = np.sign(x) * ((np.abs(x) + half) >> exponent)
    return rounded


def rescale(x: Ints, multiplier: ArrayLike, shift: ArrayLike) -> Ints:
    """Return TFLM's MultiplyByQuantizedMultiplier with two roundings (kernels/internal/common.cc)."""
    shift = np.asarray(shift, np.int64)
    return round_shift(high_mul(x << np.maximum(shift, 0), multiplier), np.maximum(-shift, 0))
