"""Packed operators: constants in the form that a fast kernel of some core wants, and what that form is.

custom_ops/include/tmo/program.h defines it; analysis/packings.py decides who is packed, lower/pack.py does it.
"""

from __future__ import annotations

import enum


class Packing(enum.IntEnum):
    """How an operator's constants are laid out. Values are TMO_PACKING_*."""

    NONE = 0
    DSP_CONV = 1
    """Pairs of output channels, for SMLAD: int16 256 * B + A."""
    DSP_DEPTHWISE = 2
    """Fours of channels, all constants in one stream."""


class Family(enum.IntEnum):
    """Cores that run the same packed programs. Values are TMO_TARGET_*."""

    GENERIC = 0
    """Nothing is packed: any core."""
    DSP = 1
    """Armv7E-M and Armv8-M with the DSP extension."""


TARGETS = {
    "generic": Family.GENERIC,
    "cortex-m4": Family.DSP,
    "cortex-m7": Family.DSP,
    "cortex-m33": Family.DSP,
    "cortex-m55": Family.DSP,
}
"""What `--target` may say."""
GENERIC = "generic"
LAYOUT = "hwc"
"""Of all rings, for any target."""

QUAD = 4
"""A kernel row's values are filled up to a multiple of it,"""
OCTET = 8
"""all of them to a multiple of this."""
PIXELS = 4
"""Output pixels that are computed at once, at most: TMO_PACKED_PIXELS,"""
TILE = 2304
"""of which the tile has at most so many values: TMO_PACKED_TILE."""


TAPS = 51
"""Of a packed depthwise convolution at most: TMO_PACKED_TAPS."""
LEAST_DEPTH = 4
"""Of its channels."""


def packed_values(kernel_h: int, kernel_w: int, channels: int) -> int:
    """K: values that an output channel reads, with what fills them up.

    >>> packed_values(3, 3, 3), packed_values(1, 1, 64)
    (40, 64)
    """
    row = -(-kernel_w * channels // QUAD) * QUAD
    return -(-kernel_h * row // OCTET) * OCTET


def is_direct(kernel: tuple[int, int], in_channels: int, out_channels: int, columns: int) -> bool:
    """Whether a packed convolution takes the bytes of its only pixel as they lie there: no scratch, no limit."""
    return kernel == (1, 1) and in_channels % OCTET == 0 and out_channels >= LEAST_DEPTH and columns == 1


def tile_bytes(values: int, columns: int) -> int:
    """Scratch of a packed convolution whose firing makes so many columns: int16 values of a few. 5 are 3 and 2."""
    return 2 * values * min(3 if columns == 5 else PIXELS, columns, TILE // values)
