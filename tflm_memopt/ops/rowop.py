"""Defines the row operator: an operator as planner and executor see it.

Iteration y of an operator makes output row y. The iteration reads the rows [first(y), first(y) + extent) of each input,
as far as they exist. The accesses of windows follow from the kernel descriptions. The accesses of all other operators
are stored as Access. The planner uses sizes only, and lowering also uses weights and multipliers.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.fields import I32, U16, U32, Also, ArrayOffset, Number
from tflm_memopt.kernels.language import Extents
from tflm_memopt.kernels.needs import AxisRange, AxisSteps, OutputNeeds
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import PRODUCTS, WINDOW, Channels, Constants, Kind, Traits, traits
from tflm_memopt.ops.packing import OF_CHANNELS, Packing, esp_depthwise_bytes, is_direct, packed_values, tile_bytes

Ints = NDArray[np.int64]
FLOAT_BYTES = 4
INT16_BYTES = 2
"""Bytes of an int16. Sums of products of int16 have 64 bits and are never kept between calls."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor as `h` rows of `w` pixels of `c` one-byte channels. An int32 index is a pixel of four bytes, an int16
    channel counts as two channels, and a float32 channel as four.
    """

    h: int
    w: int
    c: int

    @property
    def row_bytes(self) -> int:
        return self.w * self.c

    @property
    def nbytes(self) -> int:
        return self.h * self.w * self.c


STRIDE_H = {
    "scale_h": "RESIZE_BILINEAR has TFLM's height_scale_10, in 1/1024 of a row.",
    "new_rows": "SLIDING_SUM reads this number of new rows in each run.",
    "rows_in": "The input of RESIZE_BILINEAR_F32 has this number of rows.",
}
STRIDE_W = {
    "scale_w": "RESIZE_BILINEAR has TFLM's width_scale_10, in 1/1024 of a pixel.",
    "rows_out": "The output of RESIZE_BILINEAR_F32 has this number of rows.",
}
"""Other names of the fields `stride_h` and `stride_w`, for operators without strides."""


@dataclass(frozen=True)
class Window:
    """The size and steps of a window, with the parameter names of kernels/descriptions/windows.py. Padding at the
    bottom and right follows from the sizes, and is not stored.
    """

    kernel_h: U16 = 1
    kernel_w: U16 = 1
    stride_h: Annotated[int, Number("<u2"), Also(STRIDE_H)] = 1
    stride_w: Annotated[int, Number("<u2"), Also(STRIDE_W)] = 1
    dilation_h: U16 = 1
    dilation_w: U16 = 1
    pad_top: U16 = 0
    pad_left: U16 = 0

    @cached_property
    def rows(self) -> AxisSteps:
        """The input rows under a window, before clipping."""
        return WINDOW[0].steps(asdict(self))

    @cached_property
    def columns(self) -> AxisSteps:
        """The input columns under a window, before clipping."""
        return WINDOW[1].steps(asdict(self))


UNIT = Window()

NO_ROW = 0xFFFF
"""Entry of Access.table for an iteration that reads no row (TMO_NONE)."""


@dataclass(frozen=True, slots=True)
class Access:
    """This record gives the rows that an operator without a window reads from one operand. Iteration y reads `extent`
    rows. The first row is table[y], if there is a table. If there is no table, the first row is
    (y * mul + add) / div, rounded down. Rows outside the operand are left out.
    """

    add: I32 = 0
    mul: U16 = 1
    div: U16 = 1
    extent: U16 = 1
    table: Annotated[tuple[int, ...] | None, ArrayOffset("<u2")] = None
    """The field is the offset of a table with the first input row, a uint16_t, for each output row. Without a table,
    the field is 0. TMO_NONE stands for iterations that read no row.
    """

    def first(self, y: Ints, height: int) -> Ints:
        """Return the first row that iteration y reads, or `height` if it reads none."""
        if self.table is None:
            return (y * self.mul + self.add) // self.div
        rows = np.array(self.table, np.int64)[y]
        return np.where(rows == NO_ROW, height, rows)


def accesses(found: OutputNeeds, values: Extents) -> tuple[Access, ...]:
    """Return the rows of each input that an output row needs, from a kernel description whose first axis is rows."""
    return tuple(_access(need.along[0], found, values) for need in found.inputs.values())


def _access(rows: AxisRange, found: OutputNeeds, values: Extents) -> Access:
    steps = rows.steps(values)
    if rows.axis == 0:
        end = steps.begin + steps.extent
        return Access(end - 1 - steps.per * (steps.most - 1), steps.step, steps.per, steps.most)
    turns = 1 if rows.axis is None else found.output.shape[rows.axis].at(values)
    return Access(steps.begin, 0, 1, steps.reach(turns))


@dataclass(frozen=True, slots=True)
class Move:
    """`count` runs of `nbytes` bytes that are copied from one input row to the output row."""

    operand: int
    tap: int
    """Number of the input row relative to first(y). If the row is outside the input, the move copies nothing."""
    source: int
    """Byte of the input row where the first run starts."""
    target: int
    """Byte of the output row to which the first run is written."""
    nbytes: int
    count: int = 1
    source_step: int = 0
    target_step: int = 0
    phase_step: int = 0
    """Number that is added to `source` in each phase."""
    period: int = 1
    shift: int = 0

    def phase(self, y: Ints) -> Ints:
        return (y + self.shift) % self.period


@dataclass(frozen=True, slots=True)
class Moves:
    """The moves by which COPY makes an output row."""

    moves: tuple[Move, ...]
    fill: int | None = None
    """Value of bytes that no move writes, or None if moves write all bytes."""
    scattered: bool = False
    """Whether each iteration moves one input row into the only output row. `phase_step` counts bytes of the output."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An operand stored in flash."""

    position: int
    """Position of the constant among the kernel's operands."""
    rows: Rows
    values: NDArray[np.int8] = field(compare=False)


@dataclass(frozen=True, slots=True)
class StateRollingBuffer:
    """A buffer that outlives an inference and keeps the newest rows of a tensor."""

    tensor: TensorId
    """The state as a tensor for operators that read it, with the oldest row first."""
    rows: Rows
    fill: int
    """Value of every byte before the first inference and after a reset."""


@dataclass(frozen=True, slots=True)
class Message:
    """This record names a tensor that one device sends to another."""

    identity: U32
    """All programs of one split model have the same identity, and other programs have other identities."""
    step: U16
    """This number identifies the tensor among all tensors that devices send."""
    sender: Annotated[int, Number("u1", 1, "from")]
    receiver: Annotated[int, Number("u1", 1, "to")]


@dataclass(frozen=True, slots=True)
class RowOp:
    """One operator, ready to plan and to lower. `inputs` are the activations that the operator reads row by row.
    `reads[k]` has the rows, columns and channels of input k. If an input's producer divides the input differently into
    rows, the whole input must be in memory.
    """

    kind: Kind
    name: str
    """The model's operator type, for messages: CONV_2D, FULLY_CONNECTED, RELU6."""
    sources: tuple[int, ...]
    """The model's operators that this RowOp replaces, by Op.index."""
    inputs: tuple[TensorId, ...]
    output: TensorId
    reads: tuple[Rows, ...]
    writes: Rows
    input_zero_points: tuple[int, ...]
    """Zero points of all operands, including a constant operand."""
    output_zero_point: int
    window: Window = UNIT
    activation: tuple[int, int] = (-128, 127)
    weights: NDArray[np.int8] | None = field(default=None, compare=False)
    """CONV: [out][kernel_h][kernel_w][in]. DEPTHWISE: [kernel_h][kernel_w][out]. GATHER: the table, [row][out]. LOOKUP:
    the table, whose entry x + 128 is the output for x. For float32, the last axis counts bytes, four per value.
    """
    bias: NDArray[np.int32] | None = field(default=None, compare=False)
    """Biases: for int16 activations, 64 bits each, lower half first. For float32, biases are the bits of floats."""
    multipliers: NDArray[np.int32] | None = field(default=None, compare=False)
    """Q31 multipliers: a single one, or one per output channel. ADD, SUB and SQUARED_DIFFERENCE have one multiplier
    each for operand 0, operand 1 and the output. PRELU and LEAKY_RELU have one multiplier for positive and one for
    negative values.
    """
    shifts: NDArray[np.int8] | None = field(default=None, compare=False)
    """Exponent of two for each multiplier. A positive exponent shifts to the left."""
    param: int = 0
    """ADD, SUB and SQUARED_DIFFERENCE store the left shift. int16 operators store the activation range. SOFTMAX stores
    diff_min. GATHER stores the number of rows of its table. For ARG_MAX, the value 1 means a search for the smallest
    value. For DSP_CONV, the value 1 selects the wide tile. QUANTIZE and DEQUANTIZE store the bits of the float32 scale.
    float32 operators store their limits and function (quant.float_form), and float32 SOFTMAX stores the bits of beta.
    """
    constant: Constant | None = None
    """The constant operand, which is not in `inputs`."""
    access: tuple[Access, ...] = ()
    """The rows of each operand that an iteration reads, for operators without a window."""
    moves: Moves | None = field(default=None, compare=False)
    nibbles: bool = False
    """Whether the model's weights are int4. Without a packing, the program also stores each weight in four bits."""
    packing: Packing = Packing.NONE
    """Order of the constants for a fast kernel. Operators with sums or channel groups have no packing."""
    macs: int = 0
    """Number of multiply-accumulates of the model's operator, including those in padding."""
    older: TensorId | None = None
    """The state whose rows precede row 0 of the input, in place of padding. The last row of the state has number -1."""
    recalls: bool = False
    """Whether an input is a state."""
    state_write: StateRollingBuffer | None = None
    """The state whose oldest rows the output rows replace. An output in a state has no bytes in the arena."""
    updates: tuple[StateRollingBuffer, ...] = ()
    """States of one row that the operator updates in place."""
    core_1_counters: int = 0
    """Distance in bytes from core 0's counters to core 1's, or 0 with one core."""
    message: Message | None = None
    """The message of SEND or RECEIVE. SEND's output and RECEIVE's input have no bytes in the arena."""
    again: bool = False
    """Whether the operator computes an earlier result again (rowgraph/rematerialisation.py)."""

    @property
    def traits(self) -> Traits:
        return traits(self.kind)

    @property
    def own_weights(self) -> NDArray[np.int8]:
        """The operator's weights. Raises ValueError if there are no weights."""
        if self.weights is None:
            raise ValueError(f"{self.name} has no weights")
        return self.weights

    @property
    def own_scales(self) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """The operator's multipliers and shifts. Raises ValueError if the operator has no multipliers or shifts."""
        if self.multipliers is None or self.shifts is None:
            raise ValueError(f"{self.name} has no scales")
        return self.multipliers, self.shifts

    @property
    def takes_copied_weights(self) -> bool:
        """Whether the kernel can read its weights from the arena."""
        return self.kind is Kind.CONV

    @property
    def is_convolution(self) -> bool:
        """Whether each output channel is a sum over all int8 channels of a window."""
        return self.traits.channels is Channels.SUMMED and self.element_bytes == 1

    @property
    def is_softmax(self) -> bool:
        """Whether `param` is the distance from the maximum below which exponentials are zero."""
        return self.kind is Kind.SOFTMAX

    @property
    def takes_greatest(self) -> bool:
        """Whether each int8 output channel is the maximum of the same input channel under a window."""
        return self.kind is Kind.MAX_POOL and self.param == 0

    @property
    def is_product(self) -> bool:
        """Whether the operator multiplies int8 matrices. With a `param` of 1, the right matrix is transposed."""
        return self.kind is Kind.BATCH_MATMUL

    @property
    def keeps_order(self) -> bool:
        """Whether the kernel reads its operands in the order of the model."""
        return bool(self.updates) or self.kind in PRODUCTS

    @property
    def is_depthwise(self) -> bool:
        """Whether each output channel is a sum over a window of one int8 channel."""
        return self.traits.channels is Channels.FILTERED and self.element_bytes == 1

    @property
    def is_channelwise(self) -> bool:
        """Whether each int8 output channel is computed from the same channel of each input."""
        return self.traits.channels is Channels.OWN and self.element_bytes == 1

    @property
    def makes_sums(self) -> bool:
        """Whether each output channel is a sum of `param` bytes over some input channels."""
        return self.kind is Kind.SUMS

    @property
    def scatters(self) -> bool:
        """Whether each iteration writes one input row to its places in a single output row (COPY)."""
        return self.moves is not None and self.moves.scattered

    @property
    def has_window(self) -> bool:
        """Whether a window larger than a pixel slides over the only input."""
        return not self.access and self.traits.slides

    @property
    def is_binary(self) -> bool:
        """Whether the operator is element-wise with two operands."""
        return self.traits.elementwise and self.traits.operands == 2

    @property
    def reducible(self) -> bool:
        """Whether the operator makes one output row from all input rows and can process one input row at a time. An
        operator on rows adds to 32-bit sums (msf-CNN, section 7) or writes into the output. Sums of float32 keep the
        order of additions of a whole window.
        """
        if self.scatters:
            return True
        w = self.window
        whole = self.writes.h == 1 and w.kernel_h == self.reads[0].h and w.pad_top == 0 and w.dilation_h == 1
        if self.traits.pools:
            return whole and w.pad_left == 0
        sums = self.traits.channels is Channels.SUMMED and self.element_bytes != INT16_BYTES
        return sums and whole and w.pad_left == 0 and self.writes.w == 1 and w.kernel_w == self.reads[0].w

    @property
    def needs_order(self) -> bool:
        """Whether results depend on the order of a window's pixels, as float32 sums and indices do."""
        return self.traits.slides and (self.element_bytes == FLOAT_BYTES or self.traits.accumulators > 1)

    @property
    def rolling_buffers(self) -> tuple[StateRollingBuffer, ...]:
        """The states that the operator writes."""
        return (self.state_write,) if self.state_write else self.updates

    @property
    def operands(self) -> tuple[Rows, ...]:
        """The sizes of all operands, also of a constant one, in the kernel's order."""
        if self.constant is None:
            return self.reads
        at = self.constant.position
        return (*self.reads[:at], self.constant.rows, *self.reads[at:])

    def seen(self) -> Iterator[tuple[TensorId, Rows]]:
        """Yield every tensor of the operator, with its rows as the operator sees them."""
        yield from zip(self.inputs, self.reads, strict=True)
        yield self.output, self.writes

    @property
    def accumulator_bytes(self) -> int:
        """Bytes of the 32-bit sums of an operator that processes one input row at a time."""
        return 0 if self.scatters else 4 * self.traits.accumulators * (self.writes.row_bytes // self.traits.writes)

    @property
    def cuts_columns(self) -> bool:
        """Whether the executor can compute some columns of a row from the input pixels under these columns only."""
        if self.access or self.traits.constants is Constants.ROWS:
            return False
        return self.has_window or self.is_binary or all(rows.w == self.writes.w for rows in self.reads)

    @property
    def cuts_channels(self) -> bool:
        """Whether the executor can compute some channels of a row alone."""
        return self.is_convolution or (self.is_depthwise and self.reads[0].c == self.writes.c)

    @property
    def in_place(self) -> bool:
        """Whether output row y may overwrite row y of an input, since each byte is read before it is written."""
        return bool(self.replaceable)

    @property
    def replaceable(self) -> frozenset[TensorId]:
        """Inputs that the output may overwrite: not broadcast, and with elements at least as large as the output's."""
        if not self.traits.elementwise or self.traits.reads < self.traits.writes:
            return frozenset()
        return frozenset(t for k, t in enumerate(self.inputs) if not self.repeats(k))

    def repeats(self, k: int) -> bool:
        """Return whether a row, pixel or channel of input k is broadcast."""
        each = self.reads[k].nbytes // self.traits.reads
        return self.is_binary and each < self.writes.nbytes // self.traits.writes

    @property
    def element_bytes(self) -> int:
        return self.traits.reads

    @property
    def ends_late(self) -> bool:
        """Whether one core runs the operator and writes the last byte of an output after its last read."""
        return self.is_convolution and self.packing is Packing.NONE and not self.core_1_counters

    @property
    def wide_tile(self) -> bool:
        """Whether the scratch of a packed convolution has room for all pixels that its kernel can compute at once."""
        return self.packing is Packing.DSP_CONV and self.param == 1

    def scratch_bytes(self, columns: int, at_once: int = 1) -> int:
        """Return the bytes of scratch of a kernel with packed weights, on one core.

        columns: number of columns that an iteration makes. at_once: number of iterations that run at once.
        """
        kernel, packing = (self.window.kernel_h, self.window.kernel_w), self.packing
        if packing is Packing.ESP_DEPTHWISE:
            return esp_depthwise_bytes(kernel, self.window.stride_w, self.reads[0].c, columns)
        if packing in OF_CHANNELS:
            return self.reads[0].c
        if packing in (Packing.NONE, Packing.DSP_ADD, Packing.DSP_DENSE):
            return 0
        if is_direct(packing, kernel, self.reads[0].c, self.writes.c, columns * at_once):
            return 0
        if at_once > 1:
            return 2 * packed_values(packing, kernel, self.reads[0].c) * columns * at_once
        return tile_bytes(packing, packed_values(packing, kernel, self.reads[0].c), columns, wide=self.wide_tile)

    @property
    def tileable(self) -> bool:
        """Whether the operator may run in tiles: it reads windows and uses no state, or it exchanges rows."""
        return not self.access and (not self.stateful or self.message is not None)

    @property
    def sends(self) -> bool:
        return self.kind is Kind.SEND

    @property
    def receives(self) -> bool:
        return self.kind is Kind.RECEIVE

    @property
    def leaves(self) -> bool:
        return self.state_write is not None or self.sends

    @property
    def stateful(self) -> bool:
        """Whether the operator uses states or other devices, and so can be neither duplicated nor reordered."""
        return self.older is not None or self.recalls or bool(self.rolling_buffers) or self.message is not None

    @property
    def rows_at_once(self) -> int:
        """Number of rows that an iteration reads from all inputs together, if no window is clipped."""
        return sum(a.extent for a in self.access) if self.access else self.window.kernel_h

    def rows(self, k: int, y: Ints) -> tuple[Ints, Ints]:
        """Return the half-open range of the rows of input k that each iteration y reads. A range may be empty."""
        height, w = self.reads[k].h, self.window
        if self.access:
            first, extent = self.access[k].first(y, height), self.access[k].extent
        else:
            first, extent = np.minimum(w.rows.first(y), height - 1), w.rows.extent  # a broadcast input has only row 0
        return np.maximum(0, first), np.minimum(height, first + extent)

    def rows_read(self, k: int, y: int) -> tuple[int, int]:
        """Return the half-open range of the rows of input k that iteration y reads."""
        first, end = self.rows(k, np.array([y], np.int64))
        return int(first[0]), int(end[0])
