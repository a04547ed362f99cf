"""Packed operators: constants in the form that a fast kernel of some core wants, and what that form is.

custom_ops/include/tmo/program.h defines it; ops/packings.py decides who is packed, lower/pack.py does it.
"""

from __future__ import annotations

import enum

from tflm_memopt.errors import UsageError, one_of


class Packing(enum.IntEnum):
    """How an operator's constants are laid out. Values are TMO_PACKING_*."""

    NONE = 0
    DSP_CONV = 1
    """Pairs of output channels, for SMLAD: int16 256 * B + A."""
    DSP_DEPTHWISE = 2
    """Fours of channels, all constants in one stream."""
    MVE_CONV = 3
    """Four output channels, 16 values at a time, for VMLADAVA."""
    MVE_DEPTHWISE = 4
    """Sixteen channels at a time, all constants in one stream."""
    DSP_ADD = 5
    """ADD, its three scalings prepared."""
    DSP_DENSE = 6
    """Three pairs of output channels at once, of a single pixel."""
    RVV_CONV = 7
    """All output channels side by side, for each value that is read."""
    RVV_DEPTHWISE = 8
    """All channels side by side, for each tap."""


class Family(enum.IntEnum):
    """Cores that run the same packed programs. Values are TMO_TARGET_*."""

    GENERIC = 0
    """Nothing is packed: any core."""
    DSP = 1
    """Armv7E-M and Armv8-M with the DSP extension."""
    MVE = 2
    """Helium, which runs what DSP runs, too."""
    RVV = 3
    """RISC-V with vectors, Zve32x or more."""

    @property
    def runs(self) -> tuple[Family, ...]:
        """Whose programs these cores run, their own last."""
        return {Family.MVE: (Family.GENERIC, Family.DSP, Family.MVE)}.get(self, tuple(sorted({Family.GENERIC, self})))


TARGETS = {
    "generic": Family.GENERIC,
    "cortex-m4": Family.DSP,
    "cortex-m7": Family.DSP,
    "cortex-m33": Family.DSP,
    "cortex-m55": Family.MVE,
    "rv32-v": Family.RVV,
}
"""What `--target` may say."""
GENERIC = "generic"


def family(target: str) -> Family:
    """The family of a target. Raises UsageError for an unknown one."""
    if target not in TARGETS:
        raise UsageError(
            f"unknown target '{target}'", code="unknown_target", hint=f"--target {one_of(target, TARGETS)}"
        )
    return TARGETS[target]


LAYOUT = "hwc"
"""Layout of all rings, for any target."""

QUAD, OCTET, VECTOR = 4, 8, 16
"""Values of a kernel row are filled up to a multiple of QUAD, all of them of OCTET; for Helium all of VECTOR,
of QUAD channels at once.
"""
PIXELS, TILE = 4, 2304
"""Output pixels that are computed at once, at most, and int16 of theirs, three eighths of them for more than two:
TMO_PACKED_PIXELS, TMO_PACKED_TILE."""
MVE_PIXELS, MVE_TILE = 2, 4608
"""The same for Helium, bytes: TMO_MVE_PIXELS, TMO_MVE_TILE. RISC-V takes as many bytes, of PIXELS."""
OF_BYTES = (Packing.MVE_CONV, Packing.RVV_CONV)
"""Convolutions that multiply bytes as they are."""
TAPS = 51
"""Taps of a packed depthwise convolution at most: TMO_PACKED_TAPS."""
LEAST_DEPTH = 4
"""Channels that it needs at least with the DSP extension; with Helium VECTOR, except for windows of 3x3 taps."""


def packed_values(packing: Packing, kernel: tuple[int, int], channels: int) -> int:
    """K: values that an output channel reads, with what fills them up.

    >>> packed_values(Packing.DSP_CONV, (3, 3), 3), packed_values(Packing.MVE_CONV, (3, 3), 3)
    (40, 32)
    """
    if packing is Packing.MVE_CONV:
        return -(-kernel[0] * kernel[1] * channels // VECTOR) * VECTOR
    if packing is Packing.RVV_CONV:
        return kernel[0] * kernel[1] * channels
    row = -(-kernel[1] * channels // QUAD) * QUAD
    return -(-kernel[0] * row // OCTET) * OCTET


def tile_limit(packing: Packing) -> int:
    """The greatest K."""
    return MVE_TILE if packing in OF_BYTES else TILE


def is_direct(packing: Packing, kernel: tuple[int, int], in_channels: int, out_channels: int, columns: int) -> bool:
    """Whether a packed convolution takes the bytes of its only pixel as they lie there: no scratch, no limit."""
    if kernel != (1, 1) or columns != 1:
        return False
    if packing in OF_BYTES:
        return packing is Packing.RVV_CONV or in_channels % VECTOR == 0
    return in_channels % OCTET == 0 and out_channels >= LEAST_DEPTH


def packed_pixels(packing: Packing, values: int, columns: int) -> int:
    """Pixels that a packed convolution computes at once when so many columns are left. Of five, three.

    >>> [packed_pixels(Packing.DSP_CONV, 64, n) for n in (1, 4, 5, 9)]
    [1, 4, 3, 4]
    """
    most = {Packing.MVE_CONV: MVE_PIXELS, Packing.RVV_CONV: PIXELS}.get(packing, PIXELS - (columns == PIXELS + 1))
    pixels, limit = min(most, columns), tile_limit(packing)
    while pixels > 1 and pixels * values > (limit // 8 * 3 if pixels > 2 else limit):
        pixels -= 1
    return pixels


def tile_bytes(packing: Packing, values: int, columns: int) -> int:
    """Scratch of a packed convolution whose firing makes so many columns: values of a few."""
    return (1 if packing in OF_BYTES else 2) * values * packed_pixels(packing, values, columns)
