"""Describes kernels for weights that are packed for Cortex-M's DSP extension and for Helium (lower/pack.py). The
kernels compute TFLM's ConvPerChannel, DepthwiseConvPerChannel and FullyConnected. A PC runs the kernels as C, and a
microcontroller runs assembly.
"""

from tflm_memopt.kernels.build import Builder, kernel
from tflm_memopt.kernels.language import Array, Index, Reg, Type

INT8, INT16, INT32 = Type.INT8, Type.INT16, Type.INT32


def _output(b: Builder, total: Reg, scale: tuple[Reg, Reg, Reg]) -> Reg:
    """Multiply a sum, add a constant that includes the zero point (SMMLAR), and shift the result to the right (ASR)."""
    doubled, constant, right = scale
    moved = b.compute("add", INT32, total, constant)
    moved = b.compute("add", INT32, moved, b.compute("sign", INT32, total))
    scaled = b.compute("high_add", INT32, moved, total, doubled)
    return b.compute("clip8", INT8, b.compute("shift_right", INT32, scaled, right))


def _scale(b: Builder, scales: Array, *at: Index) -> tuple[Reg, Reg, Reg]:
    *outer, first = at
    doubled, constant, right = (b.flash_load(scales, *outer, first + k) for k in range(3))
    return doubled, constant, right


def _clamped(b: Builder, total: Reg, multiplier: Reg, shift: Reg, zero: Index, span: tuple[Index, Index]) -> Reg:
    right = b.compute("sub", INT32, Index.of(0), shift)
    return b.clamp(b.scale_right(total, multiplier, zero, right), span)


class Pair:
    """Each packed weight of a pair of channels is 256 times the second channel's weight plus the first channel's
    weight. The field `low` is the first channel's sum, and `all` is the sum of products with the packed weights.
    """

    def __init__(self, b: Builder, scales: Array, *at: Index) -> None:
        self.scales, self.at = scales, at
        self.low, self.all = (b.flash_load(scales, *at, Index.of(k)) for k in range(2))

    def add(self, b: Builder, value: Reg, weight: Reg) -> None:
        raised = b.compute("shift_left", INT32, weight, Index.of(24))
        b.dot(self.low, value, b.compute("shift_right", INT32, raised, Index.of(24)))
        b.dot(self.all, value, weight)

    def store(self, b: Builder, y: Array, *at: Index) -> None:
        upper = b.compute("shift_right", INT32, b.compute("sub", INT32, self.all, self.low), Index.of(8))
        for k, total in enumerate((self.low, upper)):
            b.ram_store(y, _output(b, total, _scale(b, self.scales, *self.at, Index.of(2 + 3 * k))), *at, Index.of(k))


@kernel("y[p, pair] = saturate(sum over values of tile[p] * w[pair])")
def dsp_pairs(b: Builder) -> None:
    """The kernel's input is a tile: two int16 values of each pixel, then the next two values of each pixel."""
    pixels, pairs, twos = b.extents("pixels", "pairs", "twos")
    (step,) = b.parameters("step")
    tile, w = b.workspace("tile", INT16, twos, pixels, 2), b.flash("w", INT16, pairs, twos, 2)
    y = b.output("y", INT8, pixels, pairs, 2, strides=(step, Index.of(2)))
    scales = b.flash("scales", INT32, pairs, 8)
    with b.loop("k", pairs) as k, b.loop("p", pixels) as p:
        pair = Pair(b, scales, k)
        with b.loop("t", twos) as t, b.loop("i", 2) as i:
            pair.add(b, b.ram_load(tile, t, p, i), b.flash_load(w, k, t, i))
        pair.store(b, y, p, k)


@kernel("y[pair] = saturate(sum over values of x * w[pair])")
def dsp_direct(b: Builder) -> None:
    """The weights of `ways` pairs of channels are interleaved."""
    groups, ways, fours = b.extents("groups", "ways", "fours")
    x, y = b.ram("x", INT8, fours, 2, 2), b.output("y", INT8, groups, ways, 2)
    w, scales = b.flash("w", INT16, groups, fours, 2, ways, 2), b.flash("scales", INT32, groups, ways, 8)
    with b.loop("g", groups) as g, b.loop("k", ways) as k:
        pair = Pair(b, scales, g, k)
        with b.loop("t", fours) as t, b.loop("i", 2) as i, b.loop("j", 2) as j:
            pair.add(b, b.ram_load(x, t, j, i), b.flash_load(w, g, t, i, k, j))
        pair.store(b, y, g, k)


@kernel("y[c] = saturate(sum over taps of x[tap, c] * w[tap, c])")
def dsp_depthwise(b: Builder) -> None:
    """For every four channels, flash holds the biases, the weights, and then each channel's multiplier, added constant
    and right shift. For every three taps, the weights of two taps are interleaved, and the third tap's weights follow.
    """
    taps, reach, fours, turns = b.extents("taps", "reach", "fours", "turns")
    (first, words) = b.parameters("first", "words")
    x, y = b.rows("x", INT8, taps, reach), b.output("y", INT8, fours, 2, 2)
    bias = b.flash("bias", INT32, fours, 2, 2, strides=(words, Index.of(2)))
    both = b.flash("both", INT16, fours, turns, 2, 2, 2, strides=(words * 2, *map(Index.of, (12, 4, 2))))
    third = b.flash("third", INT16, fours, turns, 2, 2, strides=(words * 2, *map(Index.of, (12, 2))))
    scales = b.flash("scales", INT32, fours, 2, 2, 3, strides=(words, *map(Index.of, (6, 3))))
    with b.loop("g", fours) as g, b.loop("u", 2) as u, b.loop("v", 2) as v:
        total, at = b.flash_load(bias, g, u, v), first + g * 4 + u * 2 + v
        with b.loop("t", turns) as t:
            for k in range(2):
                b.dot(total, b.ram_load(x, t * 3 + k, at), b.flash_load(both, g, t, u, v, Index.of(k)))
            b.dot(total, b.ram_load(x, t * 3 + 2, at), b.flash_load(third, g, t, v, u))
        b.ram_store(y, _output(b, total, _scale(b, scales, g, u, v, Index.of(0))), g, u, v)


@kernel("y[p, c] = clamp(requantise(sum over values of x[p] * w[c]))")
def mve_conv(b: Builder) -> None:
    """For every four channels, flash holds weights, biases, multipliers and shifts, in this order. After sixteen
    weights of one channel, sixteen weights of the next channel follow.
    """
    pixels, fours, turns = b.extents("pixels", "fours", "turns")
    apart, next_out, zero_out, low, high = b.parameters("apart", "next_out", "zero_out", "low", "high")
    x = b.ram("x", INT8, pixels, turns, 16, strides=(apart, Index.of(16)))
    y = b.output("y", INT8, pixels, fours, 4, strides=(next_out, Index.of(4)))
    w, scales = b.flash("w", INT8, fours, turns, 4, 16), b.flash("scales", INT32, fours, 3, 4)
    with b.loop("f", fours) as f, b.loop("c", 4) as c, b.loop("p", pixels) as p:
        total = b.flash_load(scales, f, Index.of(0), c)
        with b.loop("t", turns) as t, b.loop("i", 16) as i:
            b.dot(total, b.ram_load(x, p, t, i), b.flash_load(w, f, t, c, i))
        scale = b.flash_load(scales, f, Index.of(1), c), b.flash_load(scales, f, Index.of(2), c)
        b.ram_store(y, _clamped(b, total, *scale, zero_out, (low, high)), p, f, c)


@kernel("y[c] = clamp(requantise(sum over taps of x[tap, c] * w[tap, c]))")
def mve_depthwise(b: Builder) -> None:
    """For each block of at most sixteen channels, flash holds biases, weights, multipliers and shifts, in this order
    (lower/pack.py).
    """
    taps, reach, sixteens, fours = b.extents("taps", "reach", "sixteens", "fours")
    first, words, zero_out, low, high = b.parameters("first", "words", "zero_out", "low", "high")
    x, y = (
        b.rows("x", INT8, taps, reach),
        b.output("y", INT8, sixteens, fours, 2, 2, strides=(Index.of(16), Index.of(4), Index.of(2))),
    )
    w = b.flash("w", INT8, sixteens, taps, fours, 2, 2, strides=(words * 4, *map(Index.of, (16, 4, 2))))
    constants = (
        b.flash(n, INT32, sixteens, 2, 2, fours, strides=(words, *map(Index.of, (8, 4))))
        for n in ("bias", "multipliers", "shifts")
    )
    bias, multipliers, shifts = constants
    with b.loop("g", sixteens) as g, b.loop("k", fours) as k, b.loop("v", 2) as v, b.loop("u", 2) as u:
        total, at = b.flash_load(bias, g, u, v, k), first + g * 16 + k * 4 + v * 2 + u
        with b.loop("t", taps) as t:
            b.dot(total, b.ram_load(x, t, at), b.flash_load(w, g, t, k, v, u))
        scale = b.flash_load(multipliers, g, u, v, k), b.flash_load(shifts, g, u, v, k)
        b.ram_store(y, _clamped(b, total, *scale, zero_out, (low, high)), g, k, v, u)


@kernel("sums[c] += the sum over pixels of x[p, c]")
def add_pixels(b: Builder) -> None:
    n, channels = b.extents("n", "channels")
    x, sums = b.ram("x", INT8, n, channels), b.workspace("sums", INT32, channels)
    with b.loop("c", channels) as c:
        total = b.ram_load(sums, c)
        with b.loop("p", n) as p:
            b.update("add", total, b.ram_load(x, p, c))
        b.ram_store(sums, total, c)
