"""Named values of a program's fields: TMO_* of custom_ops/include/tmo/program.h."""

from __future__ import annotations

import enum


class InputPlace(enum.IntEnum):
    """Location of a program's input 0. Tensors with base 1 then read a streamed or external input."""

    ARENA = 0
    """Input 0 is whole in its buffer, like the other inputs."""
    STREAM = 1
    """Input 0 is streamed a few rows at a time with tmo_push()."""
    EXTERNAL = 2
    """Input 0 is external: io[0] is a tmo_source that points to the pixels."""
    LINK = 3
    """Input 0 is whole in its buffer, if it has one. tmo_run_linked() also receives tensors from other devices."""


class RowLayout(enum.IntEnum):
    """Order of a tensor's rows in memory. A reversed group counts rows from the last row."""

    HWC = 0
    """Row y is stored as row y."""
    ROWS_REVERSED = 1
    """Row y is stored as row height - 1 - y."""
    PIXELS_REVERSED = 2
    """Rows are reversed, and pixel x is stored as pixel width - 1 - x, which only tiled groups do."""
    STATE = 16
    """TMO_LAYOUT_STATE + i is like HWC, with the rows in rolling buffer i of the state."""


class Flags(enum.IntFlag):
    """Properties of an operator."""

    ITERATIVE = 1
    """Each iteration adds one input row or tile to int32 accumulators, and the last iteration writes the output row."""
    PER_CHANNEL = 2
    """Each output channel has its own multiplier and shift."""
    SUMS = 4
    """Channel groups are summed in int32 accumulators, and an additional pass writes the output."""
    SWAPPED = 8
    """In the operator's formula, the second of two operands is the left one."""
    NIBBLES = 16
    """Weights of CONV and DEPTHWISE have four bits each, of which the first of two is in a byte's lower half."""
    COPIES = 32
    """Weights of CONV are copied into the workspace when the group begins."""


class FloatRange(enum.IntEnum):
    """Limits of the output of float32 operators, in bits 0 to 3 of `float_form`."""

    FINITE = 0
    """From the lowest to the highest finite value, as TFLM's fused activation NONE. No range changes a NaN."""
    RELU = 1
    """From 0 to the highest finite value."""
    RELU_N1_TO_1 = 2
    RELU6 = 3
    ALL = 4
    """No limits."""
    POSITIVE = 5
    """From 0 to infinity."""


class FloatFunction(enum.IntEnum):
    """Function of a float32 operator, in bits 4 and above of `float_form`. ARITHMETIC_F32 has ADD to LEAKY_RELU,
    CURVE_F32 has LOGISTIC to TO_INTEGER, BINARY_32 has DIV to MINIMUM_S32, and COMPARE_32 has EQUAL to LESS_EQUAL_S32.
    Functions whose names end in _S32 take int32 operands.
    """

    ADD = 0
    SUB = 1
    MUL = 2
    MAXIMUM = 3
    MINIMUM = 4
    SQUARED_DIFFERENCE = 5
    PRELU = 6
    LEAKY_RELU = 7
    """Operand 1 of LEAKY_RELU is alpha."""
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
    """From int32."""
    TO_INTEGER = 23
    """To int32."""
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
    """Methods by which RESIZE_BILINEAR_F32 maps an output coordinate to the input."""

    PLAIN = 0
    CENTERS = 1
    """half_pixel_centers"""
    CORNERS = 2
    """align_corners"""


class SelectForm(enum.IntFlag):
    """Bits that determine how SELECT reads an operand, after the number of the operand's row in bits 0 and 1."""

    ONE_COLUMN = 4
    """The only column of the operand is repeated."""
    ONE_CHANNEL = 8
    """The only channel of the operand is repeated."""


class LoopCode(enum.IntEnum):
    """Codes of a group's loops. Each loop code runs an operator, or opens or closes a loop. A loop code n < NEAR runs
    operator n of the group. Numbers in loop codes are little-endian.
    """

    NEAR = 0xFC
    FAR = 0xFC
    """Run an operator. The operator's number follows the code as uint16_t op."""
    SKIP = 0xFD
    """Skip the current stripe of the operator and stripes - 1 more, then run it. uint16_t op and stripes follow."""
    REPEAT = 0xFE
    """Run the codes up to the matching END, at least once: uint16_t times follows."""
    END = 0xFF
    """End a loop, or the group."""


class Sharding(enum.IntEnum):
    """Ways to share an operator's iterations between two cores."""

    CORE_0 = 0
    """Core 0 computes all iterations."""
    CORE_1 = 1
    """Core 1 computes all iterations."""
    COLUMNS = 2
    """Core 0 computes columns [0, cut) of the output row, and core 1 all other columns."""
    CHANNELS = 3
    """Core 0 computes channels [0, cut), and core 1 all other channels. Channels can be shared if the operator is an
    int8 CONV, or a DEPTHWISE with equally many input and output channels. Packed operators are split at a multiple of 4
    channels, dense ones at a multiple of 6.
    """


class Part(enum.IntEnum):
    """Optional parts of the library, numbered by their bits in `parts`. lower/parts.py determines the parts that a
    program needs. Parts named DSP_* are packed kernels for the DSP extension.
    """

    TILES = 0
    """Tiled groups."""
    CHANNEL_GROUPS = 1
    ITERATIVE = 2
    """TMO_FLAG_ITERATIVE."""
    STREAM = 3
    """TMO_INPUT_STREAM."""
    EXTERNAL = 4
    """TMO_INPUT_EXTERNAL."""
    REVERSED = 5
    """Layouts of tensors other than TMO_LAYOUT_HWC."""
    TAPS = 6
    """Depthwise convolutions for Helium that tmo_mve_has_nine() does not cover."""
    STATE = 7
    """A state, which holds rows that outlive a run."""
    LINK = 8
    """TMO_INPUT_LINK."""
    NIBBLES = 9
    """TMO_FLAG_NIBBLES."""
    PIXELS = 10
    """Faster execution of iterations of a single pixel, in place of general code."""
    CONV_SUMS = 11
    """CONV with windows that the DSP extension neither reads in place nor gathers. Cores without it have this code."""
    CONV_STEPS = 12
    """CONV with windows of scattered bytes that the DSP extension neither reads in place nor gathers."""
    DEPTHWISE_SUMS = 13
    """DEPTHWISE that needs more than one pass on the DSP extension. Cores without it always have this code."""
    DEPTHWISE_REPEATED = 14
    """DEPTHWISE with several output channels for each input channel."""
    DSP_PAIRS_1 = 15
    """Convolutions that compute one pixel at a time."""
    DSP_PAIRS_2 = 16
    DSP_PAIRS_3 = 17
    DSP_PAIRS_4 = 18
    DSP_DIRECT = 19
    """Convolutions of a single pixel that is read in place."""
    DSP_CLIPPED = 20
    """Convolutions of four windows, some of which extend beyond the input."""
    DSP_GATHER = 21
    """Convolutions with long window rows that extend beyond the input, or in tiled groups."""
    DSP_3X3 = 22
    """Depthwise rows with blocks of 3x3 taps."""
    DSP_NINE = 23
    """Depthwise rows with nine taps in shapes other than 3x3."""
    DSP_TAPS = 24
    """All depthwise convolutions that no other part covers."""
    COPIES = 25
    """TMO_FLAG_COPIES."""
    DSP_PAIRS_5 = 26
    AT_ONCE = 27
    """Consecutive iterations of one pixel each that a kernel computes at once."""
    TWO_ROWS = 28
    """Two consecutive rows that a kernel computes at once."""
    FEW_PIXELS = 29
    """Faster execution of tiles of several pixels on the DSP extension, in place of general code."""
