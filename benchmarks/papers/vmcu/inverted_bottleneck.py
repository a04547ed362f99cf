"""The inverted bottleneck of vMCU's Figure 6, as a description."""

from __future__ import annotations

from collections.abc import Callable

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.descriptions.windows import taps
from tflm_memopt.kernels.language import Index, Type


def bottleneck(*, residual: bool) -> Callable[[Builder], None]:
    """vMCU, Figure 6: expansion, 3x3 window, projection and, with as many channels in and out, an addition.

    A pixel at a time, so that only 3 x 3 + 1 + 1 pixels of what lies between exist. Sums are clamped, not requantised:
    the figure is about places.
    """

    def describe(b: Builder) -> None:
        height, width, c_in, c_mid, c_out = b.extents("height", "width", "c_in", "c_mid", "c_out")
        out_h, out_w = b.extents("out_h", "out_w")
        a, e = b.ram("a", Type.INT8, height, width, c_in), b.output("e", Type.INT8, out_h, out_w, c_out)
        kernel_h, kernel_w = Index.name("kernel_h"), Index.name("kernel_w")
        window = b.workspace("b", Type.INT8, kernel_h, kernel_w, c_mid)
        middle, made = b.workspace("c", Type.INT8, c_mid), b.workspace("d", Type.INT8, c_out)
        expand, project = b.flash("expand", Type.INT8, c_mid, c_in), b.flash("project", Type.INT8, c_out, c_mid)
        filters = b.flash("filters", Type.INT8, kernel_h, kernel_w, c_mid)
        low, high = Index.of(-128), Index.of(127)
        with b.loop("p", out_h) as p, b.loop("q", out_w) as q:
            with taps(b, height, width, (p, q)) as (r, s, y, x), b.loop("m", c_mid) as m:
                total = b.broadcast(Type.INT32, Index.of(0))
                with b.loop("i", c_in) as i:
                    b.dot(total, b.ram_load(a, y, x, i), b.flash_load(expand, m, i))
                b.ram_store(window, b.clamp(total, (low, high)), r, s, m)
            sizes = b.sizes, b.numbers
            b.sizes, b.numbers = [], []  # the same taps once more
            with b.loop("j", c_mid) as j:
                total = b.broadcast(Type.INT32, Index.of(0))
                with taps(b, height, width, (p, q)) as (r, s, _, _):
                    b.dot(total, b.ram_load(window, r, s, j), b.flash_load(filters, r, s, j))
                b.ram_store(middle, b.clamp(total, (low, high)), j)
            b.sizes, b.numbers = sizes
            with b.loop("o", c_out) as o:
                total = b.broadcast(Type.INT32, Index.of(0))
                with b.loop("l", c_mid) as at:
                    b.dot(total, b.ram_load(middle, at), b.flash_load(project, o, at))
                b.ram_store(made, b.clamp(total, (low, high)), o)
            with b.loop("n", c_out) as n:
                value = b.broadcast(Type.INT32, b.ram_load(made, n))
                if residual:
                    value = b.compute("add", Type.INT32, value, b.ram_load(a, p, q, n))
                b.ram_store(e, b.clamp(value, (low, high)), p, q, n)

    return describe


inverted_bottleneck = kernel("e = d + a, d = project(window(expand(a))), a pixel at a time")(bottleneck(residual=True))
bottleneck_without_add = kernel("e = project(window(expand(a))), a pixel at a time")(bottleneck(residual=False))
