"""Codes in the fields of a program, which tmo/program.h defines in C with the prefix TMO_."""

import enum


class InputPlace(enum.IntEnum):
    """Place of a program's input 0. If input 0 is streamed or external, the field `base` of its tensors is 1."""

    ARENA = 0
    """Input 0 has a buffer in the arena, to which the caller writes the whole input before each run."""
    STREAM = 1
    """Input 0 is streamed a few rows at a time with tmo_push()."""
    EXTERNAL = 2
    """Input 0 is external: io[0] is a tmo_source that points to the pixels."""
    LINK = 3
    """A tmo_messenger exchanges rows with other devices. If the program has a buffer for input 0, the buffer holds the
    whole input.
    """


class RowLayout(enum.IntEnum):
    """Order of a tensor's rows in memory. If a group of operators runs in reverse, row 0 is a tensor's last row."""

    HWC = 0
    """Rows are stored in ascending order."""
    ROWS_REVERSED = 1
    """Rows are stored in descending order."""
    PIXELS_REVERSED = 2
    """Rows and pixels are stored in descending order. Only tensors of tiled groups have pixels in descending order."""
    STATE = 16
    """The layout `TMO_LAYOUT_STATE + i` means that rows are stored in rolling buffer i of the state."""


class Flags(enum.IntFlag):
    """Properties of an operator, which tmo_op.flags combines."""

    ITERATIVE = 1
    """Each iteration of the operator adds one input row or tile to int32 accumulators. The last iteration writes the
    output row.
    """
    PER_CHANNEL = 2
    """Each output channel has its own multiplier and shift."""
    SUMS = 4
    """An iteration adds the products of a channel group to int32 accumulators. After the last channel group, one more
    pass writes the output.
    """
    NIBBLES = 16
    """Weights of CONV and DEPTHWISE have four bits each. The lower four bits of a byte are the first of two weights."""
    COPIES = 32
    """Weights of CONV are copied into the workspace before a group of operators runs."""


class FloatRange(enum.IntEnum):
    """Ranges of the outputs of a float32 operator. Bits 0 to 3 of the field `float_form` hold the range's number."""

    FINITE = 0
    """Outputs are limited to finite values, like the outputs of TFLM's fused activation NONE. A NaN remains a NaN."""
    RELU = 1
    """RELU limits outputs to values from 0 to the highest finite value."""
    RELU_N1_TO_1 = 2
    RELU6 = 3
    ALL = 4
    """The range ALL does not limit outputs."""
    POSITIVE = 5
    """Outputs are limited to values from 0 to infinity."""


class FloatFunction(enum.IntEnum):
    """Functions of a float32 operator. Bit 4 and the higher bits of the field `float_form` hold the function's number.
    ARITHMETIC_F32 has the functions from ADD to LEAKY_RELU, and CURVE_F32 has the functions from LOGISTIC to
    TO_INTEGER. BINARY_32 has the functions from DIV to MINIMUM_S32, and COMPARE_32 has the functions from EQUAL to
    LESS_EQUAL_S32. Functions whose names end in _S32 take int32 operands.
    """

    ADD = 0
    SUB = 1
    MUL = 2
    MAXIMUM = 3
    MINIMUM = 4
    SQUARED_DIFFERENCE = 5
    PRELU = 6
    LEAKY_RELU = 7
    """LEAKY_RELU multiplies negative values by alpha, which is operand 1."""
    LOGISTIC = 8
    TANH = 9
    ELU = 10
    HARD_SWISH = 11
    ABS = 12
    NEG = 13
    SQUARE = 14
    SQRT = 15
    RSQRT = 16
    EXP = 17
    LOG = 18
    FLOOR = 19
    CEIL = 20
    ROUND = 21
    TO_FLOAT = 22
    """TO_FLOAT converts int32 to float32."""
    TO_INTEGER = 23
    """TO_INTEGER converts float32 to int32."""
    DIV = 24
    FLOOR_DIV = 25
    FLOOR_MOD = 26
    ADD_S32 = 27
    SUB_S32 = 28
    MUL_S32 = 29
    MAXIMUM_S32 = 30
    MINIMUM_S32 = 31
    EQUAL = 32
    NOT_EQUAL = 33
    LESS = 34
    LESS_EQUAL = 35
    EQUAL_S32 = 36
    NOT_EQUAL_S32 = 37
    LESS_S32 = 38
    LESS_EQUAL_S32 = 39


class ResizeForm(enum.IntEnum):
    """Rule by which RESIZE_BILINEAR_F32 maps an output coordinate to the input."""

    PLAIN = 0
    CENTERS = 1
    """The option half_pixel_centers of the resizing operator is set."""
    CORNERS = 2
    """The option align_corners of the resizing operator is set."""


class SelectForm(enum.IntFlag):
    """The field `select_form` has four bits for each operand of SELECT. The lower two bits are the operand's index in
    the list of rows that an iteration reads.
    """

    ONE_COLUMN = 4
    """The operand has one column, which is repeated."""
    ONE_CHANNEL = 8
    """The operand has one channel, which is repeated."""


class LoopCode(enum.IntEnum):
    """Byte codes for the order in which a group runs its operators. A loop code n below TMO_LOOP_NEAR runs operator n
    of the group. Numbers after a loop code are little-endian.
    """

    NEAR = 0xFC
    FAR = 0xFC
    """TMO_LOOP_FAR runs the operator whose index follows as a uint16_t."""
    SKIP = 0xFD
    """TMO_LOOP_SKIP skips stripes of an operator, and then runs the operator. TMO_LOOP_SKIP is followed by the index of
    the operator and the number of skipped stripes, each as a uint16_t.
    """
    REPEAT = 0xFE
    """TMO_LOOP_REPEAT repeats all codes up to the matching TMO_LOOP_END. After TMO_LOOP_REPEAT, two bytes hold the
    number of repetitions.
    """
    END = 0xFF
    """TMO_LOOP_END ends a loop, or ends the loop codes of the group."""


class Sharding(enum.IntEnum):
    """Division of an operator's iterations between two cores."""

    CORE_0 = 0
    """Core 0 computes all iterations."""
    CORE_1 = 1
    """Core 1 computes all iterations."""
    COLUMNS = 2
    """Core 0 computes the columns below the field `cut`, and core 1 computes all other columns."""
    CHANNELS = 3
    """Core 0 computes the channels below the field `cut`, and core 1 computes all other channels. Two operators can be
    split by channels: an int8 CONV, and a DEPTHWISE with as many output channels as input channels. Packed operators
    are split at a multiple of 4 channels. Operators with TMO_PACKING_DSP_DENSE are split at a multiple of 6 channels.
    """


class Part(enum.IntEnum):
    """Optional parts of the library. If a program needs part n of the library, bit n of tmo_header.parts is set. The
    module lower/parts.py determines the parts that a program needs. Parts named DSP_* are packed kernels for the DSP
    extension.
    """

    TILES = 0
    """TMO_PART_TILES runs tiled groups."""
    CHANNEL_GROUPS = 1
    ITERATIVE = 2
    """TMO_PART_ITERATIVE runs operators with TMO_FLAG_ITERATIVE."""
    STREAM = 3
    """TMO_PART_STREAM supports programs with the input place TMO_INPUT_STREAM."""
    EXTERNAL = 4
    """TMO_PART_EXTERNAL supports programs with the input place TMO_INPUT_EXTERNAL."""
    REVERSED = 5
    """TMO_PART_REVERSED supports tensors whose rows or pixels are stored in reverse."""
    TAPS = 6
    """TMO_PART_TAPS runs depthwise convolutions for Helium if tmo_mve_has_nine() is false."""
    STATE = 7
    """TMO_PART_STATE supports a state, which holds rows that outlive a run."""
    LINK = 8
    """TMO_PART_LINK supports programs with the input place TMO_INPUT_LINK."""
    NIBBLES = 9
    """TMO_PART_NIBBLES runs operators with TMO_FLAG_NIBBLES."""
    PIXELS = 10
    """TMO_PART_PIXELS computes single pixels faster than the general code."""
    CONV_SUMS = 11
    """On cores with the DSP extension, TMO_PART_CONV_SUMS computes the windows of CONV that no other part of the
    library computes. On cores without the DSP extension, the library always contains TMO_PART_CONV_SUMS.
    """
    CONV_STEPS = 12
    """With the DSP extension, TMO_PART_CONV_STEPS runs CONV with one input channel if a window's bytes are not
    adjacent.
    """
    DEPTHWISE_SUMS = 13
    """On cores with the DSP extension, TMO_PART_DEPTHWISE_SUMS runs DEPTHWISE in several passes. On cores without the
    DSP extension, the library always contains TMO_PART_DEPTHWISE_SUMS.
    """
    DEPTHWISE_REPEATED = 14
    """TMO_PART_DEPTHWISE_REPEATED runs DEPTHWISE with several output channels for each input channel."""
    DSP_PAIRS_1 = 15
    """TMO_PART_DSP_PAIRS_1 runs convolutions that compute one pixel at a time."""
    DSP_PAIRS_2 = 16
    DSP_PAIRS_3 = 17
    DSP_PAIRS_4 = 18
    DSP_DIRECT = 19
    """TMO_PART_DSP_DIRECT computes one pixel of a convolution at a time, and does not copy the input before the
    computation.
    """
    DSP_CLIPPED = 20
    """TMO_PART_DSP_CLIPPED computes four windows at once if a window extends beyond the input."""
    DSP_GATHER = 21
    """TMO_PART_DSP_GATHER runs convolutions of tiled groups, and convolutions whose windows have long rows and extend
    beyond the input.
    """
    DSP_3X3 = 22
    """TMO_PART_DSP_3X3 runs depthwise convolutions with windows of 3x3 pixels in blocks of six pixels."""
    DSP_NINE = 23
    """TMO_PART_DSP_NINE runs depthwise convolutions with windows of nine pixels that are not 3x3."""
    DSP_TAPS = 24
    """TMO_PART_DSP_TAPS runs all depthwise convolutions that no other part runs."""
    COPIES = 25
    """TMO_PART_COPIES runs operators with TMO_FLAG_COPIES."""
    DSP_PAIRS_5 = 26
    AT_ONCE = 27
    """In one call of a kernel, TMO_PART_AT_ONCE computes several consecutive iterations, each of which has one
    pixel.
    """
    TWO_ROWS = 28
    """With TMO_PART_TWO_ROWS, one call of a kernel computes two consecutive rows."""
    FEW_PIXELS = 29
    """With the DSP extension, TMO_PART_FEW_PIXELS computes tiles of several pixels faster than the general code."""
    WHOLE_POOLS = 30
    """With the DSP extension, TMO_PART_WHOLE_POOLS is faster than the general code for pools that have neither
    TMO_FLAG_ITERATIVE nor TMO_FLAG_SUMS.
    """
    SEVERAL_ROWS = 31
    """TMO_PART_SEVERAL_ROWS computes several rows of an operator without packed weights faster than the general code.
    """
    CLAMPS = 32
    """With the DSP extension or Helium, TMO_PART_CLAMPS runs operators whose output limits are narrower than the int8
    range.
    """
    DSP_ODD = 33
    """TMO_PART_DSP_ODD runs packed convolutions with an odd number of output channels."""
    DSP_NARROW = 34
    """TMO_PART_DSP_NARROW runs packed convolutions if a row of a window has less than four bytes."""
    DSP_SMALL = 35
    """TMO_PART_DSP_SMALL runs packed convolutions and dense layers that compute a single pixel and have few weights."""
    DSP_TRIPLES = 36
    """TMO_PART_DSP_TRIPLES computes three pairs of channels of a dense layer at once."""
    SLOW_MEMORY = 37
    """TMO_PART_SLOW_MEMORY supports tensors in slow memory."""
    CONSTANTS = 38
    """TMO_PART_CONSTANTS supports operands that are constants of the program."""
    DSP_WIDE = 39
    """TMO_PART_DSP_WIDE runs packed convolutions whose scratch is larger or smaller than usual."""
    DSP_ONE_SCALE = 40
    """TMO_PART_DSP_ONE_SCALE replaces TMO_PART_DSP_TRIPLES for dense layers whose channels all have the same scale."""
    DSP_WINDOWS = 41
    """TMO_PART_DSP_WINDOWS runs operators that have the packing TMO_PACKING_DSP_DENSE and windows of several pixels."""
