"""Describes kernels for weights that are packed for vectors. The kernels have the results of TFLM's ConvPerChannel and
DepthwiseConvPerChannel. The biases of packed weights include the zero points, and the scales are below 1.
"""

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Array, Index, Reg, Type


class Scales:
    def __init__(self, b: Builder, channels: Index) -> None:
        self.zero_out, self.low, self.high = b.parameters("zero_out", "low", "high")
        self.bias = b.flash("bias", Type.INT32, channels)
        self.multipliers = b.flash("multipliers", Type.INT32, channels)
        self.rights = b.flash("rights", Type.INT16, channels)

    def output(self, b: Builder, total: Reg, k: Index) -> Reg:
        """Return `total` as int8, rounded twice as in TFLM."""
        multiplier = b.flash_load(self.multipliers, k)
        sign = b.compute("shift_right", Type.INT32, total, 31)
        x = b.compute("high_mul", Type.INT32, total, multiplier)
        x = b.compute("add", Type.INT32, x, sign)
        x = b.compute("clip16", Type.INT16, x, b.flash_load(self.rights, k))
        x = b.compute("add16", Type.INT16, x, self.zero_out)
        x = b.compute("clip8", Type.INT8, x)
        x = b.compute("max", Type.INT8, x, self.low)
        return b.compute("min", Type.INT8, x, self.high)


def _weight(b: Builder, w: Array, *at: Index) -> Reg:
    return b.broadcast(Type.INT16, b.flash_load(w, *at))


@kernel("y[p, k] = saturate(bias[k] + sum over i of x[p, i] * w[i, k])")
def packed_conv(b: Builder) -> None:
    pixels, values, filters = b.extents("pixels", "values", "filters")
    apart, step = b.parameters("apart", "step")
    x = b.ram("x", Type.INT8, pixels, values, strides=(apart,))
    y = b.output("y", Type.INT8, pixels, filters, strides=(step,))
    w = b.flash("w", Type.INT8, values, filters)
    scales = Scales(b, filters)
    with b.loop("p", pixels) as p, b.loop("k", filters) as k:
        total = b.flash_load(scales.bias, k)
        with b.loop("i", values) as i:
            weight = _weight(b, w, i, k)
            b.dot(total, b.ram_load(x, p, i), weight)
        b.ram_store(y, scales.output(b, total, k), p, k)


@kernel("y[p, k] = saturate(bias[k] + sum over taps t of x[t, p, k] * w[t, k])")
def packed_depthwise(b: Builder) -> None:
    pixels, taps, reach, channels = b.extents("pixels", "taps", "reach", "channels")
    (apart,) = b.parameters("apart")
    x, y = b.rows("x", Type.INT8, taps, reach), b.output("y", Type.INT8, pixels, channels)
    w = b.flash("w", Type.INT8, taps, channels)
    scales = Scales(b, channels)
    with b.loop("p", pixels) as p, b.loop("k", channels) as k:
        total = b.flash_load(scales.bias, k)
        with b.loop("t", taps) as t:
            weight = _weight(b, w, t, k)
            b.dot(total, b.ram_load(x, t, p * apart + k), weight)
        b.ram_store(y, scales.output(b, total, k), p, k)


@kernel("y[p, r, i] = x[r, p, i]")
def windows(b: Builder) -> None:
    """Copies the bytes under each window, so that the copies of all windows follow each other in memory."""
    pixels, rows, reach, nbytes = b.extents("pixels", "rows", "reach", "nbytes")
    first, apart, step, next_row = b.parameters("first", "apart", "step", "next_row")
    x = b.rows("x", Type.INT8, rows, reach)
    y = b.output("y", Type.INT8, pixels, rows, nbytes, strides=(step, next_row))
    with b.loop("p", pixels) as p, b.loop("r", rows) as r, b.loop("i", nbytes) as i:
        b.ram_store(y, b.ram_load(x, r, first + p * apart + i), p, r, i)
