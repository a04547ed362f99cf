"""Describes kernels that compute one output pixel from the window under it, like TFLM's ConvPerChannel and
DepthwiseConvPerChannel. The kernels compute only windows inside the input, because the kernels have no code for
padding.
"""

from collections.abc import Callable

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Index, KernelProgram, Reg, Type

INT32 = Type.INT32


def _pixel(b: Builder, *, depthwise: bool) -> None:
    pointers, reach, rows, columns, channels = b.extents("pointers", "reach", "rows", "columns", "channels")
    filters = channels if depthwise else b.extents("filters")[0]
    zero_in, zero_out, low, high, step = b.parameters("zero_in", "zero_out", "low", "high", "scale_step")
    (bias_step,) = b.parameters("bias_step")  # If bias_step is 0, all biases are equal.
    next_row, next_column, apart, offset = b.parameters("next_row", "next_column", "apart", "offset")
    row_weights, tap_weights = b.parameters("row_weights", "tap_weights")
    x, y = b.rows("x", Type.INT8, pointers, reach), b.output("y", Type.INT8, filters)
    if depthwise:
        w = b.flash("w", Type.INT8, rows, columns, channels, strides=(row_weights, tap_weights))
    else:
        (filter_weights,) = b.parameters("filter_weights")
        strides = (filter_weights, row_weights, tap_weights)
        w = b.flash("w", Type.INT8, filters, rows, columns, channels, strides=strides)
    bias = b.flash("bias", Type.INT32, filters, strides=(bias_step,))
    multipliers = b.flash("multipliers", Type.INT32, filters, strides=(step,))
    shifts = b.flash("shifts", Type.INT8, filters, strides=(step,))
    with b.loop("k", filters) as k:
        total = b.flash_load(bias, k)
        with b.loop("r", rows) as r, b.loop("s", columns) as s:
            row, first = r * next_row + s * next_column, offset + s * apart
            if depthwise:
                value = b.compute("sub", Type.INT16, b.ram_load(x, row, first + k), zero_in)
                b.dot(total, value, b.flash_load(w, r, s, k))
            else:
                with b.loop("c", channels) as c:
                    value = b.compute("sub", Type.INT16, b.ram_load(x, row, first + c), zero_in)
                    b.dot(total, value, b.flash_load(w, k, r, s, c))
        scale = b.flash_load(multipliers, k), b.flash_load(shifts, k)
        b.ram_store(y, b.requantise(total, *scale, zero_out, (low, high)), k)


@kernel("y[k] = requantise(bias[k] + sum over the window of (x - zero point) * w[k])")
def conv_pixel(b: Builder) -> None:
    _pixel(b, depthwise=False)


@kernel("y[k] = requantise(bias[k] + sum over the window of (x[k] - zero point) * w[k])")
def depthwise_pixel(b: Builder) -> None:
    _pixel(b, depthwise=True)


@kernel(
    "y[k] = bias[k] + sum over the window of x * w[k], sums of 64 bits, scaled and clamped; k = output j of group g"
)
def conv_wide(b: Builder) -> None:
    """A depthwise layer has a group for each channel, and any other convolution has one group."""
    pointers, reach, rows, columns, channels, groups = b.extents(
        "pointers", "reach", "rows", "columns", "channels", "groups"
    )
    (each,) = b.extents("each")
    low, high, scale_step, bias_step = b.parameters("low", "high", "scale_step", "bias_step")
    next_row, next_column, apart, offset = b.parameters("next_row", "next_column", "apart", "offset")
    strides = b.parameters("filter_weights", "row_weights", "tap_weights")
    filters = groups * each
    x, y = b.rows("x", Type.INT16, pointers, reach), b.output("y", Type.INT16, filters)
    w = b.flash("w", Type.INT8, filters, rows, columns, channels, strides=strides)
    bias = b.flash("bias", INT32, filters, 2, strides=(bias_step,))  # A bias has 64 bits, with the lower 32 bits first.
    multipliers = b.flash("multipliers", INT32, filters, strides=(scale_step,))
    shifts = b.flash("shifts", Type.INT8, filters, strides=(scale_step,))
    with b.loop("g", groups) as g, b.loop("j", each) as j:
        k = g * each + j
        total = b.compute("join", Type.INT64, b.flash_load(bias, k, 0), b.flash_load(bias, k, 1))
        with b.loop("r", rows) as r, b.loop("s", columns) as s, b.loop("c", channels) as c:
            value = b.ram_load(x, r * next_row + s * next_column, offset + s * apart + g + c)
            b.assign("dot_wide", total, value, b.flash_load(w, k, r, s, c))
        scaled = b.compute("rescale_wide", INT32, total, b.flash_load(multipliers, k), b.flash_load(shifts, k))
        b.ram_store(y, b.clamp(scaled, (low, high), Type.INT16), k)


@kernel("sums[c] += sum over the runs of bytes under the window of (x - zero point) * w[c]")
def conv_sums(b: Builder) -> None:
    """The kernel stores int32 sums, and the caller of the kernel scales the sums."""
    pointers, reach, parts, count, run, filters = b.extents("pointers", "reach", "parts", "count", "run", "filters")
    zero_in, next_at, stride, next_offset, step = b.parameters("zero_in", "next_at", "stride", "next_offset", "step")
    (offset,) = b.parameters("offset")
    strides = b.parameters("filter_weights", "part_weights", "run_weights")
    x, sums = b.rows("x", Type.INT8, pointers, reach), b.workspace("sums", INT32, filters)
    w = b.flash("w", Type.INT8, filters, parts, count, run, strides=strides)
    with b.loop("c", filters) as c:
        total = b.ram_load(sums, c)
        with b.loop("p", parts) as p, b.loop("n", count) as n, b.loop("b", run) as at:
            value = b.ram_load(x, p * next_at + n * stride, offset + p * next_offset + at * step)
            b.dot(total, b.compute("sub", Type.INT16, value, zero_in), b.flash_load(w, c, p, n, at))
        b.ram_store(sums, total, c)


@kernel("sums[c] += sum over the window of (x[spread * c] - zero point) * w[c]")
def depthwise_sums(b: Builder) -> None:
    """The kernel stores int32 sums. The caller of the kernel scales the sums, or keeps the sums for the next call."""
    pointers, reach, rows, columns, channels = b.extents("pointers", "reach", "rows", "columns", "channels")
    zero_in, next_row, next_column, apart, offset = b.parameters(
        "zero_in", "next_row", "next_column", "apart", "offset"
    )
    strides = b.parameters("row_weights", "tap_weights")
    (spread,) = b.parameters("spread")  # If `spread` is 0, all channels read one input channel.
    x, sums = b.rows("x", Type.INT8, pointers, reach), b.workspace("sums", INT32, channels)
    w = b.flash("w", Type.INT8, rows, columns, channels, strides=strides)
    with b.loop("c", channels) as c:
        total = b.ram_load(sums, c)
        with b.loop("r", rows) as r, b.loop("s", columns) as s:
            value = b.ram_load(x, r * next_row + s * next_column, offset + s * apart + c * spread)
            b.dot(total, b.compute("sub", Type.INT16, value, zero_in), b.flash_load(w, r, s, c))
        b.ram_store(sums, total, c)


def _pool(
    b: Builder, kind: Type, initial: Index | int, take: Callable[[Reg, Reg], None], output: Callable[[Reg], Reg]
) -> None:
    """Each call of the kernel continues the sums of the previous call."""
    pointers, reach, run, channels = b.extents("pointers", "reach", "run", "channels")
    offset, first, last = b.parameters("offset", "first", "last")
    x, y = b.rows("x", kind, pointers, reach), b.output("y", kind, channels)
    sums = b.workspace("sums", INT32, channels)
    with b.loop("c", channels) as c:
        total = b.broadcast(INT32, Index.of(initial))
        with b.inside(first, 1):  # The first call for a window does not read the sums.
            b.assign("copy", total, b.ram_load(sums, c))
        with b.loop("p", pointers) as p, b.loop("t", run) as t:
            take(total, b.ram_load(x, p, offset + t * channels + c))
        with b.inside(last, 1):
            b.ram_store(sums, total, c)
        with b.inside(last - 1, 1):
            b.ram_store(y, b.compute("copy", kind, output(total)), c)


def max_pool_pixel(kind: Type, sign: int = 1) -> KernelProgram:
    """If `sign` is 1, the kernel finds the largest value of a window, and if `sign` is -1, the smallest value. The
    search begins with one limit of the outputs, so the kernel applies only the other limit after the search.
    """

    def describe(b: Builder) -> None:
        low, high = b.parameters("low", "high")

        def take(most: Reg, x: Reg) -> None:
            b.update("max" if sign > 0 else "min", most, x)

        def output(most: Reg) -> Reg:
            return b.compute("min", INT32, most, high) if sign > 0 else b.compute("max", INT32, most, low)

        _pool(b, kind, low if sign > 0 else high, take, output)

    most = "greatest" if sign > 0 else "smallest"
    return kernel(f"y[c] = the {most} x[p, c], clamped", "max_pool_pixel" if sign > 0 else "min_pool_pixel")(describe)


def _clamped(b: Builder, value: Reg, kind: Type) -> Reg:
    low, high = b.parameters("low", "high")
    return b.clamp(value, (low, high), kind)


def average_pool_pixel(kind: Type) -> KernelProgram:
    def describe(b: Builder) -> None:
        (area,) = b.extents("area")
        _pool(
            b, kind, 0, lambda total, x: b.update("add", total, x),
            lambda total: _clamped(b, b.compute("divide_rounded", INT32, total, area), kind),
        )  # fmt: skip

    return kernel("y[c] = sum over p of x[p, c] / area, halves away from zero, clamped", "average_pool_pixel")(describe)


def mean_pixel(kind: Type) -> KernelProgram:
    def describe(b: Builder) -> None:
        (area,) = b.extents("area")
        zero_in, multiplier, shift, zero_out = b.parameters("zero_in", "multiplier", "shift", "zero_out")

        def output(total: Reg) -> Reg:
            scaled = b.rescale(b.compute("sub", INT32, total, area * zero_in), multiplier, shift)
            return _clamped(b, b.compute("add", INT32, scaled, zero_out), kind)

        _pool(b, kind, 0, lambda total, x: b.update("add", total, x), output)

    return kernel("y[c] = requantise(sum over p of (x[p, c] - zero point))", "mean_pixel")(describe)


def place_pixel(kind: Type) -> KernelProgram:
    """With the parameter `sign`, which is 1 or -1, the kernel finds the index of the largest or the smallest x. As in
    TFLM's arg_min_max.h, the kernel ignores each NaN after the first pixel. The parameter `before` is the number
    of pixels that earlier calls have read.
    """
    held = kind if kind is Type.FLOAT32 else INT32

    def describe(b: Builder) -> None:
        pointers, reach, run, channels = b.extents("pointers", "reach", "run", "channels")
        offset, before, first, last = b.parameters("offset", "before", "first", "last")
        sign: Index | Reg = b.parameters("sign")[0]
        sign = b.compute("as_float", kind, sign) if kind is Type.FLOAT32 else sign
        x, y = b.rows("x", kind, pointers, reach), b.output("y", INT32, channels)
        values = b.workspace("values", held, channels, aligned=held is INT32)
        places = b.workspace("places", INT32, channels)
        with b.loop("c", channels) as c:
            most, found = (b.compute("copy", to, Index.of(0)) for to in (held, INT32))
            with b.inside(first, 1):  # The first call for a window does not read the sums.
                b.assign("copy", most, b.ram_load(values, c))
                b.assign("copy", found, b.ram_load(places, c))
            with b.inside(before, pointers):
                b.assign("mul", most, b.ram_load(x, 0, offset + c), sign)
            with b.loop("p", pointers) as p, b.loop("t", run) as t:
                value = b.compute("mul", held, b.ram_load(x, p, offset + t * channels + c), sign)
                better = b.compute("less", INT32, most, value)
                b.assign("select", found, better, before + p * run + t, found)
                b.assign("select", most, better, value, most)
            with b.inside(last, 1):
                b.ram_store(values, most, c)
                b.ram_store(places, found, c)
            with b.inside(last - 1, 1):
                b.ram_store(y, found, c)

    return kernel("y[c] = the first p of the greatest sign * x[p, c]", f"place_{kind.short}")(describe)
