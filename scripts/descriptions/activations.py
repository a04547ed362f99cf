"""Describes softmax, log-softmax, and tables of 256 bytes.

The kernels repeat the fixed-point arithmetic of softmax.h and log_softmax.h in TFLM's kernels/internal/reference. A
number in Qm.n has a sign, m integer bits and n fractional bits. With at most 4095 channels, no sum of exponentials
overflows.
"""

from tflm_memopt.kernels.build import Builder, Number, kernel
from tflm_memopt.kernels.language import Array, Index, Reg, Type

INT32 = Type.INT32
TABLE = 256
QUARTER = 1 << 24
FACTORS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
MOST = (1 << 31) - 1
SQRT_HALF, MIDDLE = 1518500250, 1805811301
INT8 = -128, 127


@kernel("y = table[x + 128]")
def lookup(b: Builder) -> None:
    (n,) = b.extents("n")
    x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
    table = b.flash("table", Type.INT8, TABLE)
    with b.loop("i", n) as i:
        b.ram_store(y, b.flash_load(table, TABLE // 2, by=b.ram_load(x, i)), i)


def _times(b: Builder, left: Number, right: Number) -> Reg:
    return b.compute("high_mul_signed", INT32, left, right)


def _sum(b: Builder, left: Number, right: Number) -> Reg:
    return b.compute("add", INT32, left, right)


def _exp_of_negative(b: Builder, a: Reg, factors: Array) -> Reg:
    """Return e^a in Q0.31, for a <= 0 in Q5.26. Element n of `factors` is e^(-2^n / 4) in Q0.31."""
    result = b.broadcast(INT32, MOST)
    with b.inside(b.compute("less", INT32, -1, a), 1):
        low = b.compute("and", INT32, a, QUARTER - 1)
        fraction = b.compute("sub", INT32, low, QUARTER)
        rest = b.compute("sub", INT32, fraction, a)
        b.assign("copy", result, _exp_of_small(b, b.compute("shift_left", INT32, fraction, 5)))
        with b.loop("bit", len(FACTORS)) as bit:
            there = b.compute("and", INT32, rest, b.compute("shift_left", INT32, QUARTER, bit))
            with b.inside(b.compute("less", INT32, there, 1), 1):
                b.update("high_mul", result, b.flash_load(factors, bit))
    return result


def _exp_of_small(b: Builder, a: Reg) -> Reg:
    """Return e^a for a in [-1/4, 0) in Q0.31, by a Taylor series around -1/8."""
    at_eighth, third = 1895147668, 715827883
    x = _sum(b, a, 1 << 28)
    x2 = _times(b, x, x)
    x3, x4 = _times(b, x2, x), _times(b, x2, x2)
    quartic = b.compute("round_shift", INT32, x4, 2)
    cubic = _sum(b, _times(b, _sum(b, quartic, x3), third), x2)
    polynomial = _sum(b, x, b.compute("round_shift", INT32, cubic, 1))
    return _sum(b, _times(b, polynomial, at_eighth), at_eighth)


def _reciprocal_of_one_plus(b: Builder, a: Reg) -> Reg:
    """Return 1 / (1 + a) for a in [0, 1) in Q0.31, by three Newton-Raphson steps in Q2.29."""
    half = _sum(b, b.compute("shift_right", INT32, a, 1), 1 << 30)
    x = _sum(b, _times(b, half, -1010580540), 1515870810)
    with b.loop("step", 3):
        error = b.compute("sub", INT32, 1 << 29, _times(b, half, x))
        b.update("add", x, b.compute("shift_left_saturated", INT32, _times(b, x, error), 2))
    return b.compute("shift_left_saturated", INT32, x, 1)


class Exponentials:
    def __init__(self, b: Builder) -> None:
        self.b = b
        self.rows, self.channels = b.extents("rows", "channels")
        self.scale = b.parameters("multiplier", "shift")
        (self.diff_min,) = b.parameters("diff_min")
        self.x, self.y = (
            make(name, Type.INT8, self.rows, self.channels) for make, name in ((b.ram, "x"), (b.output, "y"))
        )
        self.factors = b.table("factors", INT32, FACTORS)

    def greatest(self, m: Index) -> Reg:
        greatest = self.b.broadcast(INT32, -128)
        with self.b.loop("h", self.channels) as h:
            self.b.update("max", greatest, self.b.ram_load(self.x, m, h))
        return greatest

    def power(self, m: Index, i: Index, greatest: Reg) -> Reg:
        """Return e^(x - greatest) in Q0.31, or 0 if the exponent is below TFLM's limit `diff_min`."""
        b = self.b
        below, power = b.compute("sub", INT32, b.ram_load(self.x, m, i), greatest), b.broadcast(INT32, 0)
        with b.inside(b.compute("less", INT32, below, self.diff_min), 1):
            b.assign("copy", power, _exp_of_negative(b, b.rescale(below, *self.scale), self.factors))
        return power

    def add(self, total: Reg, power: Reg) -> None:
        """Add an exponential in Q0.31 to a sum in Q12.19."""
        self.b.update("add", total, self.b.compute("round_shift", INT32, power, 12))


@kernel("y[m, k] = 256 * e^(x[m, k] - max) / sum over k of e^(x[m, k] - max) - 128")
def softmax(b: Builder) -> None:
    row = Exponentials(b)
    with b.loop("m", row.rows) as m:
        greatest = row.greatest(m)
        total, scale, right = (b.broadcast(INT32, 0) for _ in range(3))
        # The first iteration adds up all exponentials, and the second divides each exponential by the sum.
        with b.loop("turn", 2) as turn:
            with b.loop("i", row.channels) as i:
                power = row.power(m, i, greatest)
                with b.inside(turn, 1):
                    row.add(total, power)
                with b.inside(turn - 1, 1):
                    share = b.compute("round_shift", INT32, b.compute("high_mul", INT32, scale, power), right)
                    b.ram_store(row.y, b.clamp(b.compute("sub", INT32, share, 128), INT8), m, i)
            with b.inside(turn, 1):
                zeros = b.compute("zeros_above", INT32, total)
                mantissa = b.compute("and", INT32, b.compute("shift_left", INT32, total, zeros), MOST)
                b.assign("copy", scale, _reciprocal_of_one_plus(b, mantissa))
                b.assign("min", right, b.compute("sub", INT32, 35, zeros), 31)


def _log_of(b: Builder, total: Reg) -> Reg:
    """Return ln(a) in Q5.26 for a >= 1 in Q12.19, approximated near 1 by a quotient of polynomials.

    Source in TFLM: log_x_for_x_greater_than_or_equal_to_1, kernels/internal/common.h.
    """

    def shifted(value: Reg, left: Number) -> Reg:
        return b.compute("shift_left_saturated", INT32, value, left)

    def zeros(value: Reg) -> Reg:
        return b.compute("sub", INT32, b.compute("zeros_above", INT32, value), 1)

    def power(highest: int, left: Reg, further: int) -> Reg:
        whole = b.compute("sub", INT32, highest, left)
        return _sum(b, b.compute("mul", INT32, whole, 1 << 25), further)

    a = b.compute("max", INT32, total, 1)  # In a damaged program, the sum can have any value.
    up, up_half = zeros(a), zeros(_times(b, a, SQRT_HALF))
    whole, half = shifted(_times(b, shifted(a, up), SQRT_HALF), 1), shifted(a, up_half)
    r = b.compute("min", INT32, whole, half)
    exponent = b.compute("max", INT32, power(11, up, 1 << 23), power(12, up_half, -(1 << 23)))

    p = _sum(b, b.compute("shift_right", INT32, r, 1), (MIDDLE >> 1) + 1)
    q = b.compute("shift_left", INT32, b.compute("sub", INT32, r, MIDDLE), 1)
    q2 = _times(b, q, q)
    numerator = _sum(b, _times(b, q, r), _times(b, _times(b, q, q2), 117049297))
    inner = _sum(b, _sum(b, q, 1057819769), _times(b, q2, 127690142))
    denominator = _sum(b, _times(b, p, inner), _times(b, q, 638450708))
    small = b.compute("round_shift", INT32, numerator, 6)
    fraction = _times(b, small, _reciprocal_of_one_plus(b, denominator))
    return shifted(_sum(b, _times(b, exponent, 1488522236), fraction), 1)


@kernel("y[m, k] = 16 * (x[m, k] - max - ln(sum over k of e^(x[m, k] - max))) + 127")
def log_softmax(b: Builder) -> None:
    row = Exponentials(b)
    back = b.parameters("back", "back_shift")
    with b.loop("m", row.rows) as m:
        greatest, total = row.greatest(m), b.broadcast(INT32, 0)
        with b.loop("i", row.channels) as i:
            row.add(total, row.power(m, i, greatest))
        log = _log_of(b, total)
        least = b.rescale(_sum(b, log, -MOST - 1), *back)  # If x - max is above `least`, `far` fits an int32.
        with b.loop("j", row.channels) as j:
            below = b.compute("sub", INT32, b.ram_load(row.x, m, j), greatest)
            far = b.compute("sub", INT32, b.rescale(below, *row.scale), log)
            value = _sum(b, b.compute("round_shift", INT32, far, 22), 127)
            small = b.compute("less", INT32, below, row.diff_min)
            value = b.compute("select", INT32, b.compute("less", INT32, least, below), value, -128)
            value = b.compute("select", INT32, small, -128, value)
            b.ram_store(row.y, b.clamp(value, INT8), m, j)
