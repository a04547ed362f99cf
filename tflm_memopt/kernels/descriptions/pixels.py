"""One output pixel from the window under it, as the executor hands it over: rows, or single pixels, by their addresses.

Windows come clipped: what lies in the padding is not there. TFLM: ConvPerChannel, DepthwiseConvPerChannel.
"""

from __future__ import annotations

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Type


def _pixel(b: Builder, *, depthwise: bool) -> None:
    pointers, reach, rows, columns, channels = b.extents("pointers", "reach", "rows", "columns", "channels")
    filters = channels if depthwise else b.extents("filters")[0]
    zero_in, zero_out, low, high, step = b.parameters("zero_in", "zero_out", "low", "high", "scale_step")
    (bias_step,) = b.parameters("bias_step")  # 0: all are the same
    next_row, next_column, apart, offset = b.parameters("next_row", "next_column", "apart", "offset")
    row_weights, tap_weights = b.parameters("row_weights", "tap_weights")
    x, y = b.rows("x", Type.INT8, pointers, reach), b.output("y", Type.INT8, filters)
    if depthwise:
        w = b.flash("w", Type.INT8, rows, columns, channels, strides=(row_weights, tap_weights))
    else:
        (filter_weights,) = b.parameters("filter_weights")
        strides = (filter_weights, row_weights, tap_weights)
        w = b.flash("w", Type.INT8, filters, rows, columns, channels, strides=strides)
    bias = b.flash("bias", Type.INT32, filters, stride=bias_step)
    multipliers = b.flash("multipliers", Type.INT32, filters, stride=step)
    shifts = b.flash("shifts", Type.INT8, filters, stride=step)
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
