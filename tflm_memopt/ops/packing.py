"""A packing is a layout of an operator's constants for a fast kernel of some cores.

The module ops/packings.py selects the packing of each operator, and lower/pack.py writes the constants.
"""

from __future__ import annotations

import enum

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.format import limits


class Packing(enum.IntEnum):
    """Layout in which a fast kernel reads its constants (TMO_PACKING_* in C)."""

    NONE = 0
    DSP_CONV = 1
    """Two weights A and B of adjacent output channels are stored as the int16 number 256 * B + A, for the instruction
    SMLAD.
    """
    DSP_DEPTHWISE = 2
    """All constants of four channels are adjacent, in the order in which the kernel reads them."""
    MVE_CONV = 3
    """Blocks of 16 weights alternate between four output channels, for the instruction VMLADAVA."""
    MVE_DEPTHWISE = 4
    """All constants of sixteen channels are adjacent, in the order in which the kernel reads them."""
    DSP_ADD = 5
    """The three scales of ADD are stored in the order in which the kernel reads them."""
    DSP_DENSE = 6
    """For a kernel that computes single pixels, the weights of three pairs of output channels alternate."""
    RVV_CONV = 7
    """For each input value, the weights of all output channels are adjacent."""
    RVV_DEPTHWISE = 8
    """For each position in the window, the weights of all channels are adjacent."""
    ESP_CONV = 9
    """The weights of an output channel are padded to a multiple of 16, for a dot product of ESP-NN."""
    ESP_DEPTHWISE = 10
    """For each position in the window, the weights of all channels are adjacent, in the order that ESP-NN reads."""


class Family(enum.IntEnum):
    """A family of cores that can run the same packed operators (TMO_TARGET_* in C)."""

    GENERIC = 0
    """All cores can run programs without packed operators."""
    DSP = 1
    """Cores with Armv7E-M, or with Armv8-M and the DSP extension."""
    MVE = 2
    """Cores with Helium, which can run programs of the family DSP as well."""
    RVV = 3
    """RISC-V cores with vectors, Zve32x or more."""
    ESP = 4
    """Espressif's chips, of which only ESP32-S3 and ESP32-P4 run ESP-NN's vector kernels."""

    @property
    def runs(self) -> tuple[Family, ...]:
        """Families whose programs a core of the family `self` can run. The core's own family comes last."""
        return {Family.MVE: (Family.GENERIC, Family.DSP, Family.MVE)}.get(self, tuple(sorted({Family.GENERIC, self})))


TARGETS = {
    "generic": Family.GENERIC,
    "cortex-m4": Family.DSP,
    "cortex-m7": Family.DSP,
    "cortex-m33": Family.DSP,
    "cortex-m55": Family.MVE,
    "rv32-v": Family.RVV,
    "esp-nn": Family.ESP,
}
GENERIC = "generic"
FAST_TILES = (Family.DSP, Family.MVE)
"""Families whose packed kernels compute tiles of a few pixels faster than single pixels."""


def family(target: str) -> Family:
    """Return the core family of a target. Raises UsageError for an unknown target."""
    if target not in TARGETS:
        raise UsageError(f"unknown target '{target}'", hint=f"--target {one_of(target, TARGETS)}")
    return TARGETS[target]


LAYOUT = "hwc"

QUAD, OCTET, VECTOR = 4, 8, 16
"""Each row of packed weights is padded to a multiple of QUAD. All weights of an output channel are padded to a multiple
of OCTET, or of VECTOR for Helium.
"""
OF_BYTES = (Packing.MVE_CONV, Packing.RVV_CONV, Packing.ESP_CONV)
SCRATCH_VARIES = (Packing.DSP_CONV, Packing.MVE_CONV)
"""Packings for which a plan chooses the size of scratch if the kernels compute whole rows."""
OF_CHANNELS = (Packing.DSP_DEPTHWISE, Packing.MVE_DEPTHWISE, Packing.RVV_DEPTHWISE, Packing.ESP_DEPTHWISE)
ON_CORE_0 = (Packing.ESP_DEPTHWISE,)
"""Packings whose kernels run on one core only, since ESP-NN keeps the kernels' scratch in a static variable."""
OF_VECTORS = (Packing.ESP_CONV, Packing.ESP_DEPTHWISE)
"""Packings whose kernels copy a row if the row's address is not a multiple of VECTOR."""
LEAST_DEPTH = 4
"""Minimum number of channels of operators that are packed for the DSP extension."""


def packed_values(packing: Packing, kernel: tuple[int, int], channels: int) -> int:
    """Return the number of packed weights per output channel, with padding.

    >>> packed_values(Packing.DSP_CONV, (3, 3), 3), packed_values(Packing.MVE_CONV, (3, 3), 3)
    (40, 32)
    """
    if packing in (Packing.MVE_CONV, Packing.ESP_CONV):
        return -(-kernel[0] * kernel[1] * channels // VECTOR) * VECTOR
    if packing is Packing.RVV_CONV:
        return kernel[0] * kernel[1] * channels
    row = -(-kernel[1] * channels // QUAD) * QUAD
    return -(-kernel[0] * row // OCTET) * OCTET


def tile_limit(packing: Packing) -> int:
    return limits.MVE_TILE if packing in OF_BYTES else limits.PACKED_TILE


def is_direct(packing: Packing, kernel: tuple[int, int], in_channels: int, out_channels: int, columns: int) -> bool:
    """Return whether a packed convolution of single pixels reads its input in place, without scratch."""
    if kernel != (1, 1) or columns != 1 or packing is Packing.ESP_CONV:
        return False
    if packing in OF_BYTES:
        return packing is Packing.RVV_CONV or in_channels % VECTOR == 0
    return in_channels % OCTET == 0 and out_channels >= LEAST_DEPTH


WIDE = 1
"""Code for scratch with room for all pixels of a kernel call, even if the call computes the last five pixels of a row.

The code 0 stands for the default size, and the code ROOM_FOR_PIXELS + n stands for room for n pixels.
"""


def packed_pixels(packing: Packing, values: int, columns: int, room: int = 0) -> int:
    """Return the number of pixels that a packed convolution computes at once if `columns` columns remain. With the DSP
    extension, the last of several kernel calls computes at least two pixels if possible. The argument `room` is a code
    for the size of the scratch.

    >>> [packed_pixels(Packing.DSP_CONV, 64, n) for n in (1, 4, 5, 9)]
    [1, 4, 3, 4]
    >>> [packed_pixels(Packing.DSP_CONV, 288, n) for n in (3, 4, 5)], packed_pixels(Packing.DSP_CONV, 288, 4, WIDE)
    ([3, 2, 3], 4)
    >>> [packed_pixels(Packing.DSP_CONV, 64, n, WIDE) for n in (4, 5, 6, 9)]
    [4, 5, 4, 4]
    >>> [packed_pixels(Packing.DSP_CONV, 64, n, limits.ROOM_FOR_PIXELS + 3) for n in (3, 4, 5)]
    [3, 2, 3]
    """
    if packing is Packing.ESP_CONV:
        return 1
    if columns == limits.FIVE_PIXELS and makes_five(packing, values, columns, room):
        return columns
    most = limits.MVE_PIXELS if packing is Packing.MVE_CONV else limits.PACKED_PIXELS
    limit = tile_limit(packing)
    if room > limits.ROOM_FOR_PIXELS:
        most = min(most, room - limits.ROOM_FOR_PIXELS)
    while room == 0 and most > 1 and most * values > (limit // 8 * 3 if most > 2 else limit):
        most -= 1
    if columns == most + 1 and most > 2 and packing not in OF_BYTES:
        most -= 1
    return min(most, columns)


def makes_five(packing: Packing, values: int, columns: int, room: int) -> bool:
    last = columns >= limits.FIVE_PIXELS and columns % limits.PACKED_PIXELS == 1
    return packing is Packing.DSP_CONV and room == WIDE and values <= limits.FIVE_VALUES and last


def tile_bytes(packing: Packing, values: int, columns: int, room: int = 0) -> int:
    """Return how many bytes of scratch a packed convolution needs if it computes `columns` columns of each row."""
    alignment = VECTOR - 1 if packing is Packing.ESP_CONV else 0
    five = makes_five(packing, values, columns, room)
    pixels = limits.FIVE_PIXELS if five else packed_pixels(packing, values, columns, room)
    return alignment + (1 if packing in OF_BYTES else 2) * values * pixels


def esp_channels(kernel: tuple[int, int], channels: int) -> int:
    """Return the number of channels of a depthwise convolution, padded to whole vectors for ESP-NN."""
    vector = VECTOR if kernel == (3, 3) and channels > OCTET else OCTET
    return -(-channels // vector) * vector


def esp_depthwise_bytes(kernel: tuple[int, int], stride_w: int, channels: int, columns: int) -> int:
    """Return the bytes that a call of ESP-NN's depthwise convolution needs for scratch, input and output."""
    padded = esp_channels(kernel, channels)
    taps = kernel[0] * kernel[1] * padded
    image, wider = (kernel[1] - 1) * kernel[0] * padded, stride_w * kernel[0] * padded
    own = (taps + 32, 0) if kernel == (3, 3) and padded % VECTOR == 0 else (2 * (taps + image) + 64, 2 * wider)
    fixed, each = 3 * VECTOR + image + own[0], wider + padded + own[1]
    return fixed + each * max(1, min(columns, (limits.ESP_TILE - fixed) // each))
