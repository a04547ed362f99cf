"""Counts the loops of kernels without packed weights by imitating the kernels in custom_ops/src."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tflm_memopt.analysis.costs import Work
from tflm_memopt.ops import kernel_choice
from tflm_memopt.ops.kinds import Channels
from tflm_memopt.ops.packing import QUAD
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.work_windows import Kernel, Windows, named, stripes
from tflm_memopt.plan.nest import Ints

SUMS_AT_ONCE = 32
"""Number of channels for which tmo_conv_sums() reads the input once."""


def _conv(w: Windows, done: Work) -> Work:
    """Add the work of the kernel in tmo_conv_ref.c, which computes four channels at once with the DSP extension."""
    if w.rows and (w.op.window.kernel_w > 1 or w.op.window.pad_left > 0):
        done = replace(done, listed=w.pixels)
    if not w.makes_fours:
        done = in_fours(_runs(w, done), w.out_channels)
        few = kernel_choice.makes_few(w.op.kind, w.out_channels, complete=w.complete)
        return named(done, "few") if few else done
    window, c = w.op.window, w.in_channels
    in_rows = w.reads_rows and window.dilation_w == 1
    is_run = window.kernel_h == 1 and (window.kernel_w == 1 or in_rows)
    done = _runs(w, done, gathered=not is_run and kernel_choice.gathers_everywhere(window, c))
    fours, odd = -(-w.out_channels // 4), w.pixels * (w.out_channels % 4 > 0)
    done = replace(done, odd=odd, batches=w.pixels * fours)
    if is_run:
        return named(replace(done, weights=w.over(w.wide * c // QUAD) * fours * 16), "direct")
    if kernel_choice.gathers(window, c, w.out_channels, rows=w.reads_rows):
        values = w.wide * c if in_rows else np.array([c])
        moves = values // QUAD + values % QUAD
        words = -(-window.kernel_h * window.kernel_w * c // QUAD)
        gathers = w.over(moves) if in_rows else w.taps * int(moves[0])
        return named(replace(done, weights=w.pixels * words * fours * 16, gathers=gathers), "gathered")
    return in_fours(done, w.out_channels)


def in_fours(done: Work, channels: int) -> Work:
    """Add the work of tmo_dsp_sums(), which computes four channels at once, and then single channels. The argument
    `done` is the operator's work without the DSP extension.
    """
    runs, words = done.loops / channels, done.quads / channels
    alone = channels % 4
    return replace(
        done, weights=words * (channels - alone) * 4, batches=runs * (channels // 4 + alone), gathers=words * alone
    )


def _runs(w: Windows, done: Work, *, gathered: bool = False) -> Work:
    c, window = w.in_channels, w.op.window
    if gathered or (c > 1 and (not w.in_one_piece or window.dilation_w > 1)):
        runs, size = (w.pixels, window.kernel_h * window.kernel_w * c) if gathered else (w.taps, c)
        pieces = runs * int(_pieces(np.array([size]))[0])
        quads, singles = runs * (size // 8 + size % 8 // 4), runs * (size % 4)
    else:
        values = w.wide * c
        runs, pieces = w.row_windows, w.over(_pieces(values))
        quads, singles = w.over(values // 8 + values % 8 // 4), w.over(values % 4)
    n, shared = w.out_channels, -(-w.out_channels // SUMS_AT_ONCE)
    return replace(
        done, loops=runs * n, pieces=pieces * n, quads=quads * n, singles=singles * n, runs=runs * shared,
        swept=(quads + singles) * shared, vectors=w.taps * c * stripes(n),
        sweeps=(w.row_windows if w.rows and window.dilation_w == 1 else w.taps) * stripes(n),
    )  # fmt: skip


def _sums(w: Windows, done: Work) -> Work:
    channels = w.out_channels // w.op.param
    return in_fours(_runs(replace(w, out_channels=channels), done), channels)


def _pieces(values: Ints) -> Ints:
    found: Ints = values // 8 + values % 8 // 4 + (values % 4 > 0)
    return found


def _depthwise(w: Windows, done: Work) -> Work:
    """Add the work of tmo_depthwise_ref.c.

    On cores with the DSP extension, the kernel computes four channels at a time. The last four channels may include
    channels that the kernel has computed before.
    """
    c = w.out_channels
    n, fours = c // 4 + c % 4, -(-c // 4)
    if w.in_channels != c:
        multiplier = c // w.in_channels
        pairs, odd = w.in_channels * (multiplier // 2), w.in_channels * (multiplier % 2)
        done = replace(
            done, loops=w.pixels * (pairs + odd), pieces=w.taps * pairs, singles=w.taps * odd,
            runs=w.row_windows * (pairs + odd), batches=w.pixels * w.in_channels,
        )  # fmt: skip
        if w.makes_fours and multiplier % 4 == 0:
            return named(replace(done, quads=w.pixels * fours, swept=w.taps * fours), "repeated", "fours")
        return named(done, "repeated")
    done = replace(done, loops=w.pixels * n, pieces=w.taps * n, vectors=w.taps * stripes(c))
    if not w.makes_fours:
        return named(done, "singly")
    listed = w.row_windows if w.reads_rows else w.pixels
    return replace(
        done, quads=w.pixels * fours, batches=listed * fours, swept=w.taps * fours, odd=w.pixels * (c % 4 > 0)
    )


def _filter16(w: Windows, done: Work) -> Work:
    """Add the work of tmo_generated_conv16.c, which computes one int16 channel at a time, or of tmo_conv16_dsp.c."""
    channels = w.out_channels // 2
    done = replace(done, loops=w.row_windows * channels, pieces=w.taps * channels)
    repeated = w.op.traits.channels is Channels.FILTERED and w.in_channels != w.out_channels
    return named(done, "repeated") if repeated else done


def _pool(w: Windows, done: Work) -> Work:
    """Add the work of tmo_generated_pool.c, which computes four channels at once."""
    c, rows = w.out_channels, w.row_windows if w.rows else w.taps
    done = replace(
        done, loops=rows * c, quads=w.pixels * (c // 4), singles=w.pixels * (c % 4), runs=rows * (c // 4 + c % 4),
        swept=w.taps * (c // 4), gathers=w.taps * (c % 4),
    )  # fmt: skip
    if not (w.op.takes_greatest and w.whole and c >= QUAD):
        return done
    fours = -(-c // QUAD)
    return named(replace(done, pieces=w.pixels * fours, batches=rows * fours, odd=w.taps * fours), "words")


def _softmax(w: Windows, done: Work) -> Work:
    """Add the work of tmo_generated_softmax.c for random inputs. For an input far below the largest input of the row,
    the kernel computes no exponential.
    """
    return replace(done, pieces=(done.written - w.pixels) * min(1.0, -w.op.param / 256))


def _two_operands(w: Windows, done: Work) -> Work:
    op, share = w.op, 2 / len(w.op.inputs)
    if op.adds:
        done = named(done, *_way_of_adding(op))
    at_once = w.op.writes.c * (w.columns if w.rows else 1)
    vectors = len(w.x0) * stripes(at_once) if w.rows else w.pixels * stripes(at_once)
    return replace(done, loops=w.pixels, read=done.read * share, vectors=vectors)


def _way_of_adding(op: RowOp) -> Iterator[str]:
    """The fast ADD kernel for the DSP extension accepts only inputs with different scales. For equal scales, a slower
    kernel adds one value at a time.
    """
    multipliers, shifts = op.own_scales
    if any((rows.w, rows.c) != (op.writes.w, op.writes.c) for rows in op.operands):
        yield "repeated"
    elif (multipliers[0], shifts[0]) == (multipliers[1], shifts[1]):
        yield "equal"


def _elementwise(w: Windows, done: Work) -> Work:
    if w.rows or w.columns == 1:
        return done
    if w.in_one_piece and w.out_in_one_piece:
        return replace(done, listed=0)
    return replace(done, pieces=w.pixels, listed=w.taps)


def plain(op: RowOp) -> Kernel:
    if op.is_binary:
        return _two_operands
    if op.traits.pools:
        return _pool
    if op.is_softmax:
        return _softmax
    if op.is_convolution:
        return _conv
    if op.makes_sums:
        return _sums
    if op.is_depthwise:
        return _depthwise
    return _filter16 if op.traits.biased else _elementwise
