"""Limits of programs that converter and C library share: TMO_* of custom_ops/include/tmo/program.h."""

from __future__ import annotations

MAGIC = 0x314F4D54
"""The first four bytes of a program: "TMO1"."""
VERSION = 3
NONE = 0xFFFF
"""Entry of an access' table: the iteration reads no row of the operand."""
MAX_INPUTS = 4
"""Most operands that an operator reads row by row."""
MAX_IO = 16
"""Most inputs and outputs of a program, together."""
MAX_KERNEL_H = 64
"""Most rows that an iteration reads, of all operands together."""
MAX_TAPS = 64
"""Most pixels of a window in a tiled group."""
MAX_EXTENT = 1 << 30
"""Largest extent of a window, and of all stripes, so that coordinates fit int32."""
MAX_POOL_AREA = 1 << 23
"""Most pixels of a pooling window, so that its sums fit int32."""
MAX_SOFTMAX_CHANNELS = 4095
"""Most channels of SOFTMAX, so that the sum of their exponentials is below 2^31."""
MAX_ADD_SHIFT = 22
"""Largest left shift of ADD's operands, so that 9 bits stay inside int32."""
MAX_SHIFT = 30
"""Largest left shift of a rescaled int32 sum."""
MAX_S16_SHIFT = 7
"""Largest left shift of a rescaled int64 sum, which loses 15 - shift bits."""
MAX_SUM_BYTES = 4
"""Largest size of a sum of SUMS and ADD_SUMS, in bytes."""
INDEX_BYTES = 4
"""Bytes of an int32 index. Each one is stored as a pixel with this many one-byte channels."""
TABLE_BYTES = 256
"""Bytes of LOOKUP's table: one for each int8 value."""
CURVE_WORDS = 128
"""32-bit words of LSTM's curve: uint16_t[256]."""
LSTM_SCALES = 12
"""Number of LSTM's multipliers and of its shifts."""
PROGRAM_BASE = 255
"""Base of a constant tensor: the program itself."""
LINK_BASE = 254
"""Base of a tensor whose rows are sent to another device or received from one."""
LOOP_DEPTH = 4
"""Deepest nesting of loops."""
PACKED_PIXELS = 4
"""Most output pixels that a packed convolution computes at once."""
PACKED_TILE = 2304
"""Most int16 input values of these pixels."""
MVE_PIXELS = 2
"""The same as PACKED_PIXELS, for Helium."""
MVE_TILE = 4608
"""Most input bytes of the pixels that a convolution for Helium, RISC-V or ESP-NN computes at once."""
ESP_TILE = 2048
"""Most bytes of scratch of a depthwise convolution in ESP-NN, if a call computes more than one pixel."""
PACKED_TAPS = 51
"""Most taps of a packed depthwise convolution."""
PACKED_SCALES = 8
"""int32 values for each pair of channels."""
PACKED_SHIFT = 22
"""Largest right shift of a packed operator."""
SHORT_ROW = 16
"""Most bytes of a window row, in whole words, that TMO_PACKING_DSP_CONV gathers through a copy with its padding."""
BLOCK_PIXELS = 6
"""Adjacent output pixels that TMO_PACKING_DSP_DEPTHWISE computes at once from 3x3 taps."""
GATHERED_BYTES = 200
"""Most bytes of a window that CONV gathers on cores with the DSP extension."""
GATHERED_ROWS_BYTES = 144
"""The same for a window in whole rows."""
FEW_BYTES = 80
"""The same for any number of output channels."""
SOME_CHANNELS = 8
"""Fewest output channels for more bytes."""
MANY_CHANNELS = 16
"""The same for a window in whole rows."""
ALIGNMENT = 16
"""Alignment of a program's first byte."""
