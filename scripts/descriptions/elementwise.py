"""Describes element-wise kernels.

The kernels follow TFLM's functions reference_integer_ops::Add and Mul, reference_ops::Sub, Maximum, Minimum,
SquaredDifference, Prelu, QuantizeLeakyRelu, Requantize, AffineQuantize and Dequantize.
"""

from collections.abc import Callable
from functools import partial

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Array, Index, KernelProgram, Reg, Type

INT32 = Type.INT32
LEFT_SHIFT = 20
LEFT_SHIFT_S16 = 15


@kernel("y = requantise(requantise(a - zero_a) + requantise(b - zero_b))")
def add(b: Builder) -> None:
    (n,) = b.extents("n")
    zero_a, zero_b, zero_out, low, high = b.parameters("zero_a", "zero_b", "zero_out", "low", "high")
    scale_a, scale_b, scale_out = b.parameters("scale_a", "scale_b", "scale_out")
    right_a, right_b, right_out = b.parameters("right_a", "right_b", "right_out")

    def scaled(value: Reg, multiplier: Index, right: Index) -> Reg:
        product = b.compute("high_mul", Type.INT32, value, multiplier)
        return b.compute("round_shift", Type.INT32, product, right)

    x, other, y = b.ram("x", Type.INT8, n), b.ram("other", Type.INT8, n), b.output("y", Type.INT8, n)
    with b.loop("i", n) as i:
        sides = []
        for tensor, zero, scale, right in ((x, zero_a, scale_a, right_a), (other, zero_b, scale_b, right_b)):
            wide = b.broadcast(Type.INT32, b.ram_load(tensor, i))
            wide = b.compute("sub", Type.INT32, wide, zero)
            raised = b.compute("shift_left", Type.INT32, wide, LEFT_SHIFT)
            sides.append(scaled(raised, scale, right))
        total = scaled(b.compute("add", Type.INT32, *sides), scale_out, right_out)
        b.ram_store(y, b.clamp(b.compute("add", Type.INT32, total, zero_out), (low, high)), i)


def binary(
    name: str,
    about: str,
    combine: Callable[[Builder, Reg, Reg], Reg],
    of: Type = Type.INT8,
    to: Type | None = None,
    finish: Callable[[Builder], Callable[[Reg], Reg]] = lambda _: lambda value: value,
) -> KernelProgram:
    """Describe an operation on two operands, either of which may be broadcast.

    Each operand has two parameters: the distance between pixels, and the distance between channels, in elements. The
    distances of a broadcast operand are 0. By default, the output has the type of the operands. The argument `finish`
    is a function that changes each result.
    """

    def describe(b: Builder) -> None:
        pixels, channels = b.extents("pixels", "channels")
        last = finish(b)

        def operand(name: str) -> Array:
            return b.ram(name, of, pixels, channels, strides=b.parameters(f"{name}_pixel", f"{name}_channel"))

        x, other, y = operand("x"), operand("other"), b.output("y", to or of, pixels, channels)
        with b.loop("p", pixels) as p, b.loop("c", channels) as c:
            b.ram_store(y, last(combine(b, b.ram_load(x, p, c), b.ram_load(other, p, c))), p, c)

    return kernel(about, name)(describe)


def mapped(
    name: str,
    about: str,
    make: Callable[[Builder], Callable[[Reg], Reg]],
    of: Type = Type.FLOAT32,
    to: Type = Type.FLOAT32,
) -> KernelProgram:
    def describe(b: Builder) -> None:
        (n,) = b.extents("n")
        x, y = b.ram("x", of, n), b.output("y", to, n)
        function = make(b)
        with b.loop("i", n) as i:
            b.ram_store(y, function(b.ram_load(x, i)), i)

    return kernel(about, name)(describe)


def _centred(b: Builder, value: Reg, name: str) -> Reg:
    return b.compute("sub", INT32, value, *b.parameters(f"zero_{name}"))


def _rescaled(b: Builder, value: Reg, name: str) -> Reg:
    return b.rescale(value, *b.parameters(f"scale_{name}", f"shift_{name}"))


def _output(b: Builder, value: Reg, kind: Type = Type.INT8) -> Reg:
    (zero,) = b.parameters("zero_out")
    low, high = b.parameters("low", "high")
    return b.clamp(b.compute("add", INT32, value, zero), (low, high), kind)


def _raised(b: Builder, x: Reg, other: Reg) -> tuple[Reg, Reg]:
    (left,) = b.parameters("left")

    def raised(value: Reg, name: str) -> Reg:
        return _rescaled(b, b.compute("shift_left", INT32, _centred(b, value, name), left), name)

    return raised(x, "x"), raised(other, "other")


def _signed(b: Builder, value: Reg) -> Reg:
    return b.compute("mul", INT32, value, *b.parameters("sign"))


def _add(b: Builder, x: Reg, other: Reg) -> Reg:
    left, right = _raised(b, x, other)
    return _output(b, _rescaled(b, b.compute("add", INT32, left, _signed(b, right)), "out"))


def _add_s16(b: Builder, x: Reg, other: Reg) -> Reg:
    low, high = b.parameters("low", "high")
    left, right = (
        _rescaled(b, b.compute("shift_left", INT32, value, LEFT_SHIFT_S16), name)
        for value, name in ((x, "x"), (other, "other"))
    )
    total = b.compute("add", INT32, left, _signed(b, right))
    return b.clamp(_rescaled(b, total, "out"), (low, high), Type.INT16)


def _multiply(name: str, kind: Type) -> KernelProgram:
    def combine(b: Builder, x: Reg, other: Reg) -> Reg:
        product = b.compute("mul", INT32, _centred(b, x, "x"), _centred(b, other, "other"))
        return _output(b, _rescaled(b, product, "out"), kind)

    return binary(name, "y = requantise((x - zero_x) * (other - zero_other))", combine, kind)


def _square_of_difference(b: Builder, x: Reg, other: Reg) -> Reg:
    difference = b.compute("sub", INT32, *_raised(b, x, other))
    return _output(b, _rescaled(b, b.compute("mul", INT32, difference, difference), "out"))


def _compare(b: Builder, x: Reg, other: Reg) -> Reg:
    left, right = _raised(b, x, other)
    above, below = (b.compute("less", INT32, *pair) for pair in ((right, left), (left, right)))
    bit = b.compute("add", INT32, b.compute("sub", INT32, above, below), 1)
    wanted = b.broadcast(INT32, *b.parameters("wanted"))
    return b.compute("and", Type.INT8, b.compute("shift_right", INT32, wanted, bit), 1)


def _prelu(b: Builder, x: Reg, other: Reg) -> Reg:
    value = _centred(b, x, "x")
    negative = b.compute("less", INT32, value, 0)
    product = b.compute("mul", INT32, value, _centred(b, other, "other"))
    value = b.compute("select", INT32, negative, product, value)
    return _output(b, b.rescale(value, *_by_sign(b, negative)))


def _by_sign(b: Builder, negative: Reg) -> tuple[Reg, Reg]:
    scales, shifts = (b.parameters(f"{what}_positive", f"{what}_negative") for what in ("scale", "shift"))
    multiplier = b.compute("select", INT32, negative, scales[1], scales[0])
    return multiplier, b.compute("select", INT32, negative, shifts[1], shifts[0])


add_each = binary("add_each", "y = requantise(requantise(x - zero_x) + sign * requantise(other - zero_other))", _add)
add_s16 = binary("add_s16", "y = requantise(requantise(x) + sign * requantise(other))", _add_s16, Type.INT16)
multiply, multiply_s16 = _multiply("multiply", Type.INT8), _multiply("multiply_s16", Type.INT16)
square_difference = binary(
    "square_difference",
    "y = requantise((requantise(x - zero_x) - requantise(other - zero_other))^2)",
    _square_of_difference,
)
compare = binary(
    "compare", "y = bit 0 of wanted if x < other, bit 1 if x == other, bit 2 if x > other, after scaling both", _compare
)
prelu = binary(
    "prelu",
    "y = requantise(x - zero_x), where that is negative requantise((x - zero_x) * (other - zero_other))",
    _prelu,
)


def _range(kind: Type) -> tuple[int, int]:
    return kind.least, -1 - kind.least


def _leaky_relu(b: Builder, x: Reg) -> Reg:
    multiplier, shift = _by_sign(b, b.compute("less", INT32, x, 0))
    negated = b.compute("less", INT32, multiplier, 0)
    x, multiplier = (b.compute("select", INT32, negated, b.compute("sub", INT32, 0, v), v) for v in (x, multiplier))
    return b.clamp(b.rescale(x, multiplier, shift), _range(Type.INT16), Type.INT16)


leaky_relu_s16 = mapped(
    "leaky_relu_s16",
    "y = requantise(x), with another scale below zero, which may be negative",
    lambda b: partial(_leaky_relu, b),
    Type.INT16,
    Type.INT16,
)


def _convert(name: str, source: Type, to: Type) -> KernelProgram:
    def convert(b: Builder, x: Reg) -> Reg:
        (zero,) = b.parameters("zero_out")
        scaled = _rescaled(b, _centred(b, x, "x"), "out")
        return b.clamp(b.compute("add", INT32, scaled, zero), _range(to), to)

    return mapped(name, "y = requantise(x - zero_x)", lambda b: partial(convert, b), source, to)


widen, narrow = _convert("widen", Type.INT8, Type.INT16), _convert("narrow", Type.INT16, Type.INT8)
rescale_s16 = _convert("rescale_s16", Type.INT16, Type.INT16)


def _scale(b: Builder) -> Reg:
    return b.compute("as_float", Type.FLOAT32, *b.parameters("scale"))


def _quantize(name: str, to: Type) -> KernelProgram:
    def make(b: Builder) -> Callable[[Reg], Reg]:
        scale = _scale(b)
        (zero,) = b.parameters("zero_out")

        def quantized(x: Reg) -> Reg:
            steps = b.compute("nearest", INT32, b.compute("divide", Type.FLOAT32, x, scale))
            return b.clamp(b.compute("add", INT32, steps, zero), _range(to), to)

        return quantized

    return mapped(name, "y = saturate(round(x / scale) + zero_out)", make, Type.FLOAT32, to)


def _dequantize(name: str, source: Type) -> KernelProgram:
    """The float32 product has the same bits as TFLM's exact product in double."""

    def make(b: Builder) -> Callable[[Reg], Reg]:
        scale = _scale(b)
        return lambda x: b.compute("mul", Type.FLOAT32, scale, b.compute("copy", Type.FLOAT32, _centred(b, x, "x")))

    return mapped(name, "y = scale * (x - zero_x)", make, source, Type.FLOAT32)


quantize, quantize_s16 = _quantize("quantize", Type.INT8), _quantize("quantize_s16", Type.INT16)
dequantize, dequantize_s16 = _dequantize("dequantize", Type.INT8), _dequantize("dequantize_s16", Type.INT16)
