"""Limits of programs, shared by converter and C library as TMO_* of custom_ops/include/tmo/program.h."""

from __future__ import annotations

MAGIC = 0x314F4D54
"""The first four bytes of a program, which are "TMO1"."""
VERSION = 3
NONE = 0xFFFF
"""Table entry for an iteration that reads no row of the operand."""
MAX_INPUTS = 4
"""Maximum number of operands that an operator reads row by row."""
MAX_IO = 16
"""Maximum number of inputs and outputs of a program together."""
MAX_KERNEL_H = 64
"""Maximum number of rows that an iteration reads of all operands together."""
MAX_TAPS = 64
"""Maximum number of pixels of a window in a tiled group."""
MAX_EXTENT = 1 << 30
"""Maximum extent of a window and of all stripes together, so that coordinates fit int32."""
MAX_POOL_AREA = 1 << 23
"""Maximum number of pixels of a pooling window, so that its sums fit int32."""
MAX_SOFTMAX_CHANNELS = 4095
"""Maximum number of channels of SOFTMAX, so that the sum of the exponentials is below 2^31."""
MAX_ADD_SHIFT = 22
"""Maximum left shift of ADD's operands, so that shifted values of 9 bits fit int32."""
MAX_SHIFT = 30
"""Maximum left shift of a rescaled int32 sum."""
MAX_S16_SHIFT = 7
"""Maximum left shift of a rescaled int64 sum, which loses 15 - shift bits."""
MAX_SUM_BYTES = 4
"""Maximum size of a sum of SUMS and ADD_SUMS, in bytes."""
INDEX_BYTES = 4
"""Bytes of an int32 index, which is stored as a pixel with this many one-byte channels."""
TABLE_BYTES = 256
"""Bytes of LOOKUP's table, which has one byte for each int8 value."""
CURVE_WORDS = 128
"""Number of 32-bit words of the curve of an LSTM, which is a uint16_t[256]."""
LSTM_SCALES = 12
"""Number of multipliers of an LSTM, and of its shifts."""
PROGRAM_BASE = 255
"""Value of tmo_tensor.base for a constant tensor in the program."""
LINK_BASE = 254
"""Value of tmo_tensor.base for a tensor whose rows are sent to another device or received from one."""
LOOP_DEPTH = 4
"""Maximum nesting depth of loops."""
PACKED_PIXELS = 4
"""Maximum number of output pixels that a packed convolution computes at once."""
FIVE_PIXELS = 5
"""Number of last output pixels of a row that TMO_PACKING_DSP_CONV may compute at once."""
FIVE_VALUES = 96
"""Maximum number of values per pixel if TMO_PACKING_DSP_CONV computes the last pixels of a row at once, so that caches
hold the weights of a pair of channels.
"""
PACKED_TILE = 2304
"""Maximum number of int16 inputs of all pixels that a packed convolution computes at once."""
MVE_PIXELS = 2
"""Maximum number of output pixels that a packed convolution for Helium computes at once."""
MVE_TILE = 4608
"""Maximum number of input bytes of the pixels that a convolution for Helium, RISC-V or ESP-NN computes at once."""
ESP_TILE = 2048
"""Maximum scratch of a depthwise convolution in ESP-NN, in bytes, if a call computes more than one pixel."""
PACKED_TAPS = 51
"""Maximum number of taps of a packed depthwise convolution."""
PACKED_SCALES = 8
"""Number of int32 values for each pair of channels of a packed convolution."""
PACKED_SHIFT = 22
"""Maximum right shift of a packed operator."""
SHORT_ROW = 16
"""Maximum number of bytes of a window row, in whole words, that TMO_PACKING_DSP_CONV gathers with its padding."""
BLOCK_PIXELS = 6
"""Number of adjacent output pixels that TMO_PACKING_DSP_DEPTHWISE computes at once from 3x3 taps."""
GATHERED_BYTES = 200
"""Maximum number of bytes of a window that CONV gathers on cores with the DSP extension."""
GATHERED_ROWS_BYTES = 144
"""Maximum number of bytes of a window in whole rows that CONV gathers on cores with the DSP extension."""
FEW_BYTES = 80
"""Maximum number of bytes of a window that CONV gathers on all cores, for any number of output channels."""
SOME_CHANNELS = 8
"""Minimum number of output channels for which CONV gathers larger windows."""
MANY_CHANNELS = 16
"""Minimum number of output channels for which CONV gathers larger windows in whole rows."""
ALIGNMENT = 16
"""Alignment of a program's first byte."""
