"""Limits of programs, which converter and C library share: TMO_* of custom_ops/include/tmo/program.h."""

from __future__ import annotations

MAGIC = 0x314F4D54
"""The first four bytes of a program: "TMO1"."""
VERSION = 2
NONE = 0xFFFF
"""Entry of an access' table: the firing reads no row."""
MAX_INPUTS = 4
"""Operands that an operator reads row by row."""
MAX_IO = 16
"""Inputs and outputs of a program, together."""
MAX_KERNEL_H = 64
"""Rows that are read at once, of all operands together."""
MAX_TAPS = 64
"""Pixels of a window that is read at once, in a tiled block."""
MAX_EXTENT = 1 << 30
"""Extent of a window, and of all strips, so that coordinates fit int32."""
MAX_POOL_AREA = 1 << 23
"""Pixels of a pooling window, so that its sums fit int32."""
MAX_SOFTMAX_CHANNELS = 4095
"""Channels of SOFTMAX, so that the sum of their exponentials is below 2^31."""
MAX_ADD_SHIFT = 22
"""Left shift of ADD's operands, so that 9 bits stay inside int32."""
MAX_SHIFT = 30
"""Left shift of an int32 sum that is rescaled."""
MAX_S16_SHIFT = 7
"""Left shift of an int64 sum that is rescaled, so that 15 - shift bits go."""
MAX_SUM_BYTES = 4
"""Bytes of a sum of SUMS and ADD_SUMS."""
INDEX_BYTES = 4
"""Bytes of an int32 index, which is a pixel of as many channels."""
TABLE_BYTES = 256
"""Bytes of LOOKUP's table: one for each int8."""
CURVE_WORDS = 128
"""32-bit words of LSTM's curve: uint16_t[256]."""
LSTM_SCALES = 12
"""Multipliers, and shifts, of LSTM."""
PROGRAM_BASE = 255
"""Base of a constant tensor: the program itself."""
LINK_BASE = 254
"""Base of a tensor whose rows go to another device, or come from one."""
LOOP_DEPTH = 4
"""Loops inside one another."""
PACKED_PIXELS = 4
"""Output pixels that a packed convolution computes at once."""
PACKED_TILE = 2304
"""int16 values of the pixels that it computes at once."""
MVE_PIXELS = 2
"""The same as PACKED_PIXELS, for Helium."""
MVE_TILE = 4608
"""Bytes of the pixels that a convolution for Helium, or RISC-V, computes at once."""
PACKED_TAPS = 51
"""Taps of a packed depthwise convolution."""
PACKED_SCALES = 8
"""int32 values for each pair of channels."""
PACKED_SHIFT = 22
"""The greatest right shift of a packed operator."""
ALIGNMENT = 16
"""Alignment of a program's first byte."""
