"""Limits of programs, which tmo/program.h repeats in C with the prefix TMO_."""

MAGIC = 0x314F4D54
"""A program begins with the four characters "TMO1", which have this value as a little-endian number."""
VERSION = 4
NONE = 0xFFFF
"""In a table of input rows, this value stands for an iteration that reads no row of the operand."""
MAX_INPUTS = 4
"""An operator reads at most this many operands row by row."""
MAX_IO = 16
"""A program has at most this many inputs and outputs together."""
MAX_KERNEL_H = 64
"""An iteration reads at most this many rows of all operands together."""
MAX_TAPS = 64
"""A window in a tiled group has at most this many pixels."""
MAX_EXTENT = 1 << 30
"""A window has at most this many rows or columns, so that coordinates fit int32. All stripes of a tensor together have
at most this many rows.
"""
MAX_POOL_AREA = 1 << 23
"""A pooling window has at most this many pixels, so that its sums fit int32."""
MAX_SOFTMAX_CHANNELS = 4095
"""SOFTMAX has at most this many channels, so that the sum of the exponentials is below 2^31."""
MAX_PLACES = 1 << 23
"""ARG_MAX finds the largest of at most this many channels, so that 23 bits hold the channel's index."""
MAX_ADD_SHIFT = 22
"""ADD shifts its operands left by at most this many bits, so that shifted values of 9 bits fit int32."""
MAX_SHIFT = 30
"""An int32 sum is shifted left by at most this many bits."""
MAX_S16_SHIFT = 7
"""An int64 sum has at most this shift. The library multiplies the sum by a factor, and then shifts the product right by
`15 - shift` bits.
"""
MAX_SUM_BYTES = 4
"""Maximum number of bytes of each sum that a SUMS or ADD_SUMS operator writes."""
INDEX_BYTES = 4
"""An int32 index is stored as a pixel with this many one-byte channels."""
TABLE_BYTES = 256
"""The table of LOOKUP has this many bytes: one for each int8 value."""
CURVE_WORDS = 128
"""The curve of an LSTM is a uint16_t[256], which takes this many 32-bit words."""
LSTM_SCALES = 12
"""An LSTM has this many multipliers, and equally many shifts."""
PROGRAM_BASE = 255
"""If tmo_tensor.base has this value, the tensor is a constant in the program."""
LINK_BASE = 254
"""If tmo_tensor.base has this value, devices send the rows of the tensor to each other."""
LOOP_DEPTH = 4
"""At most this many loops are nested in each other."""
PACKED_PIXELS = 4
"""A packed convolution computes at most this many output pixels at once."""
FIVE_PIXELS = 5
"""A convolution with TMO_PACKING_DSP_CONV may compute the last five output pixels of a row at once."""
FIVE_VALUES = 96
"""TMO_PACKING_DSP_CONV computes the last five pixels of a row at once only if a window has at most this many values.
The weights of two channels with this many values fit the cache of the core.
"""
PACKED_TILE = 2304
"""A packed convolution copies at most this many int16 input values for the pixels that it computes at once."""
ROOM_FOR_PIXELS = 4
"""A packed convolution of rows has scratch for n pixels if tmo_op.at_once is this number + n."""
MVE_PIXELS = 2
"""A packed convolution for Helium computes at most this many output pixels at once."""
MVE_TILE = 4608
"""A convolution for Helium, RISC-V or ESP-NN copies at most this many input bytes for the pixels that it computes at
once.
"""
ESP_TILE = 2048
"""A call of ESP-NN that computes several pixels of a depthwise convolution takes at most this many bytes of scratch."""
PACKED_TAPS = 51
"""The window of a packed depthwise convolution has at most this many pixels."""
PACKED_SCALES = 8
"""The biases and scales of two channels of a packed convolution take this many int32 values."""
PACKED_SHIFT = 22
"""A packed operator shifts right by at most this many bits."""
SHORT_ROW = 16
"""With TMO_PACKING_DSP_CONV, rows of a window are copied as padded words only if a row has at most this many bytes."""
BLOCK_PIXELS = 6
"""TMO_PACKING_DSP_DEPTHWISE computes this many adjacent output pixels at once from windows of 3x3 pixels."""
GATHERED_BYTES = 200
"""On cores with the DSP extension, CONV copies a window of at most this many bytes into a buffer."""
GATHERED_ROWS_BYTES = 144
"""On cores with the DSP extension, CONV copies a window of whole rows with at most this many bytes into a buffer."""
FEW_BYTES = 80
"""On all cores, CONV copies a window of at most this many bytes into a buffer, even for few output channels."""
SOME_CHANNELS = 8
"""CONV copies a window of more than TMO_FEW_BYTES only if the operator has at least this many output channels."""
MANY_CHANNELS = 16
"""CONV copies whole rows of more than TMO_FEW_BYTES only if the operator has at least this many output channels."""
ALIGNMENT = 16
"""The address of a program is a multiple of this number."""
