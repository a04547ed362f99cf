"""What the executor runs, and what planner, checker and lowering ask of it: one row for each kind.

custom_ops/include/tmo/kinds.def has the same rows in C; a test compares them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tflm_memopt.kernels.descriptions import activations, elementwise, rows, windows
from tflm_memopt.kernels.language import KernelProgram
from tflm_memopt.kernels.needs import InputNeed, needs


class Kind(enum.IntEnum):
    """What the executor runs. Values are TMO_OP_* of custom_ops/include/tmo/program.h."""

    CONV = 1
    DEPTHWISE = 2
    ADD = 3
    AVERAGE_POOL = 4
    MAX_POOL = 5
    MEAN = 6
    SOFTMAX = 7
    LOOKUP = 8
    """A byte for each byte, by a table (lookup.py): QUANTIZE int8 -> int8, RELU, LOGISTIC, HARD_SWISH, ..."""
    SUB = 9
    MUL = 10
    MAXIMUM = 11
    MINIMUM = 12
    SQUARED_DIFFERENCE = 13
    PRELU = 14
    SUMS = 15
    """A convolution of some of its input channels: int32 sums, each of `param` bytes."""
    ADD_SUMS = 16
    """Such sums added up, and scaled as the convolution's are."""
    GATHER = 40
    """A row of a constant table for each int32 index: embeddings."""
    LOG_SOFTMAX = 41
    ARG_MAX = 42
    """The int32 index of a pixel's greatest channel, or smallest one: four bytes."""
    COPY = 20
    """Bytes to other places, by `moves`: PAD, CONCATENATION, STRIDED_SLICE, SPACE_TO_DEPTH, ..."""
    RESIZE_BILINEAR = 21
    TRANSPOSE_CONV = 22
    BATCH_MATMUL = 23
    LSTM = 24
    """A step: of the input, and of two states, which it writes anew."""
    SLIDING_SUM = 25
    """A mean over a window that slides, by sums in a state: new rows are added, and those that leave taken off."""
    CONV_S16 = 30
    """int16 activations, int8 weights: a channel takes two bytes, and Rows.c counts bytes."""
    DEPTHWISE_S16 = 31
    ADD_S16 = 32
    SUB_S16 = 33
    LEAKY_RELU_S16 = 34
    TRANSPOSE_CONV_S16 = 35
    QUANTIZE = 50
    """float32 to int8."""
    QUANTIZE_S16 = 51
    DEQUANTIZE = 52
    """int8 to float32."""
    DEQUANTIZE_S16 = 53
    WIDEN = 54
    """int8 to int16, rescaled."""
    NARROW = 55
    """int16 to int8, rescaled."""
    RESCALE_S16 = 56
    SEND = 57
    """Rows to another device, as they are."""
    RECEIVE = 58
    """Rows from another device."""
    OWN = 59
    """A pixel of a pixel, or of two, by a kernel of the application's own: own.py."""


GATES = 4
"""Gates of an LSTM."""
GATE_SCALES = 2 * GATES + 4
"""Its scales: of each gate's input and of what was made before; of both products that make the cells; of the output;
and what brings cells to the units of their curve, a factor and bits to the right."""
OPERAND_SCALES = 3
"""Scales of a kind that has one for each operand, then one for the output."""


class Constants(enum.Enum):
    """What `weights` holds: its axes."""

    NONE = ()
    FILTER = ("out", "kernel_h", "kernel_w", "in")
    DEPTHWISE_FILTER = ("kernel_h", "kernel_w", "out")
    ROWS = ("row", "out")
    BYTES = ("byte",)
    GATES = ("out", "gate", "in_out")

    @property
    def kernel_axes(self) -> tuple[int, ...]:
        """Those of the kernel's rows and columns; () where there are none."""
        return tuple(self.value.index(name) for name in ("kernel_h", "kernel_w") if name in self.value)


class Channels(enum.Enum):
    """Which channels of its inputs an output channel is computed from."""

    OWN = enum.auto()
    """Channel c from channel c of each input."""
    FILTERED = enum.auto()
    """Depthwise: channel c from channel c // (outputs / inputs)."""
    SUMMED = enum.auto()
    """A weighted sum of all channels."""
    ANY = enum.auto()
    """No rule that anything makes use of."""


@dataclass(frozen=True, slots=True)
class Traits:
    """All that is known of a kind apart from its numbers."""

    reads: int = 1
    """Bytes of an element that it reads."""
    writes: int = 1
    """Bytes of an element that it writes."""
    constants: Constants = Constants.NONE
    channels: Channels = Channels.ANY
    elementwise: bool = False
    """Each element of the output is computed from the element of each operand in its place, or one that is repeated."""
    operands: int | None = 1
    """That it reads in rows; None: one or more. Of two, element by element, one that has height, width or channels 1 is
    repeated along them."""
    has_access: bool = False
    """It says itself which rows it reads: they are no window."""
    slides: bool = False
    """A window of rows and columns, which may be a single pixel."""
    pools: bool = False
    """A window of each channel on its own: it can be summed up a row at a time."""
    runs_along: bool = False
    """Its sums stay in the state: new rows are added, and those that leave a window are taken off."""
    scales: int | None = 1
    """Multipliers and shifts; None: one, or one for each output channel."""
    crosses: bool = False
    """Its rows go to another device, or come from one."""
    named: bool = False
    """Its kernel is one of the application's, which `param` names."""
    biased: bool = False
    """It may have a bias for each output channel."""


WINDOW = needs(windows.max_pool).inputs["x"].along[:2]
"""Rows and columns of an input under one window: what all that slide have in common."""


def _described(
    kernel: KernelProgram, scales: int | None = 0, constants: Constants = Constants.NONE, *, biased: bool = False
) -> Traits:
    """What a description says of its accesses, with what the executor needs beside it."""
    found = needs(kernel)
    inputs, writes = [*found.inputs.values()], found.output.type.nbytes
    reads = inputs[0].tensor.type.nbytes
    elementwise, slides = (all(map(what, inputs)) for what in (_is_elementwise, _slides))
    channels = _channels(inputs[0]) if slides else Channels.OWN if elementwise and reads == writes else Channels.ANY
    pools = slides and channels is Channels.OWN and inputs[0].through <= {"add", "max"}
    has_access = not slides and not all(need.own[0] for need in inputs)
    return Traits(
        reads, writes, constants, channels, elementwise, len(inputs), has_access, slides, pools, scales=scales,
        biased=biased,
    )  # fmt: skip


def _is_elementwise(need: InputNeed) -> bool:
    return all(need.own) and need.early


def _slides(need: InputNeed) -> bool:
    return need.along[:2] == WINDOW


def _channels(window: InputNeed) -> Channels:
    if window.own[-1]:
        return Channels.FILTERED if window.through == {"dot"} else Channels.OWN
    return Channels.SUMMED if window.is_all(2) and window.through == {"dot"} else Channels.ANY


def _wide(narrow: Traits) -> Traits:
    """The same of int16, whose sums have 64 bits, which no description has."""
    return replace(narrow, reads=2, writes=2)


_CONV = _described(windows.conv, None, Constants.FILTER, biased=True)
_DEPTHWISE = _described(windows.depthwise, None, Constants.DEPTHWISE_FILTER, biased=True)
_TRANSPOSED = _described(windows.transpose_conv, None, Constants.FILTER, biased=True)

KINDS: Mapping[Kind, Traits] = {
    Kind.CONV: _CONV,
    Kind.DEPTHWISE: _DEPTHWISE,
    Kind.TRANSPOSE_CONV: _TRANSPOSED,
    Kind.CONV_S16: _wide(_CONV),
    Kind.DEPTHWISE_S16: _wide(_DEPTHWISE),
    Kind.TRANSPOSE_CONV_S16: _wide(_TRANSPOSED),
    Kind.BATCH_MATMUL: _described(rows.batch_matmul, 1),
    Kind.ADD: _described(elementwise.add_each, OPERAND_SCALES),
    Kind.SUB: _described(elementwise.add_each, OPERAND_SCALES),
    Kind.MUL: _described(elementwise.multiply, 1),
    Kind.MAXIMUM: _described(elementwise.greater),
    Kind.MINIMUM: _described(elementwise.greater),
    Kind.SQUARED_DIFFERENCE: _described(elementwise.square_difference, OPERAND_SCALES),
    Kind.PRELU: _described(elementwise.prelu, 2),
    Kind.ADD_S16: _described(elementwise.add_s16, OPERAND_SCALES),
    Kind.SUB_S16: _described(elementwise.add_s16, OPERAND_SCALES),
    Kind.LEAKY_RELU_S16: _described(elementwise.leaky_relu_s16, 2),
    Kind.LOOKUP: _described(activations.lookup, constants=Constants.BYTES),
    Kind.AVERAGE_POOL: _described(windows.average_pool),
    Kind.MAX_POOL: _described(windows.max_pool),
    Kind.MEAN: _described(windows.mean, 1),
    Kind.SOFTMAX: _described(activations.softmax, 1),
    Kind.LOG_SOFTMAX: _described(activations.log_softmax, 2),
    Kind.ARG_MAX: _described(rows.arg_max),
    Kind.GATHER: _described(rows.gather, constants=Constants.ROWS),
    Kind.LSTM: Traits(constants=Constants.GATES, operands=3, has_access=True, scales=GATE_SCALES),
    Kind.SLIDING_SUM: Traits(operands=None, has_access=True, runs_along=True),
    Kind.SUMS: Traits(constants=Constants.FILTER, slides=True, scales=0),
    Kind.ADD_SUMS: Traits(operands=None, has_access=True, scales=None, biased=True),
    Kind.COPY: Traits(operands=None, has_access=True, scales=0),
    Kind.RESIZE_BILINEAR: Traits(has_access=True, scales=0),
    Kind.QUANTIZE: _described(elementwise.quantize),
    Kind.QUANTIZE_S16: _described(elementwise.quantize_s16),
    Kind.DEQUANTIZE: _described(elementwise.dequantize),
    Kind.DEQUANTIZE_S16: _described(elementwise.dequantize_s16),
    Kind.WIDEN: _described(elementwise.widen, 1),
    Kind.NARROW: _described(elementwise.narrow, 1),
    Kind.RESCALE_S16: _described(elementwise.rescale_s16, 1),
    Kind.SEND: Traits(scales=0, crosses=True),
    Kind.RECEIVE: Traits(scales=0, crosses=True),
    Kind.OWN: Traits(operands=None, scales=0, named=True),
}
"""Elements, operands and accesses of those that are described follow from their descriptions."""
WIDE: Mapping[Kind, Kind] = {
    Kind.CONV: Kind.CONV_S16,
    Kind.DEPTHWISE: Kind.DEPTHWISE_S16,
    Kind.TRANSPOSE_CONV: Kind.TRANSPOSE_CONV_S16,
}
"""Kinds with a filter, and those that they are when activations are int16."""
