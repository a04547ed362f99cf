"""Determines from sizes which kernel the C library selects for an operator.

Each function repeats a decision of a C function in custom_ops/src. The results decide which parts of the C library a
program needs (lower/parts.py), and how long operators take (plan/iteration).
"""

from collections.abc import Iterator

from tflm_memopt.format import limits
from tflm_memopt.format.codes import Part
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import LEAST_DEPTH, QUAD, Packing, packed_pixels
from tflm_memopt.ops.rowop import Window

_PIXEL_KINDS = frozenset({
    Kind.CONV, Kind.DEPTHWISE, Kind.ADD, Kind.MAX_POOL, Kind.AVERAGE_POOL, Kind.MEAN, Kind.LOOKUP
})  # fmt: skip
_PACKED_ROWS = (Packing.DSP_CONV, Packing.DSP_ADD)


def makes_single_pixels(kind: Kind, packing: Packing, tile: int, width: int, *, whole: bool) -> bool:
    """Return whether tmo_iterate_pixel() runs an operator. The argument `whole` is true if each iteration computes all
    channels.
    """
    if tile > 1 or (tile == 0 and width > 1):
        return False
    if packing is not Packing.NONE:
        return tile == 1 or packing in _PACKED_ROWS
    return whole and kind in _PIXEL_KINDS


def makes_few(kind: Kind, channels: int, *, complete: bool) -> bool:
    """Return whether tmo_dsp_few() computes the channels of a pixel together on a core with the DSP extension."""
    return kind is Kind.CONV and complete and channels < QUAD


def makes_fours(out_channels: int, *, complete: bool, biased: bool) -> bool:
    """Return the value of tmo_makes_fours() in C. The argument `complete` is true if iterations do not compute partial
    sums.
    """
    return complete and biased and out_channels >= LEAST_DEPTH


def gathers(window: Window, in_channels: int, out_channels: int, *, rows: bool) -> bool:
    """Return whether conv_small() in C copies each window to a buffer. The argument `rows` tells whether conv_small()
    reads whole rows of the input.
    """
    most, least = (
        (limits.GATHERED_ROWS_BYTES, limits.MANY_CHANNELS) if rows else (limits.GATHERED_BYTES, limits.SOME_CHANNELS)
    )
    small = window.kernel_h * window.kernel_w * in_channels <= most and out_channels >= least
    return small or gathers_everywhere(window, in_channels)


def gathers_everywhere(window: Window, in_channels: int) -> bool:
    """Return whether a convolution without packed weights copies each window to a buffer on all cores."""
    return window.kernel_h * window.kernel_w * in_channels <= limits.FEW_BYTES


def depthwise_part(window: Window, width: int, tile: int) -> Part:
    """Return the depthwise kernel for the DSP extension. The kernel computes a row in parts of `tile` columns, or at
    once if `tile` is 0.
    """
    dense = (window.kernel_h, window.kernel_w, window.stride_w, window.dilation_w) == (3, 3, 1, 1)
    if tile == 0 and dense and width >= limits.BLOCK_PIXELS - 1 and width != limits.BLOCK_PIXELS + 1:
        return Part.DSP_3X3
    return Part.DSP_NINE if tile != 1 and window.kernel_h * window.kernel_w == 9 else Part.DSP_TAPS


def tiles_below(packing: Packing, window: Window, tile: int) -> int:
    """Return the maximum number of tiles, one below the other, in a call of tmo_iterate_tiles_below() in C."""
    nine = packing is Packing.DSP_DEPTHWISE and window.kernel_h * window.kernel_w == 9
    if not (nine and 1 < tile <= limits.PACKED_PIXELS) or max(window.dilation_h, window.dilation_w) > 1:
        return 1
    room = limits.MAX_TAPS // (limits.PACKED_PIXELS * window.stride_w + window.kernel_w)
    return max(0, room - window.kernel_h) // window.stride_h + 1


def makes_two_rows(packing: Packing, window: Window, values: int, width: int) -> bool:
    """Return the value of tmo_makes_two_rows() in C. The argument `values` is the number of weights of an output
    channel, including padding.
    """
    if packing is Packing.DSP_DEPTHWISE:
        return depthwise_part(window, width, 0) is Part.DSP_3X3
    return packing is Packing.DSP_CONV and width == limits.FIVE_PIXELS and values <= limits.FIVE_VALUES


def pads_rows(window: Window, in_channels: int) -> bool:
    """Return whether gather_short() of tmo_conv_dsp.c converts rows of a window to int16 word by word."""
    return window.dilation_w == 1 and -(-window.kernel_w * in_channels // QUAD) * QUAD <= limits.SHORT_ROW


def batches(packing: Packing, window: Window, values: int, columns: int, room: int) -> Iterator[int]:
    """Yield the number of pixels for each call of a packed convolution that computes `columns` columns."""
    threes = packing is Packing.DSP_CONV and window.kernel_w == 1
    while columns > 0:
        n = packed_pixels(packing, values, columns, room)
        if n == limits.PACKED_PIXELS and columns == 2 * (limits.PACKED_PIXELS - 1) and threes:
            n = limits.PACKED_PIXELS - 1
        yield n
        columns -= n
