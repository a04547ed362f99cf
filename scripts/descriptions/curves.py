"""Describes int16 functions that interpolate in a table: LOGISTIC, TANH and SOFTMAX.

The kernels follow TFLM's functions Logistic and Tanh of int16 (kernels/internal/reference/integer_ops), SoftmaxInt16
(kernels/internal/reference/softmax.h), LUTPopulate and LUTLookup (kernels/internal/common.h).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.kernels.build import Builder, Number, kernel
from tflm_memopt.kernels.language import Array, Reg, Type
from tflm_memopt.ops.cells import SIGMOID

INT32 = Type.INT32
STEPS = 512
RANGE = np.float32(65535)


def interpolation_table(
    scale: float, zero_point: int, function: Callable[[NDArray[np.float32]], NDArray[Any]]
) -> tuple[int, ...]:
    """Return the table of TFLM's LUTPopulate: values of `function` at STEPS + 1 inputs. Outputs of the table have the
    scale 2 / 65535.

    TFLM subtracts from each entry half of the interpolation error in the middle of the entry's interval.
    """
    one = np.float32
    low, high = (one(scale) * one(end - zero_point) for end in (-32768, 32767))
    out = one(2) / RANGE
    per_unit = one(65536) / (out * one(32767) - out * one(-32768))
    step = (high - low) / one(STEPS)

    def nearest(x: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x).astype(one)

    points = low + np.arange(STEPS, dtype=one) * step
    value, middle, ends = (
        function(x).astype(one) * per_unit
        for x in (points, points + step / one(2), np.append(points[1:], (low + one(STEPS) * step, high)).astype(one))
    )
    error = nearest((ends[:-1] + nearest(value)) / one(2)) - nearest(middle)
    entries = np.append(nearest(value) - nearest(error / one(2)), nearest(ends[-1:]))
    return tuple(np.clip(entries, -32768, 32767).astype(int).tolist())


EXPONENTIAL = interpolation_table(
    float(np.float32(10) / RANGE), 32767, lambda x: np.array([*map(math.exp, x.tolist())])
)
RECIPROCAL = interpolation_table(float(np.float32(1) / RANGE), -32768, lambda x: 1 / (1 + x))


def _interpolated(b: Builder, table: Array, x: Reg, bits: Number) -> tuple[Reg, Reg]:
    """Return registers a and b: the table, interpolated linearly at x / 2^bits, has the value a + b / 2^bits."""
    index = b.compute("shift_right", INT32, x, bits)
    one = b.compute("shift_left", INT32, 1, bits)
    rest = b.compute("and", INT32, x, b.compute("sub", INT32, one, 1))
    entry, following = (b.flash_load(table, further, by=index) for further in (0, 1))
    return entry, b.compute("mul", INT32, b.compute("sub", INT32, following, entry), rest)


@kernel("y = 1 / (1 + e^-x), or tanh(x) if `bits` is 8")
def curve_s16(b: Builder) -> None:
    """The table holds sigmoid(x) - 1/2 for x >= 0 only, because the curve is symmetric."""
    (n,) = b.extents("n")
    multiplier, shift, bits, centre, right = b.parameters("multiplier", "shift", "bits", "centre", "right")
    x, y = b.ram("x", Type.INT16, n), b.output("y", Type.INT16, n)
    table = b.table("table", Type.INT16, tuple(value - (1 << 15) for value in SIGMOID))
    down = b.compute("sub", INT32, 0, shift)
    half = b.compute("shift_right", INT32, b.compute("shift_left", INT32, 1, down), 1)
    level = b.compute("sub", INT32, b.compute("shift_left", INT32, 255, bits), 1)
    middle = b.compute("shift_right", INT32, b.compute("shift_left", INT32, 1, right), 1)
    middle = b.compute("add", INT32, middle, centre)
    with b.loop("i", n) as i:
        product = b.compute("mul", INT32, b.ram_load(x, i), multiplier)
        scaled = b.compute("shift_right", INT32, b.compute("add", INT32, product, half), down)
        negative = b.compute("less", INT32, scaled, 0)
        size = b.compute("select", INT32, negative, b.compute("sub", INT32, 0, scaled), scaled)
        entry, further = _interpolated(b, table, b.compute("min", INT32, size, level), bits)
        value = b.compute("add", INT32, b.compute("shift_left", INT32, entry, bits), further)
        mirrored = b.compute("sub", INT32, -1, value)
        value = b.compute("select", INT32, negative, mirrored, value)
        value = b.compute("shift_right", INT32, b.compute("add", INT32, value, middle), right)
        b.ram_store(y, b.broadcast(Type.INT16, value), i)


def _looked_up(b: Builder, table: Array, value: Reg) -> Reg:
    value = b.compute("min", INT32, b.compute("max", INT32, value, -32768), 32767)
    from_zero = b.compute("add", INT32, value, 32768)
    entry, further = _interpolated(b, table, from_zero, 7)
    further = b.compute("shift_right", INT32, b.compute("add", INT32, further, 64), 7)
    return b.compute("add", INT32, entry, further)


@kernel("y[m, k] = 32768 * e^(x[m, k] - max) / sum over k of e^(x[m, k] - max)")
def softmax_s16(b: Builder) -> None:
    """The workspace `powers` shares the memory of the output `y`."""
    rows, channels = b.extents("rows", "channels")
    multiplier, shift = b.parameters("multiplier", "shift")
    x, y = (make(name, Type.INT16, rows, channels) for make, name in ((b.ram, "x"), (b.output, "y")))
    powers = b.workspace("powers", Type.INT16, rows, channels, aligned=False)
    exponential, reciprocal = (
        b.table(name, Type.INT16, values) for name, values in (("exponential", EXPONENTIAL), ("reciprocal", RECIPROCAL))
    )
    with b.loop("m", rows) as m:
        greatest, total = (b.broadcast(INT32, value) for value in (-32768, 0))
        with b.loop("h", channels) as h:
            b.update("max", greatest, b.ram_load(x, m, h))
        with b.loop("i", channels) as i:
            below = b.compute("sub", INT32, b.ram_load(x, m, i), greatest)
            scaled = b.compute("add", INT32, b.rescale(below, multiplier, shift), 32767)
            power = _looked_up(b, exponential, scaled)
            b.update("add", total, power)
            b.ram_store(powers, b.broadcast(Type.INT16, power), m, i)
        zeros = b.compute("zeros_above", INT32, total)
        mantissa = b.compute("shift_left", INT32, total, b.compute("sub", INT32, zeros, 1))
        mantissa = b.compute("add", INT32, b.compute("shift_right", INT32, mantissa, 13), 1)
        mantissa = b.compute("shift_right", INT32, mantissa, 1)
        factor = _looked_up(b, reciprocal, b.compute("sub", INT32, mantissa, 98304))
        right = b.compute("sub", INT32, 31, zeros)
        last = b.compute("sub", INT32, right, 1)
        half = b.compute("shift_left", INT32, 1, last)
        with b.loop("j", channels) as j:
            product = b.compute("mul", INT32, b.ram_load(powers, m, j), factor)
            share = b.compute("shift_right", INT32, b.compute("add", INT32, product, half), right)
            b.ram_store(y, b.clamp(share, (0, 32767), Type.INT16), m, j)
