"""Describes kernels that compute the pixels of a row without a window.

The kernels follow TFLM's functions ArgMinMax (arg_min_max.h), BatchMatMul (batch_matmul.h), ResizeBilinearInteger
(resize_bilinear.h) of kernels/internal/reference, and Gather (micro/kernels/gather.cc).
"""

from descriptions.floats import number
from tflm_memopt.format.limits import MAX_PLACES
from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Array, Index, KernelProgram, Reg, Type

INT32 = Type.INT32
FRACTION_BITS = 10


@kernel("y[p] = the first c of the least step * x[p, c]")
def arg_max(b: Builder) -> None:
    """Multiply each input value by the parameter `step` and add the channel index, so that the least result has the
    wanted index in its lowest bits. A negative `step` finds the greatest value.
    """
    pixels, channels = b.extents("pixels", "channels")
    (step,) = b.parameters("step")
    x, y = b.ram("x", Type.INT8, pixels, channels), b.output("y", INT32, pixels)
    with b.loop("p", pixels) as p:
        least = b.broadcast(INT32, 2**31 - 1)
        with b.loop("c", channels) as c:
            b.update("min", least, b.compute("add", INT32, b.compute("mul", INT32, b.ram_load(x, p, c), step), c))
        b.ram_store(y, b.compute("and", INT32, least, MAX_PLACES - 1), p)


@kernel("y[p, c] = table[index[p], c]")
def gather(b: Builder) -> None:
    pixels, rows, channels = b.extents("pixels", "rows", "channels")
    index, y = b.ram("index", INT32, pixels), b.output("y", Type.INT8, pixels, channels)
    table = b.flash("table", Type.INT8, rows, channels)
    with b.loop("p", pixels) as p:
        row = b.compute("mul", INT32, b.ram_load(index, p), channels)
        with b.loop("c", channels) as c:
            b.ram_store(y, b.flash_load(table, 0, c, by=row), p, c)


def _batch_matmul(name: str, kind: Type) -> KernelProgram:
    """The parameters (`down`, `across`) are (0, 1) if the right matrix is transposed, and (1, 0) if not. Int8 matrices
    have zero points. Int16 matrices have no zero points, but their sums have 64 bits.
    """
    dot, sums = ("dot_wide", Type.INT64) if kind is Type.INT16 else ("dot", INT32)

    def describe(b: Builder) -> None:
        rows, depth, columns = b.extents("rows", "depth", "columns")
        down, across = b.parameters("down", "across")
        zeros = b.parameters("zero_left", "zero_right") if kind is Type.INT8 else ()
        left = b.ram("left", kind, rows, depth)
        right = b.rows("right", kind, depth * down + columns * across, columns * down + depth * across)
        y = b.output("y", kind, rows, columns)

        def output(total: Reg) -> Reg:
            if kind is Type.FLOAT32:
                return total
            scale = b.parameters("multiplier", "shift")
            if kind is Type.INT16:
                value = b.compute("rescale_wide", INT32, total, *scale)
            else:
                value = b.compute("add", INT32, b.rescale(total, *scale), *b.parameters("zero_out"))
            return b.clamp(value, (kind.least, -1 - kind.least), kind)

        with b.loop("m", rows) as m, b.loop("n", columns) as n:
            total = number(b, 0) if kind is Type.FLOAT32 else b.broadcast(sums, 0)
            with b.loop("i", depth) as i:
                loaded = b.ram_load(left, m, i), b.ram_load(right, i * down + n * across, n * down + i * across)
                centred = (b.compute("sub", Type.INT16, x, z) for x, z in zip(loaded, zeros, strict=True))
                b.assign(dot, total, *(centred if zeros else loaded))
            b.ram_store(y, output(total), m, n)

    about = "y[m, n] = requantise(sum over i of (left[m, i] - zero_left) * (right[i, n] - zero_right))"
    return kernel(about, name)(describe)


batch_matmul = _batch_matmul("batch_matmul", Type.INT8)
batch_matmul_s16 = _batch_matmul("batch_matmul_s16", Type.INT16)
batch_matmul_f32 = _batch_matmul("batch_matmul_f32", Type.FLOAT32)


@kernel("y[p, c] = x between two pixels of two rows, weighted by how far it is from each")
def resize_bilinear(b: Builder) -> None:
    width, channels, pixels = b.extents("width", "channels", "pixels")
    row, down_step, across_step = b.extents("row", "down_step", "across_step")
    down_first, across_first = b.parameters("down_first", "across_first")
    top, bottom = b.ram("top", Type.INT8, width, channels), b.ram("bottom", Type.INT8, width, channels)
    y = b.output("y", Type.INT8, pixels, channels)
    one = 1 << FRACTION_BITS

    def part(position: Reg) -> tuple[Reg, Reg]:
        second = b.compute("and", INT32, position, one - 1)
        return b.compute("sub", INT32, one, second), second

    def between(first: Reg, second: Reg, parts: tuple[Reg, Reg]) -> Reg:
        products = (b.compute("mul", INT32, x, w) for x, w in zip((first, second), parts, strict=True))
        return b.compute("add", INT32, *products)

    down = part(b.compute("max", INT32, row * down_step + down_first, 0))
    with b.loop("p", pixels) as p:
        at = b.compute("max", INT32, p * across_step + across_first, 0)
        across, left = part(at), b.compute("shift_right", INT32, at, FRACTION_BITS)
        right = b.compute("min", INT32, b.compute("add", INT32, left, 1), width - 1)
        places = [b.compute("mul", INT32, x, channels) for x in (left, right)]
        with b.loop("c", channels) as c:

            def across_row(tensor: Array, c: Index = c) -> Reg:
                first, second = (b.ram_load(tensor, 0, c, by=place) for place in places)
                return between(first, second, across)

            total = between(across_row(top), across_row(bottom), down)
            b.ram_store(y, b.compute("divide_rounded", Type.INT8, total, one * one), p, c)
