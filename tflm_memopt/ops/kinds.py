"""Lists the kernels of the executor, with the properties that planner, checker and lowering need. The script
scripts/program_format.py writes custom_ops/include/tmo/kinds.def from the list of kernels.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tflm_memopt.format.limits import LSTM_SCALES


class Kind(enum.IntEnum):
    """Each kernel of the executor has a number, which equals a constant TMO_OP_* in C."""

    CONV = 1
    DEPTHWISE = 2
    ADD = 3
    AVERAGE_POOL = 4
    MAX_POOL = 5
    MEAN = 6
    SOFTMAX = 7
    LOOKUP = 8
    """LOOKUP replaces each byte by an entry of a table (lookup.py), for RELU, LOGISTIC, HARD_SWISH and others."""
    SUB = 9
    MUL = 10
    MAXIMUM = 11
    MINIMUM = 12
    SQUARED_DIFFERENCE = 13
    PRELU = 14
    SUMS = 15
    """SUMS is a convolution over some of the input channels. The field `param` has the number of bytes in which an
    int32 sum is stored.
    """
    ADD_SUMS = 16
    """ADD_SUMS adds the partial sums of SUMS, and rescales the total like a convolution."""
    GATHER = 40
    """GATHER copies a row of a constant table for each int32 index, as embeddings do."""
    LOG_SOFTMAX = 41
    ARG_MAX = 42
    """ARG_MAX returns the int32 index of a pixel's largest or smallest channel."""
    COPY = 20
    """COPY copies bytes as `moves` describes, for PAD, CONCATENATION, STRIDED_SLICE and others."""
    RESIZE_BILINEAR = 21
    TRANSPOSE_CONV = 22
    BATCH_MATMUL = 23
    LSTM = 24
    """The kernel LSTM runs one time step, which reads the input and rewrites two states."""
    SLIDING_SUM = 25
    """SLIDING_SUM computes a mean over a sliding input, by adding new rows to sums in a state and subtracting old rows.
    """
    CONV_S16 = 30
    """CONV_S16 has int16 activations and int8 weights. An int16 channel takes two bytes, and the field `c` of
    the class Rows counts bytes.
    """
    DEPTHWISE_S16 = 31
    ADD_S16 = 32
    SUB_S16 = 33
    LEAKY_RELU_S16 = 34
    TRANSPOSE_CONV_S16 = 35
    MAX_POOL_S16 = 36
    AVERAGE_POOL_S16 = 37
    MEAN_S16 = 38
    MUL_S16 = 39
    MAXIMUM_S16 = 70
    MINIMUM_S16 = 71
    BATCH_MATMUL_S16 = 43
    SOFTMAX_S16 = 44
    CURVE_S16 = 45
    """CURVE_S16 computes LOGISTIC or TANH of int16."""
    CONV_F32 = 17
    """CONV_F32 has float32 activations and weights. A float32 channel takes four bytes, and the field `c` of the class
    Rows counts bytes.
    """
    DEPTHWISE_F32 = 18
    TRANSPOSE_CONV_F32 = 19
    AVERAGE_POOL_F32 = 26
    """AVERAGE_POOL_F32 computes AVERAGE_POOL_2D or MEAN of float32."""
    MAX_POOL_F32 = 27
    """MAX_POOL_F32 computes MAX_POOL_2D or REDUCE_MAX of float32."""
    ARITHMETIC_F32 = 28
    """ARITHMETIC_F32 computes a function of two float32 operands, element by element."""
    CLAMP_F32 = 29
    """CLAMP_F32 computes RELU or RELU6 of float32."""
    CURVE_F32 = 46
    """CURVE_F32 computes a function of one operand with four bytes, such as SQRT, or converts between float32 and
    int32.
    """
    SOFTMAX_F32 = 47
    BATCH_MATMUL_F32 = 48
    BINARY_32 = 49
    """BINARY_32 computes DIV, FLOOR_DIV and FLOOR_MOD of float32, and arithmetic of int32."""
    COMPARE_32 = 60
    """COMPARE_32 compares two float32 or int32 operands. The output of a comparison is 1 for true and 0 for false."""
    ARG_MAX_ALONG = 61
    """ARG_MAX_ALONG returns, for each channel, the int32 index of the window's largest or smallest value."""
    ARG_MAX_F32 = 62
    GATHER_ND = 63
    """GATHER_ND copies pixels of operand 0. Each pixel of operand 1 holds the int32 indices that select one pixel of
    operand 0. The selected pixel's position is the sum of all indices, with index k multiplied by `bias[k]`.
    """
    LOG_SOFTMAX_F32 = 64
    SUM_F32 = 65
    MIN_POOL_F32 = 66
    """MIN_POOL_F32 computes REDUCE_MIN of float32."""
    RESIZE_BILINEAR_F32 = 67
    SELECT = 68
    """SELECT copies each element from operand 1 or, where operand 0 is 0, from operand 2."""
    QUANTIZE = 50
    QUANTIZE_S16 = 51
    DEQUANTIZE = 52
    DEQUANTIZE_S16 = 53
    WIDEN = 54
    NARROW = 55
    RESCALE_S16 = 56
    COMPARE = 69
    """COMPARE compares two int8 operands after scaling both. Each output byte of COMPARE is 1 for true and 0 for false.
    """
    SEND = 57
    RECEIVE = 58
    OWN = 59
    """OWN computes a pixel from one or two pixels with a custom kernel of the application (own.py)."""


GATES = 4
OPERAND_SCALES = 3
"""ADD and similar kernels have one scale for each of two operands, and one for the output."""


class Constants(enum.Enum):
    """Order of the axes of a kernel's `weights`."""

    NONE = ()
    FILTER = ("out", "kernel_h", "kernel_w", "in")
    DEPTHWISE_FILTER = ("kernel_h", "kernel_w", "out")
    ROWS = ("row", "out")
    BYTES = ("byte",)
    GATES = ("out", "gate", "in_out")

    @property
    def kernel_axes(self) -> tuple[int, ...]:
        """Indices of the axes for the rows and columns of the kernel, or () if the weights have no such axes."""
        return tuple(self.value.index(name) for name in ("kernel_h", "kernel_w") if name in self.value)


class Channels(enum.Enum):
    OWN = enum.auto()
    """Channel c of the output is computed from channel c of each input."""
    FILTERED = enum.auto()
    """In a depthwise operator, each input channel gives one or more adjacent output channels."""
    SUMMED = enum.auto()
    """Each output channel is a weighted sum of all input channels."""
    ANY = enum.auto()


@dataclass(frozen=True, slots=True)
class Traits:
    reads: int = 1
    """Bytes of an input element."""
    writes: int = 1
    """Bytes of an output element."""
    constants: Constants = Constants.NONE
    channels: Channels = Channels.ANY
    elementwise: bool = False
    """True if each output element depends on only one element of each operand, which may be broadcast."""
    operands: int | None = 1
    """Number of operands that the kernel reads row by row, or None if the number varies."""
    slides: bool = False
    """True if the kernel has a window of rows and columns, which may be a single pixel."""
    pools: bool = False
    """True if the kernel pools each channel separately, and can process a window row by row."""
    runs_along: bool = False
    """True if the kernel adds new rows to sums in a state, and subtracts the rows that leave a sliding input."""
    accumulators: int = 1
    """Number of 32-bit sums for each output element of an operator that processes one input row at a time."""
    scales: int | None = 1
    """Number of multipliers, which equals the number of shifts. The value None means that the number of multipliers is
    1 or the number of output channels.
    """
    named: bool = False
    """True if the application defines the kernel, whose identity is in the operator's field `param`."""
    biased: bool = False


def _window(
    channels: Channels, constants: Constants = Constants.NONE, scales: int | None = 0, *, biased: bool = False
) -> Traits:
    pools = channels is Channels.OWN
    return Traits(constants=constants, channels=channels, slides=True, pools=pools, scales=scales, biased=biased)


def _elementwise(
    operands: int, scales: int = 0, reads: int = 1, writes: int = 1, constants: Constants = Constants.NONE
) -> Traits:
    channels = Channels.OWN if reads == writes else Channels.ANY
    return Traits(reads, writes, constants, channels, elementwise=True, operands=operands, scales=scales)


_BOTH = ("CONV", "DEPTHWISE", "TRANSPOSE_CONV", "AVERAGE_POOL", "MAX_POOL", "BATCH_MATMUL", "SOFTMAX")
WIDE: Mapping[Kind, Kind] = {Kind[name]: Kind[f"{name}_S16"] for name in (*_BOTH, "MEAN", "MUL", "MAXIMUM", "MINIMUM")}
"""Maps each int8 kernel to the int16 kernel for the same operator."""
FLOAT: Mapping[Kind, Kind] = {
    Kind.MEAN: Kind.AVERAGE_POOL_F32,
    **{Kind[name]: Kind[f"{name}_F32"] for name in (*_BOTH, "LOG_SOFTMAX")},
}
"""Maps each int8 kernel to the float32 kernel for the same operator."""
_PLACE = Traits(writes=4, slides=True, pools=True, accumulators=2, scales=0)
"""ARG_MAX needs two sums for each output: a value and its index."""

_ROWS: Mapping[Kind, Traits] = {
    Kind.CONV: _window(Channels.SUMMED, Constants.FILTER, None, biased=True),
    Kind.DEPTHWISE: _window(Channels.FILTERED, Constants.DEPTHWISE_FILTER, None, biased=True),
    Kind.TRANSPOSE_CONV: Traits(constants=Constants.FILTER, scales=None, biased=True),
    Kind.SUM_F32: replace(_window(Channels.OWN), reads=4, writes=4),
    Kind.MIN_POOL_F32: replace(_window(Channels.OWN), reads=4, writes=4),
    Kind.RESIZE_BILINEAR_F32: Traits(4, 4, scales=0),
    Kind.SELECT: Traits(operands=None, scales=0),
    Kind.ARITHMETIC_F32: _elementwise(2, 0, 4, 4),
    Kind.CLAMP_F32: _elementwise(1, 0, 4, 4),
    Kind.CURVE_F32: _elementwise(1, 0, 4, 4),
    Kind.BINARY_32: _elementwise(2, 0, 4, 4),
    Kind.COMPARE_32: _elementwise(2, 0, 4, 1),
    Kind.ARG_MAX_ALONG: _PLACE,
    Kind.ARG_MAX_F32: replace(_PLACE, reads=4),
    Kind.GATHER_ND: Traits(operands=2, scales=0),
    Kind.BATCH_MATMUL: Traits(operands=2),
    Kind.ADD: _elementwise(2, OPERAND_SCALES),
    Kind.SUB: _elementwise(2, OPERAND_SCALES),
    Kind.MUL: _elementwise(2, 1),
    Kind.MAXIMUM: _elementwise(2),
    Kind.MINIMUM: _elementwise(2),
    Kind.SQUARED_DIFFERENCE: _elementwise(2, OPERAND_SCALES),
    Kind.PRELU: _elementwise(2, 2),
    Kind.COMPARE: _elementwise(2, OPERAND_SCALES),
    Kind.ADD_S16: _elementwise(2, OPERAND_SCALES, 2, 2),
    Kind.SUB_S16: _elementwise(2, OPERAND_SCALES, 2, 2),
    Kind.CURVE_S16: _elementwise(1, 1, 2, 2),
    Kind.LEAKY_RELU_S16: _elementwise(1, 2, 2, 2),
    Kind.LOOKUP: _elementwise(1, constants=Constants.BYTES),
    Kind.AVERAGE_POOL: _window(Channels.OWN),
    Kind.MAX_POOL: _window(Channels.OWN),
    Kind.MEAN: _window(Channels.OWN, scales=1),
    Kind.SOFTMAX: Traits(),
    Kind.LOG_SOFTMAX: Traits(scales=2),
    Kind.ARG_MAX: Traits(writes=4, scales=0),
    Kind.GATHER: Traits(reads=4, constants=Constants.ROWS, scales=0),
    Kind.LSTM: Traits(constants=Constants.GATES, operands=3, scales=LSTM_SCALES),
    Kind.SLIDING_SUM: Traits(operands=None, runs_along=True),
    Kind.SUMS: Traits(constants=Constants.FILTER, slides=True, scales=0),
    Kind.ADD_SUMS: Traits(operands=None, scales=None, biased=True),
    Kind.COPY: Traits(operands=None, scales=0),
    Kind.RESIZE_BILINEAR: Traits(scales=0),
    Kind.QUANTIZE: _elementwise(1, 0, 4, 1),
    Kind.QUANTIZE_S16: _elementwise(1, 0, 4, 2),
    Kind.DEQUANTIZE: _elementwise(1, 0, 1, 4),
    Kind.DEQUANTIZE_S16: _elementwise(1, 0, 2, 4),
    Kind.WIDEN: _elementwise(1, 1, 1, 2),
    Kind.NARROW: _elementwise(1, 1, 2, 1),
    Kind.RESCALE_S16: _elementwise(1, 1, 2, 2),
    Kind.SEND: Traits(scales=0),
    Kind.RECEIVE: Traits(scales=0),
    Kind.OWN: Traits(operands=None, scales=0, named=True),
}
_TRAITS: Mapping[Kind, Traits] = {
    **_ROWS,
    **{wide: replace(_ROWS[narrow], reads=2, writes=2) for narrow, wide in WIDE.items()},
    **{floating: replace(_ROWS[narrow], reads=4, writes=4, scales=0) for narrow, floating in FLOAT.items()},
}


def traits(kind: Kind) -> Traits:
    return _TRAITS[kind]


USING_LIBM = (Kind.CURVE_F32, Kind.SOFTMAX_F32, Kind.LOG_SOFTMAX_F32, Kind.BINARY_32)
"""Kernels that call functions of libm, such as expf()."""
