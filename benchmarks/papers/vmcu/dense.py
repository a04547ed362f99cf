"""Describe the fully connected layer in vMCU's Figure 4. TFLM computes the layer in
reference_integer_ops::FullyConnected and FullyConnectedPerChannel.
"""

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Type


@kernel("y[m, n] = requantise(bias[n] + sum over k of (x[m, k] - zero point) * w[n, k])")
def dense(b: Builder) -> None:
    rows, depth, units = b.extents("rows", "depth", "units")
    zero_in, zero_out, low, high = b.parameters("zero_in", "zero_out", "low", "high")
    (step,) = b.parameters("scale_step")  # 0 if all units share a scale, else 1
    x, y = b.ram("x", Type.INT8, rows, depth), b.output("y", Type.INT8, rows, units)
    w, bias = b.flash("w", Type.INT8, units, depth), b.flash("bias", Type.INT32, units)
    multipliers = b.flash("multipliers", Type.INT32, units, stride=step)
    shifts = b.flash("shifts", Type.INT8, units, stride=step)
    with b.loop("m", rows) as m:
        with b.loop("n", units) as n:
            total = b.flash_load(bias, n)
            with b.loop("k", depth) as k:
                value = b.compute("sub", Type.INT16, b.ram_load(x, m, k), zero_in)
                b.dot(total, value, b.flash_load(w, n, k))
            scale = b.flash_load(multipliers, n), b.flash_load(shifts, n)
            b.ram_store(y, b.requantise(total, *scale, zero_out, (low, high)), m, n)
        b.ram_free(x, m)
