"""Describes kernels of float32 and int32, which compute and round in the order of TFLM's reference kernels.

The kernels follow TFLM's functions Add, SubWithActivation, Mul, Div, FloorDiv, FloorMod, SquaredDifference, MaximumOp,
MinimumOp, BroadcastPrelu4DSlowFloat, LeakyRelu, ReluFloat, Relu6Float, Logistic, Tanh, Elu, HardSwish, Softmax,
LogSoftmax, Comparison, RoundToNearest and copyCast (kernels/internal/reference, micro/kernels).
"""

from collections.abc import Callable

import numpy as np

from descriptions.elementwise import binary, mapped
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import KernelProgram, Reg, Type

FLOAT, INT32 = Type.FLOAT32, Type.INT32
HIGHEST_SIGMOID, LOWEST_SIGMOID = 16.619047164916992188, -9.0
"""TFLM's LOGISTIC returns 1 for x above HIGHEST_SIGMOID, and e^x for x below LOWEST_SIGMOID (cutoff_upper,
cutoff_lower).
"""


def number(b: Builder, value: float) -> Reg:
    return b.compute("as_float", FLOAT, int(np.float32(value).view(np.int32)))


class Clamp:
    """Clamps a float32 output to a range. Two int32 parameters of the kernel have the bits of the range's float32 ends.
    A NaN stays a NaN.
    """

    def __init__(self, b: Builder, *, upper: bool = True) -> None:
        self.b = b
        names = ("low", "high") if upper else ("low",)
        self.low, *self.high = (b.compute("as_float", FLOAT, bits) for bits in b.parameters(*names))

    def apply(self, value: Reg) -> Reg:
        raised = self.b.compute("max", FLOAT, value, self.low)
        return self.b.compute("min", FLOAT, raised, *self.high) if self.high else raised


def _square_of_difference(b: Builder, x: Reg, other: Reg) -> Reg:
    difference = b.compute("sub", FLOAT, x, other)
    return b.compute("mul", FLOAT, difference, difference)


def _sloped(b: Builder, x: Reg, other: Reg) -> Reg:
    product = b.compute("mul", FLOAT, x, other)
    return b.compute("select", FLOAT, b.compute("less_equal", INT32, number(b, 0), x), x, product)


def _leaking(b: Builder, x: Reg, other: Reg) -> Reg:
    product = b.compute("mul", FLOAT, x, other)
    return b.compute("select", FLOAT, b.compute("less", INT32, number(b, 0), x), x, product)


def _limited(name: str, about: str, op: str) -> KernelProgram:
    return binary(name, about, lambda b, x, z: b.compute(op, FLOAT, x, z), FLOAT, finish=lambda b: Clamp(b).apply)


def _directly(name: str, about: str, op: str, of: Type = FLOAT) -> KernelProgram:
    return binary(name, about, lambda b, x, z: b.compute(op, of, x, z), of)


def _backward(name: str, about: str, op: str) -> KernelProgram:
    return binary(name, about, lambda b, x, z: b.compute(op, FLOAT, z, x), FLOAT)


add = _limited("add_f32", "y = clamp(x + other)", "add")
subtract = _limited("subtract_f32", "y = clamp(x - other)", "sub")
multiply = _limited("multiply_f32", "y = clamp(x * other)", "mul")
divide = _limited("divide_f32", "y = clamp(x / other)", "divide")
maximum = _backward("maximum_f32", "y = x if x > other, otherwise other", "max")
minimum = _backward("minimum_f32", "y = x if x < other, otherwise other", "min")
square_difference = binary("square_difference_f32", "y = (x - other)^2", _square_of_difference, FLOAT)
prelu = binary("prelu_f32", "y = x if x >= 0, otherwise x * other", _sloped, FLOAT)
leaky_relu = binary("leaky_relu_f32", "y = x if x > 0, otherwise x * other", _leaking, FLOAT)
sums = _directly("sum_f32", "y = x + other", "add")
differences = _directly("difference_f32", "y = x - other", "sub")
products = _directly("product_f32", "y = x * other", "mul")
floor_divide = _directly("floor_divide_f32", "y = floor(x / other)", "floor_divide")
floor_modulo = _directly("floor_modulo_f32", "y = x - other * floor(x / other)", "floor_modulo")
add_s32 = _directly("add_s32", "y = x + other modulo 2^32", "add", INT32)
subtract_s32 = _directly("subtract_s32", "y = x - other modulo 2^32", "sub", INT32)
multiply_s32 = _directly("multiply_s32", "y = x * other modulo 2^32", "mul", INT32)
maximum_s32 = _directly("maximum_s32", "y = the greater of x and other", "max", INT32)
minimum_s32 = _directly("minimum_s32", "y = the smaller of x and other", "min", INT32)


def _different(b: Builder, x: Reg, other: Reg) -> Reg:
    return b.compute("sub", Type.INT8, 1, b.compute("equal", INT32, x, other))


def _comparisons(of: Type) -> tuple[KernelProgram, ...]:
    """Return kernels that compare two tensors of the type `of` and write a byte for each element. For NaN, only "not
    equal" is true.
    """

    def compared(name: str, sign: str, compare: Callable[[Builder, Reg, Reg], Reg]) -> KernelProgram:
        return binary(f"{name}_{'f32' if of is FLOAT else 's32'}", f"y = x {sign} other", compare, of, Type.INT8)

    return (
        compared("equal", "==", lambda b, x, z: b.compute("equal", Type.INT8, x, z)),
        compared("not_equal", "!=", _different),
        compared("less", "<", lambda b, x, z: b.compute("less", Type.INT8, x, z)),
        compared("less_equal", "<=", lambda b, x, z: b.compute("less_equal", Type.INT8, x, z)),
    )


comparisons_f32, comparisons_s32 = _comparisons(FLOAT), _comparisons(INT32)


clamp = mapped("clamp_f32", "y = clamp(x)", lambda b: Clamp(b).apply)
raised = mapped("raised_f32", "y = x if x >= low, otherwise low", lambda b: Clamp(b, upper=False).apply)
tanh = mapped("tanh_f32", "y = tanh(x)", lambda b: lambda x: b.compute("tanh", FLOAT, x))
absolute = mapped("abs_f32", "y = |x|", lambda b: lambda x: b.compute("magnitude", FLOAT, x))
negative = mapped("negative_f32", "y = -x", lambda b: lambda x: b.compute("negative", FLOAT, x))
square = mapped("square_f32", "y = x^2", lambda b: lambda x: b.compute("mul", FLOAT, x, x))
root = mapped("root_f32", "y = the square root of x", lambda b: lambda x: b.compute("root", FLOAT, x))
exponential = mapped("exponential_f32", "y = e^x", lambda b: lambda x: b.compute("exp", FLOAT, x))
logarithm = mapped("logarithm_f32", "y = ln(x)", lambda b: lambda x: b.compute("log", FLOAT, x))
floor = mapped("floor_f32", "y = floor(x)", lambda b: lambda x: b.compute("floor", FLOAT, x))
ceiling = mapped("ceiling_f32", "y = ceil(x)", lambda b: lambda x: b.compute("ceil", FLOAT, x))
rounded = mapped("rounded_f32", "y = round(x), halves to even", lambda b: lambda x: b.compute("round", FLOAT, x))
from_s32 = mapped("from_s32", "y = x as float32", lambda b: lambda x: b.compute("copy", FLOAT, x), of=INT32)
to_s32 = mapped("to_s32", "y = x without its fraction", lambda b: lambda x: b.compute("whole", INT32, x), to=INT32)


def _reciprocal_root(b: Builder) -> Callable[[Reg], Reg]:
    one = number(b, 1)
    return lambda x: b.compute("divide", FLOAT, one, b.compute("root", FLOAT, x))


reciprocal_root = mapped("reciprocal_root_f32", "y = 1 / the square root of x", _reciprocal_root)


def _sigmoid(b: Builder) -> Callable[[Reg], Reg]:
    high, low, one = (number(b, v) for v in (HIGHEST_SIGMOID, LOWEST_SIGMOID, 1))

    def function(x: Reg) -> Reg:
        small = b.compute("less", INT32, x, low)
        argument = b.compute("select", FLOAT, small, x, b.compute("negative", FLOAT, x))
        power = b.compute("exp", FLOAT, argument)
        quotient = b.compute("divide", FLOAT, one, b.compute("add", FLOAT, one, power))
        value = b.compute("select", FLOAT, small, power, quotient)
        return b.compute("select", FLOAT, b.compute("less", INT32, high, x), one, value)

    return function


def _hard_swish(b: Builder) -> Callable[[Reg], Reg]:
    zero, three, six = (number(b, v) for v in (0, 3, 6))

    def function(x: Reg) -> Reg:
        raised = b.compute("max", FLOAT, zero, b.compute("add", FLOAT, x, three))
        product = b.compute("mul", FLOAT, x, b.compute("min", FLOAT, six, raised))
        return b.compute("divide", FLOAT, product, six)

    return function


logistic = mapped("logistic_f32", "y = 1 / (1 + e^-x)", _sigmoid)
elu = mapped("elu_f32", "y = x if x >= 0, otherwise e^x - 1", lambda b: lambda x: b.compute("elu", FLOAT, x))
hard_swish = mapped("hard_swish_f32", "y = x * min(6, max(0, x + 3)) / 6", _hard_swish)


@kernel("y[m, k] = e^(beta * (x[m, k] - max)) / sum over k of e^(beta * (x[m, k] - max))", "softmax_f32")
def softmax(b: Builder) -> None:
    """The workspace `powers` shares the memory of the output `y`."""
    rows, channels = b.extents("rows", "channels")
    beta = b.compute("as_float", FLOAT, *b.parameters("beta"))
    x, y = b.ram("x", FLOAT, rows, channels), b.output("y", FLOAT, rows, channels)
    powers = b.workspace("powers", FLOAT, rows, channels, aligned=False)
    with b.loop("m", rows) as m:
        greatest, total = number(b, np.finfo(np.float32).min), number(b, 0)
        with b.loop("h", channels) as h:
            b.update("max", greatest, b.ram_load(x, m, h))
        with b.loop("i", channels) as i:
            below = b.compute("sub", FLOAT, b.ram_load(x, m, i), greatest)
            power = b.compute("exp", FLOAT, b.compute("mul", FLOAT, below, beta))
            b.ram_store(powers, power, m, i)
            b.update("add", total, power)
        with b.loop("j", channels) as j:
            b.ram_store(y, b.compute("divide", FLOAT, b.ram_load(powers, m, j), total), m, j)


@kernel("y[m, k] = x[m, k] - max - ln(sum over k of e^(x[m, k] - max))", "log_softmax_f32")
def log_softmax(b: Builder) -> None:
    rows, channels = b.extents("rows", "channels")
    x, y = b.ram("x", FLOAT, rows, channels), b.output("y", FLOAT, rows, channels)
    with b.loop("m", rows) as m:
        greatest, total = number(b, np.finfo(np.float32).min), number(b, 0)
        with b.loop("h", channels) as h:
            b.update("max", greatest, b.ram_load(x, m, h))
        with b.loop("i", channels) as i:
            below = b.compute("sub", FLOAT, b.ram_load(x, m, i), greatest)
            b.update("add", total, b.compute("exp", FLOAT, below))
        logarithm = b.compute("log", FLOAT, total)
        with b.loop("j", channels) as j:
            below = b.compute("sub", FLOAT, b.ram_load(x, m, j), greatest)
            b.ram_store(y, b.compute("sub", FLOAT, below, logarithm), m, j)
