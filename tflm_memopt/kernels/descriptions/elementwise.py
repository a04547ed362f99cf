"""Element by element. TFLM: reference_integer_ops::Add, reference_ops::Sub (int8)."""

from __future__ import annotations

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Index, Reg, Type

LEFT_SHIFT = 20
"""Bits by which both operands are raised."""


@kernel("y = requantise(requantise(a - zero_a) + requantise(b - zero_b))")
def add(b: Builder) -> None:
    (n,) = b.extents("n")
    zero_a, zero_b, zero_out, low, high = b.parameters("zero_a", "zero_b", "zero_out", "low", "high")
    scale_a, scale_b, scale_out = b.parameters("scale_a", "scale_b", "scale_out")
    right_a, right_b, right_out = b.parameters("right_a", "right_b", "right_out")  # shifts are none to the left

    def scaled(value: Reg, multiplier: Index, right: Index) -> Reg:
        product = b.compute("high_mul", Type.INT32, value, multiplier)
        return b.compute("round_shift", Type.INT32, product, right)

    x, other, y = b.ram("x", Type.INT8, n), b.ram("other", Type.INT8, n), b.output("y", Type.INT8, n)
    with b.loop("i", n) as i:
        sides = []
        for tensor, zero, scale, right in ((x, zero_a, scale_a, right_a), (other, zero_b, scale_b, right_b)):
            wide = b.broadcast(Type.INT32, b.ram_load(tensor, i))
            wide = b.compute("sub", Type.INT32, wide, zero)
            raised = b.compute("shift_left", Type.INT32, wide, Index.of(LEFT_SHIFT))
            sides.append(scaled(raised, scale, right))
        total = scaled(b.compute("add", Type.INT32, *sides), scale_out, right_out)
        b.ram_store(y, b.clamp(b.compute("add", Type.INT32, total, zero_out), (low, high)), i)
        b.ram_free(x, i)
        b.ram_free(other, i)
