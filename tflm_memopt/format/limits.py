"""Limits of programs, which tmo/program.h repeats in C with the prefix TMO_."""

MAGIC = 0x314F4D54
"""The first four bytes of a program as a little-endian number: the characters "TMO1"."""
VERSION = 4
NONE = 0xFFFF
"""In a table of input rows, the number 0xFFFF means that an iteration reads no row of the operand."""
MAX_INPUTS = 4
"""Maximum number of operands that an operator reads row by row."""
MAX_IO = 16
"""Maximum number of inputs and outputs of a program, counted together."""
MAX_KERNEL_H = 64
"""Maximum number of rows that an iteration reads from all operands together."""
MAX_TAPS = 64
"""Maximum number of pixels under a window in a tiled group."""
MAX_EXTENT = 1 << 30
"""Maximum height or width of a window. All stripes of a tensor together have fewer than TMO_MAX_EXTENT rows."""
MAX_POOL_AREA = 1 << 23
"""Maximum number of pixels under a pooling window, so that the sum of the pixels fits int32."""
MAX_SOFTMAX_CHANNELS = 4095
"""Maximum number of channels of SOFTMAX, so that the sum of the exponentials is below 2^31."""
MAX_PLACES = 1 << 23
"""Maximum number of channels of ARG_MAX. The index of a channel must fit 23 bits."""
MAX_ADD_SHIFT = 22
"""Maximum number of bits by which an operand of ADD is shifted to the left. A value of 9 bits fits an int32 even after
the maximum shift.
"""
MAX_SHIFT = 30
"""Maximum left shift of an int32 sum in bits."""
MAX_S16_SHIFT = 7
"""Maximum shift of an int64 sum. The C library multiplies an int64 sum by a factor, and then shifts the product right
by `15 - shift` bits.
"""
MAX_SUM_BYTES = 4
"""Maximum size in bytes of a sum that a SUMS or ADD_SUMS operator writes."""
INDEX_BYTES = 4
"""Size of an int32 index in bytes. In a tensor of int32 indices, each byte of an index counts as a channel."""
TABLE_BYTES = 256
"""Size of the table of LOOKUP in bytes: one byte for each int8 value."""
CURVE_WORDS = 128
"""Size of an LSTM's curve in words of 32 bits. The curve is a uint16_t[256]."""
LSTM_SCALES = 12
"""Number of multipliers of an LSTM, which equals the number of shifts of an LSTM."""
PROGRAM_BASE = 255
"""Value of tmo_tensor.base for a tensor that is a constant in the program."""
LINK_BASE = 254
"""Value of tmo_tensor.base for a tensor whose rows are messages between devices."""
LOOP_DEPTH = 4
"""Maximum number of loops that are nested in each other."""
PACKED_PIXELS = 4
"""Maximum number of output pixels that a packed convolution computes at once."""
FIVE_PIXELS = 5
"""Number of output pixels at the end of a row that TMO_PACKING_DSP_CONV can compute at once."""
FIVE_VALUES = 96
"""If a window has at most TMO_FIVE_VALUES values, TMO_PACKING_DSP_CONV computes the last five pixels of a row at once.
The weights of two channels for a window of TMO_FIVE_VALUES values fit the cache of the core.
"""
PACKED_TILE = 2304
"""Maximum number of int16 input values that a packed convolution copies to scratch at a time."""
ROOM_FOR_PIXELS = 4
"""If a packed convolution computes whole rows with scratch for n pixels, tmo_op.at_once is TMO_ROOM_FOR_PIXELS + n."""
MVE_PIXELS = 2
"""Maximum number of output pixels that a packed convolution for Helium computes at once."""
MVE_TILE = 4608
"""Maximum number of input bytes that a convolution for Helium, RISC-V or ESP-NN copies to scratch at a time."""
ESP_TILE = 2048
"""Maximum scratch in bytes for a call of ESP-NN that computes several pixels of a depthwise convolution."""
PACKED_TAPS = 51
"""Maximum number of pixels under the window of a packed depthwise convolution."""
PACKED_SCALES = 8
"""Number of int32 values for the biases and scales of two channels of a packed convolution."""
PACKED_SHIFT = 22
"""Maximum right shift of a packed operator in bits."""
SHORT_ROW = 16
"""Maximum size in bytes of a row that TMO_PACKING_DSP_CONV copies from a window and pads to whole words."""
BLOCK_PIXELS = 6
"""Number of adjacent output pixels that TMO_PACKING_DSP_DEPTHWISE computes at once for 3x3 windows."""
GATHERED_BYTES = 200
"""Maximum size in bytes of a window that CONV copies into a buffer on cores with the DSP extension."""
GATHERED_ROWS_BYTES = 144
"""Maximum size in bytes of a window of whole rows that CONV copies into a buffer on cores with the DSP extension."""
FEW_BYTES = 80
"""Maximum size in bytes of a window that CONV copies into a buffer on every core."""
SOME_CHANNELS = 8
"""CONV copies windows of more than TMO_FEW_BYTES only if it has at least TMO_SOME_CHANNELS output channels."""
MANY_CHANNELS = 16
"""CONV copies large windows of whole rows only if it has at least TMO_MANY_CHANNELS output channels."""
ALIGNMENT = 16
"""Alignment of a program's address in bytes."""
