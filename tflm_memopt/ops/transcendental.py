"""Computes exp, logistic, tanh and inverse square roots in TFLM's fixed point, with gemmlowp's functions
(fixedpoint/fixedpoint.h).

A number in Qm has m integer bits and 31 - m fractional bits besides the sign. All values are int64 and fit int32.
"""

import numpy as np

from tflm_memopt.ops.fixed import INT32_MAX, INT32_MIN, Ints, high_mul, round_shift

ONE_Q0 = INT32_MAX
_ONE_Q2 = 1 << 29
_EXP_MINUS_EIGHTH = 1895147668
_THIRD = 715827883
_FACTORS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""The factors exp(-1/4), exp(-1/2), exp(-1), ... exp(-16) in Q0."""
_48_OVER_17, _MINUS_32_OVER_17 = 1515870810, -1010580540
_ROOT_OF_HALF = 1518500250


def logistic(x: Ints, integer_bits: int) -> Ints:
    """Return the logistic function 1 / (1 + exp(-x)) in Q0.

    >>> logistic(np.array([0]), 4).tolist() == [1 << 30]
    True
    """
    upper = _reciprocal(exp_negative(-np.abs(x), integer_bits), 1)
    return np.where(x == 0, 1 << 30, np.where(x > 0, upper, ONE_Q0 - upper))


def tanh(x: Ints, integer_bits: int) -> Ints:
    """Return the hyperbolic tangent (1 - exp(-2x)) / (1 + exp(-2x)) in Q0.

    >>> tanh(np.array([0]), 4).tolist()
    [0]
    """
    magnitude = _reciprocal(exp_negative(-np.abs(x), integer_bits + 1), 2, less=_ONE_Q2)
    return np.sign(x) * magnitude


def exp_negative(x: Ints, integer_bits: int) -> Ints:
    """Return exp(x) in Q0 for x <= 0. For the part of x below 1/4, a series computes exp(). For each higher bit of x,
    the result is multiplied by a factor.

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
    """For x in [-1/4, 0), return exp(x) in Q0 by a Taylor series around -1/8."""
    x = x + (1 << 28)
    x2 = high_mul(x, x)
    x3, x4 = high_mul(x2, x), high_mul(x2, x2)
    cubic = high_mul(round_shift(x4, 2) + x3, _THIRD) + x2
    return _EXP_MINUS_EIGHTH + high_mul(x + round_shift(cubic, 1), _EXP_MINUS_EIGHTH)


def _reciprocal(x: Ints, left: int, less: int = 0) -> Ints:
    """Return `(2 / (1 + x) - less) << left` in Q2 by three Newton-Raphson steps, for x from 0 to 1 in Q0."""
    half = (x + ONE_Q0 + 1) // 2
    y = _48_OVER_17 + high_mul(half, _MINUS_32_OVER_17)
    for _ in range(3):
        y = y + _shifted(high_mul(y, _ONE_Q2 - high_mul(half, y)), 2)
    return _shifted(y - less, left)


def inverse_root(x: Ints) -> tuple[Ints, Ints]:
    """Return y and s so that `1 / sqrt(x) == y / 2^(31 + s)`, for x of at least 1 (GetInvSqrtQuantizedMultiplierExp,
    kernels/internal/common.h).

    >>> [int(n[0]) for n in inverse_root(np.array([4]))]
    [1073741828, 0]
    """
    pairs = (29 - np.frexp(np.maximum(x, 2))[1]) // 2
    half = round_shift((x << 2 * pairs) >> 1, 1)
    y = np.full_like(x, 1 << 28)  # The variable y has 3 integer bits (Q3).
    for _ in range(5):
        cube = _shifted(high_mul(high_mul(y, y), y), 6)
        y = _shifted(high_mul(y, 3 << 27) - high_mul(half, cube), 3)
    y, shift = high_mul(y, _ROOT_OF_HALF), 11 - pairs
    y, shift = y << np.maximum(0, -shift), np.maximum(0, shift)
    return np.where(x > 1, y, INT32_MAX), np.where(x > 1, shift, 0)


def _shifted(x: Ints, left: int) -> Ints:
    shifted: Ints = np.clip(x << left, INT32_MIN, INT32_MAX)
    return shifted
