"""TFLM's fixed point arithmetic on arrays: what custom_ops/src/tmo/fixed.h is in C.

Values are int64 here, so that a caller can see what an int32 would not hold; nothing wraps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1


def fits_int32(values: Ints) -> NDArray[np.bool_]:
    """Where an int32 holds the value."""
    return (values >= INT32_MIN) & (values <= INT32_MAX)


def high_mul(a: Ints, b: ArrayLike) -> Ints:
    """SaturatingRoundingDoublingHighMul of int32 values: round(a * b / 2**31), halves up.

    >>> high_mul(np.array([3, -3]), 1 << 30).tolist()
    [2, -1]
    """
    product: Ints = a * np.asarray(b, np.int64)
    rounded: Ints = (product + (1 << 30)) >> 31
    return np.minimum(rounded, INT32_MAX)


def round_shift(x: Ints, exponent: ArrayLike) -> Ints:
    """RoundingDivideByPOT: round(x / 2**exponent), halves away from zero.

    >>> round_shift(np.array([3, -3, 1]), 1).tolist()
    [2, -2, 1]
    """
    half = (np.int64(1) << np.asarray(exponent, np.int64)) >> 1
    rounded: Ints = np.sign(x) * ((np.abs(x) + half) >> exponent)
    return rounded


def rescale(x: Ints, multiplier: ArrayLike, shift: ArrayLike) -> Ints:
    """MultiplyByQuantizedMultiplier, two roundings (kernels/internal/common.cc). `x << shift` must fit an int32.

    >>> rescale(np.array([100, -101]), 1 << 30, -1).tolist()
    [25, -25]
    """
    shift = np.asarray(shift, np.int64)
    return round_shift(high_mul(x << np.maximum(shift, 0), multiplier), np.maximum(-shift, 0))
