"""Counts the loops of kernels with packed weights by imitating the kernels in custom_ops/src."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflm_memopt.analysis.costs import Work
from tflm_memopt.format.codes import Part
from tflm_memopt.format.limits import BLOCK_PIXELS, FIVE_PIXELS, MAX_TAPS, PACKED_PIXELS, ROOM_FOR_PIXELS
from tflm_memopt.ops import kernel_choice
from tflm_memopt.ops.packing import QUAD, VECTOR, Packing, is_direct, packed_pixels, packed_values
from tflm_memopt.ops.rowop import Window
from tflm_memopt.plan.iteration.work_windows import FULL_RANGE, Kernel, Windows, iterations, named, stripes
from tflm_memopt.plan.nest import Ints

THREE = 3
"""Size in bytes of the window rows that widen_three() in tmo_conv_dsp.c copies for several pixels at once."""
_NINE = 3, 3, 1
"""Kernel height, kernel width and dilation of Helium's unrolled depthwise kernel."""
RUNS_AT_ONCE = 4
"""One call of tmo_dsp_nine() computes at most RUNS_AT_ONCE series of adjacent pixels."""
BLOCK_RUNS = 3
"""One call of tmo_dsp_3x3() computes at most BLOCK_RUNS series of adjacent blocks."""


def _values(w: Windows, packed: Packing) -> int:
    return packed_values(packed, (w.op.window.kernel_h, w.op.window.kernel_w), w.in_channels)


def _dsp_conv(w: Windows, done: Work) -> Work:
    """Add the work of tmo_conv_dsp.c, which computes pairs of channels."""
    values, kernel = _values(w, Packing.DSP_CONV), (w.op.window.kernel_h, w.op.window.kernel_w)
    direct = is_direct(Packing.DSP_CONV, kernel, w.in_channels, w.out_channels, w.columns)
    in_row = w.along and not direct
    calls = 0 if in_row else w.calls
    batches, alone = calls, 0
    if calls and w.rows:  # A call for one row counts as 1 batch, and a call for two rows as 1.5 batches.
        batches = (len(w.x0) + calls + 1) // 2
    elif not calls:
        sizes, _ = _batches(w, Packing.DSP_CONV, values)
        batches, alone = sum(sizes.values()), sizes[1]
    pairs, last = -(-w.out_channels // 2), w.out_channels % 2
    twos = -(-(w.out_channels // 2) // 2) + last
    done = replace(
        done,
        macs=(w.pixels - alone) * values * 2 * pairs,
        weights=(batches - alone) * values * 2 * pairs,
        vectors=alone * values * twos,
        loops=(batches - alone) * pairs + alone * twos,
        odd=batches * last,
        batches=batches,
    )
    if calls and not w.rows:
        return _joined(w, named(done, "joined"))
    if w.rows and w.room > ROOM_FOR_PIXELS and 2 * alone > batches and not _is_short(w):
        done = named(done, "single")  # Kernels for one pixel take more cycles per instruction than other kernels.
    if direct:
        return named(replace(done, read=0), "direct")
    if not in_row and (w.makes_single_pixels(Packing.DSP_CONV) or (w.columns == 1 and not w.rows)):
        return _from_pixels(w, done)
    if not in_row and _computes_few(w, values):
        return _few(w, done)
    if not (w.rows or w.in_one_piece):
        c = w.in_channels
        done = replace(done, pieces=w.taps, quads=w.taps * (c // QUAD), singles=w.taps * (c % QUAD), listed=w.pixels)
        return named(done, *["unaligned"] * (c % QUAD > 0))
    along = ["along"] * (not w.rows)
    return _from_rows(w, named(done, *along, *["short"] * _is_short(w)), values)


def _computes_few(w: Windows, values: int) -> bool:
    """Return whether gather_pointwise() or gather_grid() of tmo_iterate_few.c copies the input of each tile."""
    window, c = w.op.window, w.in_channels
    if w.rows or not w.in_arena or w.backwards or len(w.wide) == 1:
        return False
    if w.columns > packed_pixels(Packing.DSP_CONV, values, w.columns):
        return False
    wide = (w.columns - 1) * window.stride_w + window.kernel_w
    fits = window.dilation_w == 1 and window.kernel_h * wide <= MAX_TAPS
    return _is_pointwise(window) or (fits and c >= QUAD and (c % QUAD == 0 or window.kernel_w == 1))


def _is_pointwise(window: Window) -> bool:
    steps = window.kernel_h * window.kernel_w * window.stride_h * window.stride_w
    return steps == 1 and window.pad_top + window.pad_left == 0


def _few(w: Windows, done: Work) -> Work:
    """Add the work of tmo_iterate_few.c, which copies a tap of all pixels of a tile at once."""
    window = w.op.window
    columns = w.x1 - w.x0
    taps, together = window.kernel_h * window.kernel_w, columns[columns > 1]
    listed = window.kernel_h * ((together - 1) * window.stride_w + window.kernel_w)
    return named(
        replace(
            done, pieces=len(together) * taps, quads=int(together.sum()) * taps * -(-w.in_channels // QUAD), runs=0,
            listed=0 if _is_pointwise(window) else int(listed.sum()), swept=0,
        ), "few",
    )  # fmt: skip


def _is_short(w: Windows) -> bool:
    return kernel_choice.pads_rows(w.op.window, w.in_channels)


def _joined(w: Windows, done: Work) -> Work:
    """Add the work of gather_at_once(), which copies whole rows of a window that lies inside the input, and single taps
    of any other window.
    """
    c, window = w.in_channels, w.op.window
    inside = w.unclipped if w.in_one_piece and max(window.dilation_h, window.dilation_w) == 1 else 0
    taps, outside = window.kernel_h * window.kernel_w, w.pixels - inside
    share = inside / max(1, w.pixels)
    done = replace(
        done,
        pieces=w.calls * (share * window.kernel_h + (1 - share) * taps),
        quads=inside * window.kernel_h * -(-window.kernel_w * c // QUAD) + outside * taps * -(-c // QUAD),
        gathers=inside * window.kernel_h,
        listed=outside * taps,
        singles=outside * taps * c * (c % QUAD > 0),
    )
    return named(done, *["unaligned"] * (c % QUAD > 0))


def _from_pixels(w: Windows, done: Work) -> Work:
    c, window = w.in_channels, w.op.window
    if c % QUAD == 0:  # gather_taps() first fills the copy of a clipped window with padding.
        filled = (w.pixels - w.unclipped) * window.kernel_h * window.kernel_w * c // QUAD
        return replace(done, pieces=w.taps, quads=w.taps * c // QUAD, singles=filled, gathers=w.row_windows)
    whole = w.in_one_piece and window.dilation_w == 1
    each = np.array([_gathered_row(w, x, [n * c] if whole else [c] * n) for x, n in enumerate(w.wide.tolist())])
    missing = int(((window.kernel_h - w.high) * (w.x1 - w.x0)).sum())
    done = replace(
        done, pieces=w.taps, quads=w.over(each[:, 0]) + missing * -(-window.kernel_w * c // QUAD),
        singles=w.over(each[:, 1]), gathers=w.pixels * window.kernel_h,
    )  # fmt: skip
    return named(done, "unaligned")


def _from_rows(w: Windows, done: Work, values: int) -> Work:
    """Add the work of tmo_conv_dsp_columns(), which gathers adjacent windows from whole rows."""
    window, c, rows = w.op.window, w.in_channels, w.op.window.kernel_h
    row, short = window.kernel_w * c, _is_short(w)
    words = -(-row // QUAD)
    inside = (w.wide == window.kernel_w) & (window.dilation_w == 1)
    quads = singles = listed = runs = calls = copied = alone = 0
    for (x0, end, high), times in iterations(w):
        x = x0
        for n in kernel_choice.batches(Packing.DSP_CONV, window, values, end - x0, w.room):
            within = high == rows and bool(inside[x : x + n].all())
            if within and n == PACKED_PIXELS and row >= QUAD:
                runs += times * rows
            elif within and n > 1 and row >= QUAD:
                calls += times * rows * (2 if n == FIVE_PIXELS else 1)
                quads += times * n * rows * words
            elif within and row == THREE:
                calls += times * rows
                quads += times * n * rows
            elif within:
                calls += times * n * rows
                quads += times * n * rows * (row // QUAD)
                singles += times * n * rows * (row % QUAD)
            elif n == PACKED_PIXELS and c % QUAD == 0:
                listed += times * rows * window.kernel_w
                quads += times * n * rows * words
            else:
                calls += times * n * rows
                alone += times * n
                for column in range(x, x + n):
                    taps = int(w.wide[column])
                    if short:
                        quads += times * rows * words
                        padded = rows if taps * c < words * QUAD else rows - high
                        copied += times * padded * taps * c * (high < rows or taps < window.kernel_w or row < THREE)
                        continue
                    each = _gathered_row(w, column, [taps * c] if window.dilation_w == 1 else [c] * taps)
                    quads += times * (high * each[0] + (rows - high) * words)
                    singles += times * high * each[1]
            x += n
    return replace(
        done, pieces=listed, quads=quads, singles=singles + copied, runs=runs, swept=runs * words, gathers=calls,
        listed=alone,
    )  # fmt: skip


def _gathered_row(w: Windows, x: int, runs: Sequence[int]) -> tuple[int, int]:
    """Return how many groups of four values, and how many single values, are copied for a window row at output column
    x.
    """
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
    """Add the work of tmo_conv_dsp_dense(), which computes six channels at once."""
    pairs, taps = w.out_channels // 2, w.op.window.kernel_h * w.op.window.kernel_w
    triples = pairs // 3 - (pairs % 3 == 1)
    left = pairs - 3 * triples
    done = replace(
        done, loops=w.pixels * triples, pieces=w.pixels * left * 2 * w.in_channels * taps, odd=w.pixels * (left > 0)
    )
    if taps == 1:
        return done
    passes = triples + left // 2
    return named(replace(done, swept=w.pixels * passes * taps, gathers=w.pixels - w.unclipped), "windows")


def _mve_conv(w: Windows, done: Work) -> Work:
    """Add the work of tmo_conv_mve.c, which computes four channels of two pixels at once, or eight channels of one
    pixel.
    """
    op, channels, values = w.op, w.out_channels, _values(w, Packing.MVE_CONV)
    sizes, together = _batches(w, Packing.MVE_CONV, values)
    pairs, singles = sizes[2], sizes[1]
    fours, eights, left = -(-channels // 4), channels // 8, channels % 8
    last = int(left > 0)
    done = replace(
        done,
        macs=values * 8 * (fours * pairs + (eights + last) * singles),
        weights=values * 4 * (fours * pairs + (2 * eights + -(-left // 4)) * singles),
        loops=fours * pairs + (eights + last) * singles,
        odd=pairs * (channels % 4 > 0) + singles * last,
        clamped=done.written * ((op.output_zero_point, *op.activation) != (-128, *FULL_RANGE)),
    )
    kernel, row = (op.window.kernel_h, op.window.kernel_w), op.window.kernel_w * w.in_channels
    one, two = (eights > 0) + last, (channels > 3) + (channels % 4 > 0)  # assembly calls
    if w.rows and kernel == (1, 1):
        step = op.window.stride_w * w.in_channels
        inside = min(op.writes.w, max(0, (op.reads[0].row_bytes - values) // step + 1))
        alone = op.writes.w - inside  # Pixels are copied if a vector would extend beyond the row.
        twos = (inside // 2 if channels % 4 else min(1, inside // 2)) + alone // 2
        return named(
            replace(
                done, read=0, batches=len(w.x0) * (two * twos + one * (inside % 2 + alone % 2)),
                pieces=len(w.x0) * alone, runs=len(w.x0) * (alone > 0), swept=len(w.x0) * alone * -(-row // VECTOR),
            ), "direct",
        )  # fmt: skip
    apart = _is_apart(w)
    if is_direct(Packing.MVE_CONV, kernel, w.in_channels, channels, 1) and (w.columns == 1 or apart):
        return named(replace(done, read=0, batches=two * pairs + one * singles), "direct")
    calls, vectors = two * pairs + one * singles, w.row_windows * -(-row // VECTOR)
    done = replace(done, batches=calls, runs=w.row_windows, swept=vectors)
    if not w.rows and w.makes_single_pixels(Packing.MVE_CONV):
        return replace(done, pieces=w.pixels - w.unclipped)
    done = _in_tiles(w, replace(done, pieces=w.gathered_alone(together)), 2)
    if w.rows or w.columns == 1 or (w.in_one_piece and w.out_in_one_piece):
        return done
    return named(done, "apart" if apart else "listed")  # The function iterate_columns() lists the pixels of a window.


def _is_apart(w: Windows) -> bool:
    """Return whether tmo_iterate_vectors() finds each pixel of a tile on its own."""
    return w.in_arena and not w.backwards and not (w.in_one_piece and w.out_in_one_piece)


def _in_tiles(w: Windows, done: Work, most: int) -> Work:
    """If a tile's pixels are adjacent in memory, one kernel call computes the tile. If the pixels are not adjacent, one
    kernel call computes at most `most` pixels.
    """
    if w.rows:
        return done
    pieces = -(-(w.x1 - w.x0) // most)
    if w.in_one_piece and w.out_in_one_piece:
        return replace(done, gathers=len(w.x0))
    rows = 0 if w.in_one_piece else int((w.high * pieces).sum())
    return replace(done, gathers=int(pieces.sum()), quads=rows, listed=0 if w.in_one_piece else w.taps)


def _batches(w: Windows, packed: Packing, values: int) -> tuple[Counter[int], Ints]:
    """Map each batch size (in pixels) to the number of batches."""
    window, sizes = w.op.window, Counter[int]()
    together = np.zeros(len(w.wide), dtype=np.int64)
    widths, counts = np.unique(w.x1 - w.x0, return_counts=True)
    for width, count in zip(widths.tolist(), counts.tolist(), strict=True):
        x = 0
        for n in kernel_choice.batches(packed, window, values, width, w.room):
            inside = window.dilation_w == 1 and bool((w.wide[x : x + n] == window.kernel_w).all())
            together[x : x + n] = inside and (n > 1 or packed is not Packing.MVE_CONV)
            x += n
            sizes[n] += count
    return sizes, together


def _rvv_conv(w: Windows, done: Work) -> Work:
    """Add the work of tmo_vectors.c, which computes vectors of output channels for two or four pixels at once."""
    values, kernel = _values(w, Packing.RVV_CONV), (w.op.window.kernel_h, w.op.window.kernel_w)
    few = w.out_channels <= VECTOR
    direct = kernel == (1, 1) and (w.rows or w.columns == 1)
    vectors, at_once = stripes(w.out_channels), 4 if few else 2
    sizes, together = _batches(w, Packing.RVV_CONV, values)
    if direct:
        sizes = Counter((w.x1 - w.x0).tolist())
    passes = sum(times * (n // at_once + n % at_once) for n, times in sizes.items())
    done = replace(
        done, macs=w.pixels * values * vectors, weights=passes * values * vectors, loops=passes * vectors,
        odd=passes * vectors * (values % 4),
    )  # fmt: skip
    done = named(done, *["few"] * few)
    if direct:
        return named(replace(done, read=0), "direct")
    done = replace(
        done, pieces=w.gathered_alone(together), runs=w.row_windows, batches=sum(sizes.values()),
        singles=(w.pixels - w.unclipped) * values,
    )  # fmt: skip
    return _in_tiles(w, done, PACKED_PIXELS)


def _rvv_depthwise(w: Windows, done: Work) -> Work:
    """Add the work of the depthwise kernel for RISC-V, which computes vectors of channels for two pixels of a row at
    once.
    """
    window, each = w.op.window, stripes(w.out_channels)
    taps, whole = window.kernel_h * window.kernel_w, int((w.high == window.kernel_h).sum())
    pairs = whole * (int((w.wide == window.kernel_w).sum()) // 2) if w.rows else 0
    # The kernel lists the taps of each clipped window, and once the taps for all unclipped windows of a row.
    listed = (w.pixels - w.unclipped + len(w.x0) * w.rows) * taps
    passes = (w.pixels - pairs) * each
    return replace(
        done, macs=w.pixels * taps * each, weights=passes * taps, loops=w.pixels * each, batches=passes, pieces=listed
    )


def _esp(w: Windows, done: Work) -> Work:
    return done


def _dsp_depthwise(w: Windows, done: Work) -> Work:
    """Add the work of tmo_dsp_depthwise.S, or of its variants for certain kernel sizes."""
    window = w.op.window
    taps = window.kernel_h * window.kernel_w
    if w.calls and w.columns == 1 and not w.rows:
        fours = -(-w.out_channels // 4)
        return replace(
            named(done, "joined"), macs=3 * w.pixels * fours, loops=w.calls * fours, pieces=w.pixels * fours,
            runs=w.pixels, swept=w.pixels * taps, batches=w.calls,
        )  # fmt: skip
    part = kernel_choice.depthwise_part(window, len(w.wide), 0 if w.rows else w.columns)
    if part is not Part.DSP_TAPS:
        if part is Part.DSP_3X3:
            return named(_dsp_3x3(w, done), "3x3")
        done = _dsp_nine(w, done)
        if w.rows or w.columns <= 2 or (window.kernel_w, window.stride_w) != (3, 1):
            return named(done, "nine")
        return _dsp_four(w, done)
    done = _packed_depthwise(w, done, 4, -(-taps // 3))
    lists = w.pixels - w.unclipped + len(w.x0) * w.rows
    if w.rows and int((w.wide == window.kernel_w).sum()) > 1:  # Constants are copied if several pixels use them.
        copies = int((w.high == window.kernel_h).sum()) * -(-w.out_channels // 4)
        done = replace(done, quads=copies, batches=copies * (-(-taps // 3) + 2))
    return replace(done, runs=lists, swept=lists * taps)


def _dsp_four(w: Windows, done: Work) -> Work:
    """Add the work of convolve_four(), which always computes four pixels, and of convolve_nine() for one or two pixels
    at the end of a tile.
    """
    fours, columns = -(-w.out_channels // 4), w.x1 - w.x0
    blocks, rest = columns // PACKED_PIXELS, columns % PACKED_PIXELS
    narrow = rest[(rest == 1) | (rest == 2)]
    return replace(
        named(done, "four"), macs=0, weights=0, read=0, written=0, taps=0, pieces=int(narrow.sum()) * fours,
        loops=int(blocks.sum() + (rest > 2).sum()) * fours, odd=len(narrow) * fours,
    )  # fmt: skip


def _dsp_nine(w: Windows, done: Work) -> Work:
    """Add the work of dsp_nine_row(), convolve_nine() and convolve_four()."""
    fours = -(-w.out_channels // 4)
    inside = int((w.wide == w.op.window.kernel_w).sum()) if w.rows else 1
    whole = (w.high == w.op.window.kernel_h) & (inside > 0)
    runs = w.x1 - w.x0 - np.where(whole, inside - 1, 0)
    n, calls = int(runs.sum()), int((-(-runs // RUNS_AT_ONCE)).sum())
    return replace(
        done, macs=3 * w.pixels * fours, loops=calls * fours, pieces=n * fours, runs=n, swept=n * 9,
        batches=(not w.rows and w.calls) or calls,
    )  # fmt: skip


def _dsp_3x3(w: Windows, done: Work) -> Work:
    """Add the work of dsp_3x3_row(), which computes blocks of six outputs."""
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
    """Add the work of tmo_mve_depthwise.S, which computes 16 channels at once, or several pixels of few channels."""
    window, c = w.op.window, w.out_channels
    relu = (w.op.output_zero_point, *w.op.activation) == (-128, *FULL_RANGE)
    if not relu or (window.kernel_h, window.kernel_w, window.dilation_w) != _NINE:
        return _packed_depthwise(w, done, VECTOR, -(-window.kernel_h * window.kernel_w // 2))
    alone = w.columns > 1 and not w.rows and _is_apart(w)
    done = named(_packed_depthwise(w, done, VECTOR, 1), "nine", *["apart"] * alone)
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
