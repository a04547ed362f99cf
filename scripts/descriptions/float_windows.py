"""Describes kernels that compute one float32 output pixel. Like TFLM's Conv, DepthwiseConv, FullyConnected, AveragePool
and MaxPool (kernels/internal/reference), the kernels add products in the order of rows, columns and channels, and add
the bias last.
"""

from collections.abc import Callable

import numpy as np

from descriptions.floats import FLOAT, Clamp, number
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Array, Index, Reg


def _begin(b: Builder, sums: Array, at: Index, initial: float) -> Reg:
    (first,) = b.parameters("first")
    total = number(b, initial)
    with b.inside(first, 1):
        b.assign("copy", total, b.ram_load(sums, at))
    return total


def _end(b: Builder, sums: Array, y: Array, at: Index, total: Reg, output: Callable[[Reg], Reg]) -> None:
    """If several calls compute a window, each call stores the sum, and the last call writes the output."""
    (last,) = b.parameters("last")
    with b.inside(last, 1):
        b.ram_store(sums, total, at)
    with b.inside(last - 1, 1):
        b.ram_store(y, output(total), at)


@kernel("y[k] = clamp(sum over the window of x * w[k] + bias[k]); k = output j of group g")
def conv_f32(b: Builder) -> None:
    """A depthwise layer has a group for each channel, and any other convolution has one group."""
    pointers, reach, rows, columns, channels, groups = b.extents(
        "pointers", "reach", "rows", "columns", "channels", "groups"
    )
    (each,) = b.extents("each")
    (bias_step,) = b.parameters("bias_step")  # If `bias_step` is 0, all channels have the same bias.
    next_row, next_column, apart, offset = b.parameters("next_row", "next_column", "apart", "offset")
    strides = b.parameters("filter_weights", "row_weights", "tap_weights")
    filters, limits = groups * each, Clamp(b)
    x, y = b.rows("x", FLOAT, pointers, reach), b.output("y", FLOAT, filters)
    w = b.flash("w", FLOAT, filters, rows, columns, channels, strides=strides)
    bias = b.flash("bias", FLOAT, filters, strides=(bias_step,))
    sums = b.workspace("sums", FLOAT, filters, aligned=False)
    with b.loop("g", groups) as g, b.loop("j", each) as j:
        k = g * each + j
        total = _begin(b, sums, k, 0)
        with b.loop("r", rows) as r, b.loop("s", columns) as s, b.loop("c", channels) as c:
            value = b.ram_load(x, r * next_row + s * next_column, offset + s * apart + g + c)
            b.dot(total, value, b.flash_load(w, k, r, s, c))
        constant = b.flash_load(bias, k)
        _end(b, sums, y, k, total, lambda value: limits.apply(b.compute("add", FLOAT, value, constant)))


def _pool(b: Builder, initial: float, take: Callable[[Reg, Reg], None], output: Callable[[Reg], Reg]) -> None:
    pointers, reach, run, channels = b.extents("pointers", "reach", "run", "channels")
    (offset,), limits = b.parameters("offset"), Clamp(b)
    x, y = b.rows("x", FLOAT, pointers, reach), b.output("y", FLOAT, channels)
    sums = b.workspace("sums", FLOAT, channels, aligned=False)
    with b.loop("c", channels) as c:
        total = _begin(b, sums, c, initial)
        with b.loop("p", pointers) as p, b.loop("t", run) as t:
            take(total, b.ram_load(x, p, offset + t * channels + c))
        _end(b, sums, y, c, total, lambda value: limits.apply(output(value)))


@kernel("y[c] = clamp(sign * the greatest sign * x[p, c]); NaN counts as nothing")
def extreme_pool_f32(b: Builder) -> None:
    sign = b.compute("as_float", FLOAT, *b.parameters("sign"))

    def signed(x: Reg) -> Reg:
        return b.compute("mul", FLOAT, x, sign)

    _pool(b, float(np.finfo(np.float32).min), lambda most, x: b.update("max", most, signed(x)), signed)


@kernel("y[c] = clamp(sum over p of x[p, c] / area)")
def average_pool_f32(b: Builder) -> None:
    area = b.compute("copy", FLOAT, *b.extents("area"))
    _pool(b, 0, lambda total, x: b.update("add", total, x), lambda total: b.compute("divide", FLOAT, total, area))
