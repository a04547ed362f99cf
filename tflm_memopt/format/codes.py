"""Named values of a program's fields: TMO_* of custom_ops/include/tmo/program.h."""

from __future__ import annotations

import enum


class InputPlace(enum.IntEnum):
    """Place of input 0. Views with base 1 read a streamed or external input."""

    ARENA = 0
    """Whole in its buffer, like any other input."""
    STREAM = 1
    """Arrives a few rows at a time: tmo_push()."""
    EXTERNAL = 2
    """io[0] is a tmo_source that points to its pixels."""
    LINK = 3
    """Whole in its buffer, if there is one. tmo_run_linked() receives more tensors from other devices."""


class RowLayout(enum.IntEnum):
    """Order of a whole tensor's rows in memory. A reversed group counts them from the last row."""

    HWC = 0
    """Row y is row y in memory."""
    ROWS_REVERSED = 1
    """Row y is row height - 1 - y in memory."""
    PIXELS_REVERSED = 2
    """In addition, pixel x is pixel width - 1 - x. For tiled groups, which compute the address of each pixel."""
    STATE = 16
    """STATE + i: like HWC, with rows in rolling buffer i of the state."""


class Flags(enum.IntFlag):
    """Properties of an operator."""

    ITERATIVE = 1
    """Each iteration adds one input row or tile to int32 accumulators; the last one writes the output row."""
    PER_CHANNEL = 2
    """Each output channel has its own multiplier and shift."""
    SUMS = 4
    """Sums channel groups in int32 accumulators. An additional pass writes the output."""
    SWAPPED = 8
    """The second of two operands is the left one in the formula."""
    NIBBLES = 16
    """CONV, DEPTHWISE: weights have four bits each, the first of two in the lower half of a byte."""


class FloatRange(enum.IntEnum):
    """Limits of the output of float32 kinds: bits 0 to 3 of `float_form`."""

    FINITE = 0
    """From the lowest to the highest finite value: TFLM's fused activation NONE. NaN stays NaN in all ranges."""
    RELU = 1
    """From 0 to the highest finite value."""
    RELU_N1_TO_1 = 2
    RELU6 = 3
    ALL = 4
    """No limits."""
    POSITIVE = 5
    """From 0 to infinity."""


class FloatFunction(enum.IntEnum):
    """Function of ARITHMETIC_F32 (ADD to LEAKY_RELU), CURVE_F32 (LOGISTIC to TO_INTEGER), BINARY_32 (DIV to
    MINIMUM_S32) and COMPARE_32 (EQUAL to LESS_EQUAL_S32): bits 4 and above of `float_form`. _S32: of int32 operands.
    """

    ADD = 0
    SUB = 1
    MUL = 2
    MAXIMUM = 3
    MINIMUM = 4
    SQUARED_DIFFERENCE = 5
    PRELU = 6
    LEAKY_RELU = 7
    """Operand 1 is alpha."""
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
    """Ways in which RESIZE_BILINEAR_F32 finds the position of an output coordinate in the input."""

    PLAIN = 0
    CENTERS = 1
    """half_pixel_centers"""
    CORNERS = 2
    """align_corners"""


class SelectForm(enum.IntFlag):
    """An operand of SELECT: bits 0 and 1 are the number of its row among all rows that the iteration reads."""

    ONE_COLUMN = 4
    """Its only column is repeated."""
    ONE_CHANNEL = 8
    """Its only channel is repeated."""


class LoopCode(enum.IntEnum):
    """Codes of a group's loops. Each code runs an operator, or opens or closes a loop; a code n < NEAR runs operator
    n of the group. Numbers are little-endian.
    """

    NEAR = 0xFC
    FAR = 0xFC
    """uint16_t op: runs it."""
    SKIP = 0xFD
    """uint16_t op, stripes: skips the rest of the operator's stripe and the next stripes - 1, then runs it."""
    REPEAT = 0xFE
    """uint16_t times: runs the codes up to the matching END this many times, at least once."""
    END = 0xFF
    """Ends a loop, or the group."""


class Sharding(enum.IntEnum):
    """Ways to share an operator's iterations between two cores."""

    CORE_0 = 0
    """Core 0 computes all of them."""
    CORE_1 = 1
    """Core 1 computes all of them."""
    COLUMNS = 2
    """Core 0 computes columns [0, cut) of the output row, core 1 the others."""
    CHANNELS = 3
    """The same for channels: int8 CONV, and DEPTHWISE with equally many input and output channels. Packed operators are
    split at a multiple of 4, dense ones of 6."""


class Part(enum.IntEnum):
    """Optional parts of the library, numbered by their bits in `parts`. lower/parts.py determines those of a program.
    DSP_*: kernels of the DSP extension for packed operators.
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
    """Layouts other than TMO_LAYOUT_HWC."""
    TAPS = 6
    """Depthwise convolutions for Helium other than tmo_mve_has_nine()."""
    STATE = 7
    """Rows that outlive a run."""
    LINK = 8
    """TMO_INPUT_LINK."""
    NIBBLES = 9
    """TMO_FLAG_NIBBLES."""
    PIXELS = 10
    """The faster way to run iterations of a single pixel. A library without it runs them in the general way."""
    CONV_SUMS = 11
    """CONV with windows that the DSP extension neither reads in place nor gathers. Other cores always have it."""
    CONV_STEPS = 12
    """The same for windows whose bytes are not adjacent."""
    DEPTHWISE_SUMS = 13
    """DEPTHWISE that the DSP extension does not complete at once. Other cores always have it."""
    DEPTHWISE_REPEATED = 14
    """DEPTHWISE with several output channels for each input channel."""
    DSP_PAIRS_1 = 15
    """Convolutions that compute one pixel at once."""
    DSP_PAIRS_2 = 16
    DSP_PAIRS_3 = 17
    DSP_PAIRS_4 = 18
    DSP_DIRECT = 19
    """Convolutions of a single pixel that is read in place."""
    DSP_CLIPPED = 20
    """Four windows of which some leave the input."""
    DSP_GATHER = 21
    """Windows with long rows that leave the input, or of tiled groups."""
    DSP_3X3 = 22
    """Depthwise rows with blocks of 3x3 taps."""
    DSP_NINE = 23
    """Other depthwise rows with nine taps."""
    DSP_TAPS = 24
    """Other depthwise convolutions."""
