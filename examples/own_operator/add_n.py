"""Describe ADD_N of two tensors as a custom operator (docs/own-operator.md), for the option `--describe`."""

from tflm_memopt.ops.own import Builder, Index, Operand, OperatorContext, Reg, Type, operator, quant


def sums(context: OperatorContext) -> dict[str, int] | None:
    x, y = context.input().quantization, context.output.quantization
    if x is None or y is None or len(context.op.inputs) != 2:
        return None
    one, _, out = quant.add(x.scale[0], x.scale[0], y.scale[0])
    scales = {"scale": one.value, "right": -one.shift, "scale_out": out.value, "right_out": -out.shift}
    return {"zero_in": x.zero_point[0], "zero_out": y.zero_point[0], **scales}


@operator("ADD_N", sums)
def add_n(b: Builder) -> None:
    (n,) = b.extents("channels")
    zero_in, zero_out, scale, right, *out = b.parameters(
        "zero_in", "zero_out", "scale", "right", "scale_out", "right_out"
    )
    x, other, y = b.ram("x", Type.INT8, n), b.ram("other", Type.INT8, n), b.output("y", Type.INT8, n)

    def scaled(value: Operand, scale: Index, right: Index) -> Reg:
        return b.compute("round_shift", Type.INT32, b.compute("high_mul", Type.INT32, value, scale), right)

    def raised(value: Operand) -> Reg:
        above = b.compute("shift_left", Type.INT32, b.compute("sub", Type.INT32, value, zero_in), Index.of(20))
        return scaled(above, scale, right)

    with b.loop("i", n) as i:
        total = raised(Index.of(0))
        for tensor in (x, other):
            b.update("add", total, raised(b.ram_load(tensor, i)))
        value = b.compute("add", Type.INT32, scaled(total, *out), zero_out)
        b.ram_store(y, b.clamp(value, (Index.of(-128), Index.of(127))), i)
