"""exp, logistic and tanh in TFLM's fixed point, on arrays: gemmlowp's functions (fixedpoint/fixedpoint.h).

Qm has m integer bits and 31 - m fractional bits beside the sign. Values are int64; none leaves the int32 that it stands
for.
"""

from __future__ import annotations

import numpy as np

from tflm_memopt.ops.fixed import INT32_MAX, INT32_MIN, Ints, high_mul, round_shift

ONE_Q0 = INT32_MAX
_ONE_Q2 = 1 << 29
_EXP_MINUS_EIGHTH = 1895147668
_THIRD = 715827883
_FACTORS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""e**-(1/4), e**-(1/2), e**-1, ... e**-16, Q0."""
_48_OVER_17, _MINUS_32_OVER_17 = 1515870810, -1010580540
"""Q2."""


def logistic(x: Ints, integer_bits: int) -> Ints:
    """1 / (1 + e**-x), Q0.

    >>> logistic(np.array([0]), 4).tolist() == [1 << 30]
    True
    """
    upper = _reciprocal(exp_negative(-np.abs(x), integer_bits), 1)
    return np.where(x == 0, 1 << 30, np.where(x > 0, upper, ONE_Q0 - upper))


def tanh(x: Ints, integer_bits: int) -> Ints:
    """The hyperbolic tangent, Q0: (1 - e**-2x) / (1 + e**-2x).

    >>> tanh(np.array([0]), 4).tolist()
    [0]
    """
    magnitude = _reciprocal(exp_negative(-np.abs(x), integer_bits + 1), 2, less=_ONE_Q2)
    return np.sign(x) * magnitude


def exp_negative(x: Ints, integer_bits: int) -> Ints:
    """e**x of values up to 0, Q0: the part below 1/4 by a series, the rest by one factor for each bit.

    >>> exp_negative(np.array([0]), 5).tolist() == [ONE_Q0]
    True
    """
    quarter = 1 << (29 - integer_bits)
    fraction = (x & (quarter - 1)) - quarter
    rest = fraction - x
    result = _exp_small(fraction << integer_bits)
    for bit, factor in enumerate(_FACTORS[: integer_bits + 2]):
        result = np.where(rest & (quarter << bit), high_mul(result, factor), result)
    return np.where(x == 0, ONE_Q0, result)


def _exp_small(x: Ints) -> Ints:
    """e**x for x in [-1/4, 0), Q0 both: Taylor's series around -1/8."""
    x = x + (1 << 28)
    x2 = high_mul(x, x)
    x3, x4 = high_mul(x2, x), high_mul(x2, x2)
    cubic = high_mul(round_shift(x4, 2) + x3, _THIRD) + x2
    return _EXP_MINUS_EIGHTH + high_mul(x + round_shift(cubic, 1), _EXP_MINUS_EIGHTH)


def _reciprocal(x: Ints, left: int, less: int = 0) -> Ints:
    """2 / (1 + x) - less, Q2, then `left` bits to the left; x in [0, 1), Q0. Three steps of Newton and Raphson."""
    half = (x + ONE_Q0 + 1) // 2
    y = _48_OVER_17 + high_mul(half, _MINUS_32_OVER_17)
    for _ in range(3):
        y = y + _shifted(high_mul(y, _ONE_Q2 - high_mul(half, y)), 2)
    return _shifted(y - less, left)


def _shifted(x: Ints, left: int) -> Ints:
    """Shifted to the left, saturating."""
    shifted: Ints = np.clip(x << left, INT32_MIN, INT32_MAX)
    return shifted
