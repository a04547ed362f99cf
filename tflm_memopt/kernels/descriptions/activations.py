"""Softmax, and tables of 256 bytes. TFLM: Softmax (kernels/internal/reference/softmax.h), gemmlowp's fixed point."""

from __future__ import annotations

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Index, Operand, Reg, Type

INT32 = Type.INT32
TABLE = 256
QUARTER = 1 << 24
"""1/4 in Q5.26."""
FACTORS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""e^(-1/4), e^(-1/2), .. e^-16, Q0.31."""
MOST = (1 << 31) - 1


@kernel("y = table[x + 128]")
def lookup(b: Builder) -> None:
    (n,) = b.extents("n")
    x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
    table = b.flash("table", Type.INT8, TABLE)
    with b.loop("i", n) as i:
        b.ram_store(y, b.look_up(table, TABLE // 2, b.ram_load(x, i)), i)
        b.ram_free(x, i)


def _times(b: Builder, left: Operand, right: Operand) -> Reg:
    return b.compute("high_mul_signed", INT32, left, right)


def _sum(b: Builder, left: Operand, right: Operand) -> Reg:
    return b.compute("add", INT32, left, right)


def _exp_of_negative(b: Builder, a: Reg) -> Reg:
    """e^a for a <= 0, Q5.26 in, Q0.31 out: what is below 1/4 by a series, the rest by a factor for each bit."""
    low = b.compute("and", INT32, a, Index.of(QUARTER - 1))
    fraction = b.compute("sub", INT32, low, Index.of(QUARTER))
    rest = b.compute("sub", INT32, fraction, a)
    result = _exp_of_small(b, b.compute("shift_left", INT32, fraction, Index.of(5)))
    for bit, factor in enumerate(FACTORS):
        there = b.compute("and", INT32, rest, Index.of(QUARTER << bit))
        result = b.compute("select", INT32, there, _times(b, result, Index.of(factor)), result)
    return b.compute("select", INT32, a, result, Index.of(MOST))


def _exp_of_small(b: Builder, a: Reg) -> Reg:
    """e^a for a in [-1/4, 0), Q0.31: Taylor's series around -1/8."""
    at_eighth, third = Index.of(1895147668), Index.of(715827883)
    x = _sum(b, a, Index.of(1 << 28))
    x2 = _times(b, x, x)
    x3, x4 = _times(b, x2, x), _times(b, x2, x2)
    quartic = b.compute("round_shift", INT32, x4, Index.of(2))
    cubic = _sum(b, _times(b, _sum(b, quartic, x3), third), x2)
    polynomial = _sum(b, x, b.compute("round_shift", INT32, cubic, Index.of(1)))
    return _sum(b, _times(b, polynomial, at_eighth), at_eighth)


def _reciprocal_of_one_plus(b: Builder, a: Reg) -> Reg:
    """1 / (1 + a) for a in [0, 1), Q0.31: three steps of Newton and Raphson, Q2.29."""
    half = _sum(b, b.compute("shift_right", INT32, a, Index.of(1)), Index.of(1 << 30))
    x = _sum(b, _times(b, half, Index.of(-1010580540)), Index.of(1515870810))  # 48/17 - 32/17 * half
    for _ in range(3):
        error = b.compute("sub", INT32, Index.of(1 << 29), _times(b, half, x))
        x = _sum(b, x, b.compute("shift_left_saturated", INT32, _times(b, x, error), Index.of(2)))
    return b.compute("shift_left_saturated", INT32, x, Index.of(1))


@kernel("y[m, k] = 256 * e^(x[m, k] - max) / sum over k of e^(x[m, k] - max) - 128")
def softmax(b: Builder) -> None:
    rows, channels = b.extents("rows", "channels")
    multiplier, shift, diff_min = b.parameters("multiplier", "shift", "diff_min")
    x, y = b.ram("x", Type.INT8, rows, channels), b.output("y", Type.INT8, rows, channels)
    with b.loop("m", rows) as m:
        greatest = b.broadcast(INT32, Index.of(-128))
        with b.loop("i", channels) as i:
            b.update("max", greatest, b.ram_load(x, m, i))

        def power(k: Index) -> Reg:
            """e^(x - max), Q0.31; 0 where it is too small to count."""
            below = b.compute("sub", INT32, b.ram_load(x, m, k), greatest)
            result = _exp_of_negative(b, b.rescale(below, multiplier, shift))
            return b.compute("select", INT32, b.compute("less", INT32, below, diff_min), Index.of(0), result)

        total = b.broadcast(INT32, Index.of(0))  # Q12.19
        with b.loop("j", channels) as j:
            b.update("add", total, b.compute("round_shift", INT32, power(j), Index.of(12)))
        zeros = b.compute("zeros_above", INT32, total)
        mantissa = b.compute("and", INT32, b.compute("shift_left", INT32, total, zeros), Index.of(MOST))
        scale = _reciprocal_of_one_plus(b, mantissa)
        right = b.compute("min", INT32, b.compute("sub", INT32, Index.of(35), zeros), Index.of(31))
        with b.loop("k", channels) as k:
            share = b.compute("round_shift", INT32, b.compute("high_mul_signed", INT32, scale, power(k)), right)
            at = b.compute("sub", INT32, share, Index.of(128))
            b.ram_store(y, b.clamp(at, (Index.of(-128), Index.of(127))), m, k)
        b.ram_free(x, m)
