"""Codes of a program's fields that have a name: TMO_* of custom_ops/include/tmo/program.h."""

from __future__ import annotations

import enum


class InputPlace(enum.IntEnum):
    """Place of input 0. A program whose input is streamed or external reads it by views of base 1."""

    ARENA = 0
    """Whole in its buffer, as any other input."""
    STREAM = 1
    """It comes a few rows at a time: tmo_push()."""
    EXTERNAL = 2
    """io[0] is a tmo_frame, which says where its pixels are."""
    LINK = 3
    """Whole in its buffer, if there is one; other tensors come from other devices: tmo_run_linked()."""


class RowLayout(enum.IntEnum):
    """Order of a whole tensor's rows in memory, as a block counts them. A reversed block counts from the last row."""

    HWC = 0
    """Row y is row y in memory."""
    ROWS_TURNED = 1
    """Row y is row height - 1 - y in memory."""
    PIXELS_TURNED = 2
    """In addition, pixel x is pixel width - 1 - x. Tiled blocks use it, as they find each pixel by itself."""
    STATE = 16
    """STATE + i: as HWC, with rows in ring i of the state."""


class Flags(enum.IntFlag):
    """Properties of an operator."""

    ITERATIVE = 1
    """Each firing reads one input row, or tile, into int32 accumulators; the last one writes the output row."""
    PER_CHANNEL = 2
    """A multiplier and a shift for each output channel, instead of one for all."""
    SUMS = 4
    """Adds up channel groups in int32 accumulators, and writes the output in one more pass."""
    SWAPPED = 8
    """The second of two operands comes first in the formula."""


class LoopCode(enum.IntEnum):
    """Codes of a block's loops, each of which fires an operator, or opens or closes a loop. A code n < NEAR fires the
    block's operator n. Numbers are little-endian.
    """

    NEAR = 0xFC
    FAR = 0xFC
    """uint16_t op: fires it."""
    SKIP = 0xFD
    """uint16_t op, strips: leaves out the rest of its strip and the next strips - 1, then fires it."""
    REPEAT = 0xFE
    """uint16_t times: runs the codes up to the matching END so often, at least once."""
    END = 0xFF
    """Ends a loop, or the block."""


class How(enum.IntEnum):
    """Ways in which two cores share an operator's firings."""

    FIRST = 0
    """Core 0 makes all of them."""
    SECOND = 1
    """Core 1 makes all of them."""
    COLUMNS = 2
    """Core 0 makes columns [0, cut) of the output row, core 1 the others."""
    CHANNELS = 3
    """The same of channels: int8 CONV, and DEPTHWISE with as many channels out as in. Packed ones are cut at a multiple
    of 4, dense ones of 6."""
