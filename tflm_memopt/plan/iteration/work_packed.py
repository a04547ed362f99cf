"""Counts the loops in which kernels with packed weights process the windows of an iteration.

Each function mirrors one kernel of custom_ops/src, as far as its instructions depend on shapes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflm_memopt.analysis.costs import Work
from tflm_memopt.format.codes import Part
from tflm_memopt.format.limits import BLOCK_PIXELS, FIVE_PIXELS, PACKED_PIXELS
from tflm_memopt.ops import kernel_choice
from tflm_memopt.ops.packing import QUAD, VECTOR, Packing, is_direct, packed_pixels, packed_values
from tflm_memopt.plan.iteration.work_windows import FULL_RANGE, Kernel, Windows, iterations, named, stripes
from tflm_memopt.plan.nest import Ints

_NINE = 3, 3, 1
"""Kernel size and dilation for which Helium's depthwise kernel is unrolled."""
RUNS_AT_ONCE = 4
"""Maximum number of runs of pixels in one call of tmo_dsp_nine()."""
BLOCK_RUNS = 3
"""Maximum number of runs of blocks in one call of tmo_dsp_3x3()."""


def _values(w: Windows, packed: Packing) -> int:
    return packed_values(packed, (w.op.window.kernel_h, w.op.window.kernel_w), w.in_channels)


def _dsp_conv(w: Windows, done: Work) -> Work:
    """Add the work of tmo_conv_dsp.c, which computes pairs of channels for up to four pixels."""
    values, kernel = _values(w, Packing.DSP_CONV), (w.op.window.kernel_h, w.op.window.kernel_w)
    batches = w.calls or _batches(w, Packing.DSP_CONV, values)[0]
    if w.calls and w.rows:  # Five pixels take two passes in one row, but three passes in two rows.
        batches = (len(w.x0) + w.calls + 1) // 2
    pairs = -(-w.out_channels // 2)
    done = replace(
        done,
        macs=w.pixels * values * 2 * pairs,
        weights=batches * values * 2 * pairs,
        loops=batches * pairs,
        odd=batches * (w.out_channels % 2),
        batches=batches,
    )
    if w.calls and not w.rows:
        return _from_pixels(w, named(done, "joined"))
    if is_direct(Packing.DSP_CONV, kernel, w.in_channels, w.out_channels, w.columns):
        return named(replace(done, read=0), "direct")
    along = ["along"] * (w.in_one_piece and not w.rows)
    single = w.makes_single_pixels(Packing.DSP_CONV) and (w.rows or w.in_channels % QUAD == 0)
    if single or (w.columns == 1 and not w.in_one_piece):
        return _from_pixels(w, named(done, *along))
    return _from_rows(w, named(done, *along, *["short"] * _is_short(w)), values)


def _is_short(w: Windows) -> bool:
    return kernel_choice.pads_rows(w.op.window, w.in_channels)


def _from_pixels(w: Windows, done: Work) -> Work:
    c, window = w.in_channels, w.op.window
    each = np.array([_gathered_row(w, x, [c] * int(n)) for x, n in enumerate(w.wide)], dtype=np.int64)
    missing = int(((window.kernel_h - w.high) * (w.x1 - w.x0)).sum())
    return replace(
        done, pieces=w.taps * c, quads=w.over(each[:, 0]) + missing * -(-window.kernel_w * c // QUAD),
        singles=w.over(each[:, 1]), gathers=w.pixels * window.kernel_h,
    )  # fmt: skip


def _from_rows(w: Windows, done: Work, values: int) -> Work:
    """Return the work of tmo_conv_dsp_columns(), which gathers adjacent windows from whole rows."""
    window, c, rows = w.op.window, w.in_channels, w.op.window.kernel_h
    row, short = window.kernel_w * c, _is_short(w)
    words = -(-row // QUAD)
    inside = (w.wide == window.kernel_w) & (window.dilation_w == 1)
    quads = singles = listed = runs = calls = copied = 0
    for (x0, end, high), times in iterations(w):
        x = x0
        for n in kernel_choice.batches(Packing.DSP_CONV, window, values, end - x0, wide=w.op.wide_tile):
            within = high == rows and bool(inside[x : x + n].all())
            if within and n == PACKED_PIXELS and row >= QUAD:
                runs += times * rows
            elif within and n > 1 and row >= QUAD:
                calls += times * rows * (2 if n == FIVE_PIXELS else 1)
                quads += times * n * rows * words
            elif within:
                calls += times * n * rows
                quads += times * n * rows * (row // QUAD)
                singles += times * n * rows * (row % QUAD)
            elif n == PACKED_PIXELS and c % QUAD == 0:
                listed += times * rows * window.kernel_w
                quads += times * n * rows * words
            else:
                calls += times * n * rows
                for column in range(x, x + n):
                    taps = int(w.wide[column])
                    if short:
                        quads += times * rows * words
                        copied += times * (rows * taps * c if taps * c < words * QUAD else (rows - high) * taps * c)
                        continue
                    each = _gathered_row(w, column, [taps * c] if window.dilation_w == 1 else [c] * taps)
                    quads += times * (high * each[0] + (rows - high) * words)
                    singles += times * high * each[1]
            x += n
    return replace(
        done, pieces=listed, quads=quads, singles=singles + copied, runs=runs, swept=runs * words, gathers=calls
    )


def _gathered_row(w: Windows, x: int, runs: Sequence[int]) -> tuple[int, int]:
    """Return the number of groups of four values and of single values in a window row at column x, with padding."""
    window = w.op.window
    row = window.kernel_w * w.in_channels
    if not runs or runs == [0]:
        return -(-row // QUAD), 0
    first = x * window.stride_w - window.pad_left
    left = -(first // window.dilation_w) * w.in_channels if first < 0 else 0
    at = quads = singles = 0
    for n in (left, *runs, row - left - sum(runs)):
        if at % QUAD == 0:
            quads, singles = quads + n // QUAD, singles + n % QUAD
        else:
            singles += n
        at += n
    return quads, singles


def _dsp_dense(w: Windows, done: Work) -> Work:
    """Add the work of tmo_conv_dsp_dense(): three pairs of channels at once, and the rest as in tmo_conv_dsp.c."""
    pairs = w.out_channels // 2
    triples = pairs // 3 - (pairs % 3 == 1)
    left = pairs - 3 * triples
    return replace(
        done, loops=w.pixels * triples, pieces=w.pixels * left * 2 * w.in_channels, odd=w.pixels * (left > 0)
    )


def _mve_conv(w: Windows, done: Work) -> Work:
    """Add the work of tmo_conv_mve.c: four channels of two pixels, or eight of one pixel, which counts twice."""
    op, channels, values = w.op, w.out_channels, _values(w, Packing.MVE_CONV)
    batches, twos = _batches(w, Packing.MVE_CONV, values)
    pairs, singles = w.pixels - batches, 2 * batches - w.pixels
    fours, eights, left = -(-channels // 4), channels // 8, channels % 8
    rest = -(-left // 4)
    done = replace(
        done,
        macs=values * 8 * (fours * pairs + (eights + rest) * singles),
        weights=values * 4 * (fours * pairs + (2 * eights + rest) * singles),
        loops=fours * pairs + (eights + rest) * singles,
        odd=(channels % 4 > 0) * pairs + (left > 0) * singles,
        clamped=done.written * ((op.output_zero_point, *op.activation) != (-128, *FULL_RANGE)),
    )
    kernel = (op.window.kernel_h, op.window.kernel_w)
    pointwise = w.rows and kernel == (1, 1)
    if pointwise or is_direct(Packing.MVE_CONV, kernel, w.in_channels, channels, w.columns):
        return named(replace(done, read=0), "direct")
    return replace(done, pieces=w.gathered_alone(twos) if w.rows else w.pixels - w.unclipped)


def _batches(w: Windows, packed: Packing, values: int) -> tuple[int, Ints]:
    window, total = w.op.window, 0
    at_once = np.zeros(len(w.wide), dtype=np.int64)
    most = 2 if packed is Packing.MVE_CONV else PACKED_PIXELS
    widths, counts = np.unique(w.x1 - w.x0, return_counts=True)
    for width, count in zip(widths.tolist(), counts.tolist(), strict=True):
        x = 0
        while x < width:
            n = packed_pixels(packed, values, width - x, wide=w.op.wide_tile)
            inside = window.dilation_w == 1 and bool((w.wide[x : x + n] == window.kernel_w).all())
            at_once[x : x + n] = n == most and inside
            x += n
            total += count
    return total, at_once


def _rvv_conv(w: Windows, done: Work) -> Work:
    """Add the work of tmo_vectors.c: vectors of output channels, for two pixels at once or, with few channels, four."""
    values, kernel = _values(w, Packing.RVV_CONV), (w.op.window.kernel_h, w.op.window.kernel_w)
    few = w.out_channels <= VECTOR
    direct = kernel == (1, 1) and (w.rows or w.columns == 1)
    vectors, at_once = stripes(w.out_channels), 4 if few else 2
    _, fours = _batches(w, Packing.RVV_CONV, values)
    passes = 0
    widths, counts = np.unique(w.x1 - w.x0, return_counts=True)
    for width, times in zip(widths.tolist(), counts.tolist(), strict=True):
        each = [width] if direct else kernel_choice.batches(Packing.RVV_CONV, w.op.window, values, width, wide=False)
        passes += times * sum(n // at_once + n % at_once for n in each)
    done = replace(
        done, macs=w.pixels * values * vectors, weights=passes * values * vectors, loops=passes * vectors,
        odd=passes * vectors * (values % 4),
    )  # fmt: skip
    done = named(done, *["few"] * few)
    if direct:
        return named(replace(done, read=0), "direct")
    return replace(done, pieces=w.gathered_alone(fours) * kernel[0] if w.rows else w.taps)


def _rvv_depthwise(w: Windows, done: Work) -> Work:
    taps, loops = w.op.window.kernel_h * w.op.window.kernel_w, w.pixels * stripes(w.out_channels)
    # The kernel makes a list of taps for each clipped window, and one for each row of an iteration.
    listed = (w.pixels - w.unclipped + len(w.x0) * w.rows) * taps
    return replace(done, macs=loops * taps, loops=loops, pieces=listed)


def _esp(w: Windows, done: Work) -> Work:
    return done


def _dsp_depthwise(w: Windows, done: Work) -> Work:
    """Add the work of tmo_dsp_depthwise.S or, for some kernel sizes, of its variants _3x3, _four and _nine."""
    window = w.op.window
    taps = window.kernel_h * window.kernel_w
    if w.calls and not w.rows:
        fours = -(-w.out_channels // 4)
        return replace(
            named(done, "joined"), macs=3 * w.pixels * fours, loops=w.calls * fours, pieces=w.pixels * fours,
            runs=w.pixels, swept=w.pixels * taps, batches=w.calls,
        )  # fmt: skip
    part = kernel_choice.depthwise_part(window, len(w.wide), 0 if w.rows else w.columns)
    if part is not Part.DSP_TAPS:
        if part is Part.DSP_3X3:
            return named(_dsp_3x3(w, done), "3x3")
        four = not w.rows and w.columns > 2 and (window.kernel_w, window.stride_w) == (3, 1)
        return named(_dsp_nine(w, done), "four" if four else "nine")
    done = _packed_depthwise(w, done, 4, -(-taps // 3))
    lists = w.pixels - w.unclipped + len(w.x0) * w.rows
    if w.rows and int((w.wide == window.kernel_w).sum()) > 1:  # A kernel call for one pixel copies no constants.
        copies = int((w.high == window.kernel_h).sum()) * -(-w.out_channels // 4)
        done = replace(done, quads=copies, batches=copies * (-(-taps // 3) + 2))
    return replace(done, runs=lists, swept=lists * taps)


def _dsp_nine(w: Windows, done: Work) -> Work:
    """Add the work of dsp_nine_row(), convolve_nine() and, in tiles, convolve_four(). Runs load constants once."""
    fours = -(-w.out_channels // 4)
    inside = int((w.wide == w.op.window.kernel_w).sum()) if w.rows else 1
    whole = (w.high == w.op.window.kernel_h) & (inside > 0)
    runs = w.x1 - w.x0 - np.where(whole, inside - 1, 0)
    n, calls = int(runs.sum()), int((-(-runs // RUNS_AT_ONCE)).sum())
    return replace(
        done, macs=3 * w.pixels * fours, loops=calls * fours, pieces=n * fours, runs=n, swept=n * 9, batches=calls
    )


def _dsp_3x3(w: Windows, done: Work) -> Work:
    """Add the work of dsp_3x3_row(), whose calls compute BLOCK_RUNS runs of blocks of six unpadded outputs."""
    fours, width, inside = -(-w.out_channels // 4), len(w.wide), w.op.reads[0].w
    blocks = -(-width // BLOCK_PIXELS)
    whole, x = 0, 0
    while x < width:
        start = x - w.op.window.pad_left
        fit = (inside - start - 2) // BLOCK_PIXELS if start >= 0 else 0
        x += BLOCK_PIXELS * max(1, min((width - x) // BLOCK_PIXELS, fit))
        whole += 1
    runs = np.where(w.high == w.op.window.kernel_h, whole, blocks)
    together = np.add.reduceat(runs, np.arange(0, len(runs), 2 if w.calls else 1))
    n, calls = int(runs.sum()), int((-(-together // BLOCK_RUNS)).sum())
    return replace(
        done, macs=len(runs) * blocks * fours, loops=calls * fours, pieces=n * fours, quads=w.pixels * fours, runs=n,
        batches=calls,
    )  # fmt: skip


def _mve_depthwise(w: Windows, done: Work) -> Work:
    """Add the work of tmo_mve_depthwise.S: 16 channels and two or nine taps at once, or many pixels of few channels."""
    window, c = w.op.window, w.out_channels
    relu = (w.op.output_zero_point, *w.op.activation) == (-128, *FULL_RANGE)
    if not relu or (window.kernel_h, window.kernel_w, window.dilation_w) != _NINE:
        return _packed_depthwise(w, done, VECTOR, -(-window.kernel_h * window.kernel_w // 2))
    done = named(_packed_depthwise(w, done, VECTOR, 1), "nine")
    if w.rows and window.stride_w == 1 and c <= VECTOR // 2:
        at_once = VECTOR // c
        whole_rows = int((w.high == window.kernel_h).sum())
        saved = whole_rows * (int((w.wide == window.kernel_w).sum()) // at_once) * (at_once - 1)
        done = replace(done, loops=done.loops - saved, macs=done.macs - saved)
    return done


def _packed_depthwise(w: Windows, done: Work, channels: int, turns: int) -> Work:
    loops = w.pixels * -(-w.out_channels // channels)
    odd = w.pixels * (w.out_channels % channels > 0)
    return replace(done, macs=loops * turns, loops=loops, pieces=w.pixels - w.unclipped, odd=odd)


PACKED: Mapping[Packing, Kernel] = {
    Packing.DSP_CONV: _dsp_conv,
    Packing.DSP_DENSE: _dsp_dense,
    Packing.DSP_DEPTHWISE: _dsp_depthwise,
    Packing.MVE_CONV: _mve_conv,
    Packing.MVE_DEPTHWISE: _mve_depthwise,
    Packing.RVV_CONV: _rvv_conv,
    Packing.RVV_DEPTHWISE: _rvv_depthwise,
    Packing.ESP_CONV: _esp,
    Packing.ESP_DEPTHWISE: _esp,
}
