"""Describes kernels over windows (vMCU, Figure 5), with strides and padding.

The kernels follow TFLM's functions ConvPerChannel, DepthwiseConvPerChannel, TransposeConv, MaxPool and AveragePool
(kernels/internal/reference).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Index, KernelProgram, Reg, Type

Limits = tuple[Index, Index]
Taps = AbstractContextManager[tuple[Index, Index, Index, Index]]


@contextmanager
def taps(b: Builder, height: Index, width: Index, at: Limits) -> Iterator[tuple[Index, Index, Index, Index]]:
    """Yield each position (r, s) in the window of output pixel `at`, with its row and column in the input. Positions
    outside the input are left out.
    """
    kernel_h, kernel_w = b.extents("kernel_h", "kernel_w")
    stride_h, stride_w, pad_top, pad_left = b.parameters("stride_h", "stride_w", "pad_top", "pad_left")
    dilation_h, dilation_w = b.parameters("dilation_h", "dilation_w")
    with b.loop("r", kernel_h) as r:
        y = at[0] * stride_h + r * dilation_h - pad_top
        with b.inside(y, height), b.loop("s", kernel_w) as s:
            x = at[1] * stride_w + s * dilation_w - pad_left
            with b.inside(x, width):
                yield r, s, y, x


@contextmanager
def transposed_taps(b: Builder, height: Index, width: Index, at: Limits) -> Iterator[tuple[Index, Index, Index, Index]]:
    """Yield each input pixel that adds to output pixel `at`, and the position of its factor in the filter."""
    kernel_h, kernel_w = b.extents("kernel_h", "kernel_w")
    stride_h, stride_w, pad_top, pad_left = b.parameters("stride_h", "stride_w", "pad_top", "pad_left")
    with b.loop("row", height) as y:
        r = at[0] + pad_top - y * stride_h
        with b.inside(r, kernel_h), b.loop("column", width) as x:
            s = at[1] + pad_left - x * stride_w
            with b.inside(s, kernel_w):
                yield r, s, y, x


def _weighted(b: Builder, under: Callable[[Builder, Index, Index, Limits], Taps], *, depthwise: bool = False) -> None:
    height, width, channels, out_h, out_w = b.extents("height", "width", "channels", "out_h", "out_w")
    filters = channels if depthwise else b.extents("filters")[0]
    zero_in, zero_out, low, high, step = b.parameters("zero_in", "zero_out", "low", "high", "scale_step")
    x, y = b.ram("x", Type.INT8, height, width, channels), b.output("y", Type.INT8, out_h, out_w, filters)
    taps_of = Index.name("kernel_h"), Index.name("kernel_w")
    w = b.flash("w", Type.INT8, *((*taps_of, channels) if depthwise else (filters, *taps_of, channels)))
    bias = b.flash("bias", Type.INT32, filters)
    multipliers = b.flash("multipliers", Type.INT32, filters, strides=(step,))
    shifts = b.flash("shifts", Type.INT8, filters, strides=(step,))
    with b.loop("p", out_h) as p, b.loop("q", out_w) as q, b.loop("k", filters) as k:
        total = b.flash_load(bias, k)
        with under(b, height, width, (p, q)) as (r, s, row, column):
            if depthwise:
                value = b.compute("sub", Type.INT16, b.ram_load(x, row, column, k), zero_in)
                b.dot(total, value, b.flash_load(w, r, s, k))
            else:
                with b.loop("c", channels) as c:
                    value = b.compute("sub", Type.INT16, b.ram_load(x, row, column, c), zero_in)
                    b.dot(total, value, b.flash_load(w, k, r, s, c))
        scale = b.flash_load(multipliers, k), b.flash_load(shifts, k)
        b.ram_store(y, b.requantise(total, *scale, zero_out, (low, high)), p, q, k)


@kernel("out[p, q, k] = requantise(bias[k] + sum over taps and c of (in[y, x, c] - zero point) * w[k, r, s, c])")
def conv(b: Builder) -> None:
    _weighted(b, taps)


@kernel(
    "out[p, q, k] = requantise(bias[k] + sum of (in[y, x, c] - zero point) * w[k, r, s, c], r = p + pad - y * stride)"
)
def transpose_conv(b: Builder) -> None:
    _weighted(b, transposed_taps)


@kernel("out[p, q, c] = requantise(bias[c] + sum over taps of (in[y, x, c] - zero point) * w[r, s, c])")
def depthwise(b: Builder) -> None:
    _weighted(b, taps, depthwise=True)


def _pool(
    b: Builder, kind: Type, initial: Sequence[int], take: Callable[..., None], output: Callable[..., Reg]
) -> None:
    height, width, channels, out_h, out_w = b.extents("height", "width", "channels", "out_h", "out_w")
    low, high = b.parameters("low", "high")
    x, y = b.ram("x", kind, height, width, channels), b.output("y", kind, out_h, out_w, channels)
    with b.loop("p", out_h) as p, b.loop("q", out_w) as q, b.loop("c", channels) as c:
        totals = [b.broadcast(Type.INT32, value) for value in initial]
        with taps(b, height, width, (p, q)) as (_, _, row, column):
            take(b.ram_load(x, row, column, c), *totals)
        b.ram_store(y, b.clamp(output(*totals), (low, high), kind), p, q, c)


def _average_pool(name: str, kind: Type) -> KernelProgram:
    @kernel("out[p, q, c] = the mean of in[y, x, c] over the taps inside, halves away from zero, clamped", name)
    def describe(b: Builder) -> None:
        def take(x: Reg, total: Reg, count: Reg) -> None:
            b.update("add", total, x)
            b.update("add", count, 1)

        _pool(b, kind, (0, 0), take, lambda total, count: b.compute("divide_rounded", Type.INT32, total, count))

    return describe


def _mean(name: str, kind: Type) -> KernelProgram:
    @kernel("out[p, q, c] = requantise(sum over the window of (in[y, x, c] - zero point))", name)
    def describe(b: Builder) -> None:
        zero_in, zero_out = b.parameters("zero_in", "zero_out")
        scale = b.parameters("multiplier", "shift")

        def output(total: Reg) -> Reg:
            return b.compute("add", Type.INT32, b.rescale(total, *scale), zero_out)

        _pool(b, kind, (0,), lambda x, total: b.update("add", total, b.compute("sub", Type.INT32, x, zero_in)), output)

    return describe


def _max_pool(name: str, kind: Type) -> KernelProgram:
    @kernel("out[p, q, c] = the greatest in[y, x, c] of the taps inside, clamped", name)
    def describe(b: Builder) -> None:
        _pool(b, kind, (kind.least,), lambda x, best: b.update("max", best, b.broadcast(Type.INT32, x)), lambda x: x)

    return describe


average_pool, average_pool_s16 = _average_pool("average_pool", Type.INT8), _average_pool("average_pool_s16", Type.INT16)
mean, mean_s16 = _mean("mean", Type.INT8), _mean("mean_s16", Type.INT16)
max_pool, max_pool_s16 = _max_pool("max_pool", Type.INT8), _max_pool("max_pool_s16", Type.INT16)
