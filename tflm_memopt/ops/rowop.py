"""Defines RowOp, an operator that makes its output row by row: iteration y makes output row y. The property
`Window.rows` or, without a window, `RowOp.access` states the input rows that an iteration reads. An iteration does not
read rows outside the input.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.fields import I32, U16, U32, Also, ArrayOffset, Number
from tflm_memopt.format.limits import PACKED_TAPS, ROOM_FOR_PIXELS
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import Channels, Constants, Kind, Traits, traits
from tflm_memopt.ops.packing import (
    LEAST_DEPTH,
    OCTET,
    OF_CHANNELS,
    SCRATCH_VARIES,
    Packing,
    esp_depthwise_bytes,
    is_direct,
    packed_values,
    tile_bytes,
)

Ints = NDArray[np.int64]
_Number = TypeVar("_Number", int, Ints)
FLOAT_BYTES = 4
INT16_BYTES = 2


@dataclass(frozen=True, slots=True)
class Rows:
    """Size of a tensor: `h` rows of `w` pixels, each of which has `c` bytes."""

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
    "scale_h": "TFLM's height_scale_10 of RESIZE_BILINEAR, in 1/1024 of a row.",
    "new_rows": "Number of new rows that SLIDING_SUM reads in each inference.",
    "rows_in": "Number of rows of RESIZE_BILINEAR_F32's input.",
}
STRIDE_W = {
    "scale_w": "TFLM's width_scale_10 of RESIZE_BILINEAR, in 1/1024 of a pixel.",
    "rows_out": "Number of rows of RESIZE_BILINEAR_F32's output.",
}
"""Numbers that operators without strides store in the fields `stride_h` and `stride_w`."""


class AxisSteps(NamedTuple):
    """The input rows (or columns) that each output row (or column) needs, `extent` in number."""

    step: int
    begin: int
    extent: int

    def first(self, y: _Number) -> _Number:
        return y * self.step + self.begin

    def end(self, y: _Number) -> _Number:
        return self.first(y) + self.extent

    def reach(self, count: int) -> int:
        """Return the number of adjacent input indices that are needed for `count` adjacent output indices."""
        return (count - 1) * self.step + self.extent


@dataclass(frozen=True)
class Window:
    """Size and steps of a window. The padding at the bottom and right is not stored, because it follows from the sizes
    of input and output.
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
        return AxisSteps(self.stride_h, -self.pad_top, (self.kernel_h - 1) * self.dilation_h + 1)

    @cached_property
    def columns(self) -> AxisSteps:
        return AxisSteps(self.stride_w, -self.pad_left, (self.kernel_w - 1) * self.dilation_w + 1)

    @property
    def transposed(self) -> "Window":
        """A window whose rows are the columns of the operator's window."""
        sizes = self.kernel_w, self.kernel_h, self.stride_w, self.stride_h, self.dilation_w, self.dilation_h
        return Window(*sizes, self.pad_left, self.pad_top)


UNIT = Window()

NO_ROW = 0xFFFF
"""Entry in `Access.table` for an iteration that reads no row (TMO_NONE in C)."""


@dataclass(frozen=True, slots=True)
class Access:
    """Tells which rows of an operand each iteration reads, if the operator has no window. Iteration y reads `extent`
    rows. Without a table, the first row is `(y * mul + add) / div`, rounded down. With a table, the first row is
    `table[y]`. Rows outside the operand are not read.
    """

    add: I32 = 0
    mul: U16 = 1
    div: U16 = 1
    extent: U16 = 1
    table: Annotated[tuple[int, ...] | None, ArrayOffset("<u2")] = None
    """Offset of a uint16_t table with the first input row for each output row (TMO_NONE for no row), or 0 without a
    table.
    """

    def first(self, y: Ints, height: int) -> Ints:
        """Return the first input row of iteration y, or `height` if the iteration reads no row."""
        if self.table is None:
            return (y * self.mul + self.add) // self.div
        rows = np.array(self.table, np.int64)[y]
        return np.where(rows == NO_ROW, height, rows)


@dataclass(frozen=True, slots=True)
class Move:
    """A move copies `count` ranges of `nbytes` adjacent bytes from one input row to the output row."""

    operand: int
    tap: int
    """Index of the row that the move reads, from 0 for the first input row of an iteration. A row outside the input is
    not read.
    """
    source: int
    """Position of the first byte that the move reads in the input row."""
    target: int
    """Position of the first byte that the move writes in the output row."""
    nbytes: int
    count: int = 1
    source_step: int = 0
    target_step: int = 0
    phase_step: int = 0
    """In each iteration, the move reads from `source` plus the product of `phase_step` and the iteration's phase."""
    period: int = 1
    shift: int = 0

    def phase(self, y: Ints) -> Ints:
        return (y + self.shift) % self.period


@dataclass(frozen=True, slots=True)
class Moves:
    moves: tuple[Move, ...]
    fill: int | None = None
    """Value of the bytes that no move writes, or None if the moves write all bytes."""
    scattered: bool = False
    """True if each iteration moves an input row into the only output row. In a scattered COPY, `phase_step` is a number
    of bytes.
    """


@dataclass(frozen=True, slots=True)
class Constant:
    position: int
    rows: Rows
    values: NDArray[np.int8] = field(compare=False)


@dataclass(frozen=True, slots=True)
class StateRollingBuffer:
    """A buffer that outlives an inference and keeps the newest rows of a tensor."""

    tensor: TensorId
    """The graph's tensor with the rows of the buffer, oldest row first."""
    rows: Rows
    fill: int
    """Value of every byte of the buffer before the first inference and after a reset."""


@dataclass(frozen=True, slots=True)
class Message:
    """A tensor that one device sends to another device."""

    identity: U32
    """All programs of one split model have the same identity, and programs of different models have different
    identities.
    """
    step: U16
    """Index of the tensor among all tensors that devices send."""
    sender: Annotated[int, Number("u1", 1, "from")]
    receiver: Annotated[int, Number("u1", 1, "to")]


@dataclass(frozen=True, slots=True)
class RowOp:
    """Describes an operator for the planner, the checker and lowering. `reads[k]` is the size of input k. If an earlier
    operator divides input k into rows of another size, the whole input must be in memory before the operator reads it.
    """

    kind: Kind
    name: str
    """Type of the model's operator in messages, such as CONV_2D."""
    sources: tuple[int, ...]
    """Values of `Op.index` of the model's operators that the RowOp replaces."""
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
    """CONV has weights [out][kernel_h][kernel_w][in], DEPTHWISE has weights [kernel_h][kernel_w][out], and GATHER has a
    table [row][out]. Entry x + 128 of LOOKUP's table is the output for the input x. Float32 weights are stored as
    bytes, so their last axis is four times as long.
    """
    bias: NDArray[np.int32] | None = field(default=None, compare=False)
    """A bias for int16 activations takes 64 bits, the lower half first. A float32 bias is stored as its bits."""
    multipliers: NDArray[np.int32] | None = field(default=None, compare=False)
    """Q31 multipliers: one, or one per output channel. ADD, SUB and SQUARED_DIFFERENCE have a multiplier for each
    operand and one for the output. PRELU and LEAKY_RELU have one multiplier for positive values and one multiplier for
    negative values.
    """
    shifts: NDArray[np.int8] | None = field(default=None, compare=False)
    """Each multiplier is multiplied by 2 to the power of its shift."""
    param: int = 0
    """Parameter of the kernel (`PARAMETERS` in lower/program.py) or of the packing. For DSP_CONV, the field `param` is
    a code for the size of the scratch, like the argument `room` of packed_pixels(). For DSP_DENSE, the field `param` is
    1 if all channels have the same scale.
    """
    constant: Constant | None = None
    """A constant operand, which `inputs` does not list."""
    access: tuple[Access, ...] = ()
    """Rows of each operand that an iteration reads, if the operator has no window."""
    moves: Moves | None = field(default=None, compare=False)
    nibbles: bool = False
    """True if the model's weights are int4, which a program without packed weights stores in four bits."""
    packing: Packing = Packing.NONE
    """Layout of the constants for a fast kernel; operators with partial sums have none."""
    macs: int = 0
    """Number of multiply-accumulates of the model's operator, including products with padding."""
    older: TensorId | None = None
    """State with the rows above row 0 of the input, oldest row first, or None if only padding is above row 0."""
    recalls: bool = False
    """True if an input is a state that outlives the inference."""
    state_write: StateRollingBuffer | None = None
    """State whose oldest rows are replaced by the output rows, so that the output tensor takes no bytes of its own."""
    updates: tuple[StateRollingBuffer, ...] = ()
    """One-row states that the operator updates in place."""
    core_1_counters: int = 0
    """Distance in bytes from the counters of core 0 to the counters of core 1, or 0 with one core."""
    message: Message | None = None
    """Message that a SEND sends or a RECEIVE receives. SEND's output and RECEIVE's input take no bytes of the arena."""
    again: bool = False
    """True if the operator computes a tensor a second time (rowgraph/rematerialisation.py)."""

    @property
    def traits(self) -> Traits:
        return traits(self.kind)

    @property
    def outputs(self) -> tuple[TensorId, ...]:
        return (self.output,)

    @property
    def own_weights(self) -> NDArray[np.int8]:
        if self.weights is None:
            raise ValueError(f"{self.name} has no weights")
        return self.weights

    @property
    def own_scales(self) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        if self.multipliers is None or self.shifts is None:
            raise ValueError(f"{self.name} has no scales")
        return self.multipliers, self.shifts

    @property
    def takes_copied_weights(self) -> bool:
        return self.kind is Kind.CONV

    @property
    def is_convolution(self) -> bool:
        """True if each output channel is a weighted sum of all int8 channels of a window."""
        return self.traits.channels is Channels.SUMMED and self.element_bytes == 1

    @property
    def is_softmax(self) -> bool:
        return self.kind is Kind.SOFTMAX

    @property
    def takes_greatest(self) -> bool:
        return self.kind is Kind.MAX_POOL and self.param == 0

    @property
    def is_product(self) -> bool:
        """True if the operator multiplies int8 matrices. The field `param` is 1 if the right matrix is transposed."""
        return self.kind is Kind.BATCH_MATMUL

    @property
    def is_depthwise(self) -> bool:
        """True if each output channel is a weighted sum over a window of one int8 channel."""
        return self.traits.channels is Channels.FILTERED and self.element_bytes == 1

    @property
    def is_channelwise(self) -> bool:
        return self.traits.channels is Channels.OWN and self.element_bytes == 1

    @property
    def makes_sums(self) -> bool:
        return self.kind is Kind.SUMS

    @property
    def scatters(self) -> bool:
        """True if each iteration of a COPY writes one input row to several places of the only output row."""
        return self.moves is not None and self.moves.scattered

    @property
    def has_window(self) -> bool:
        """True if a window larger than a pixel slides over the only input."""
        return not self.access and self.traits.slides

    @property
    def is_binary(self) -> bool:
        return self.traits.elementwise and self.traits.operands == 2

    @property
    def adds(self) -> bool:
        return self.kind is Kind.ADD

    @property
    def reducible(self) -> bool:
        """True if the operator makes one output row from all input rows, and can process one input row at a time. A
        reducible operator adds each row to 32-bit sums (msf-CNN, section 7), or writes the row into the output. Float32
        values are added in the same order as by a kernel that reads the whole window at once. Sums of int16 products
        have 64 bits, so int16 convolutions are not reducible.
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
        """True if results depend on the order in which the pixels of a window are read, as for float32 sums and for the
        index of a maximum.
        """
        return self.traits.slides and (self.element_bytes == FLOAT_BYTES or self.traits.accumulators > 1)

    @property
    def rolling_buffers(self) -> tuple[StateRollingBuffer, ...]:
        return (self.state_write,) if self.state_write else self.updates

    @property
    def operands(self) -> tuple[Rows, ...]:
        """Rows of all operands in the kernel's order, including a constant operand."""
        if self.constant is None:
            return self.reads
        at = self.constant.position
        return (*self.reads[:at], self.constant.rows, *self.reads[at:])

    def seen(self) -> Iterator[tuple[TensorId, Rows]]:
        yield from zip(self.inputs, self.reads, strict=True)
        yield self.output, self.writes

    @property
    def accumulator_bytes(self) -> int:
        """Number of bytes of 32-bit sums, if the operator processes one input row at a time."""
        return 0 if self.scatters else 4 * self.traits.accumulators * (self.writes.row_bytes // self.traits.writes)

    @property
    def cuts_columns(self) -> bool:
        """True if the executor can compute some columns of a row from only the input pixels under these columns."""
        if self.access or self.traits.constants is Constants.ROWS:
            return False
        return self.has_window or self.is_binary or all(rows.w == self.writes.w for rows in self.reads)

    @property
    def cuts_channels(self) -> bool:
        """True if the executor can compute some channels of an output row without the other channels."""
        return self.is_convolution or (self.is_depthwise and self.reads[0].c == self.writes.c)

    @property
    def in_place(self) -> bool:
        return bool(self.replaceable)

    @property
    def replaceable(self) -> frozenset[TensorId]:
        """Inputs that the output may overwrite row by row. A broadcast input, or an input with smaller elements than
        the output, must not be overwritten.
        """
        limits = self.kind is Kind.MAX_POOL_S16 and self.window == UNIT
        if not (limits or self.traits.elementwise) or self.traits.reads < self.traits.writes:
            return frozenset()
        return frozenset(t for k, t in enumerate(self.inputs) if not self.repeats(k))

    def repeats(self, k: int) -> bool:
        each = self.reads[k].nbytes // self.traits.reads
        return self.is_binary and each < self.writes.nbytes // self.traits.writes

    @property
    def element_bytes(self) -> int:
        return self.traits.reads

    @property
    def ends_late(self) -> bool:
        """True if one core computes the output, and writes the last output byte after it has read all inputs."""
        return self.is_convolution and self.packing is Packing.NONE and not self.core_1_counters

    def room(self, pixels: int = 0) -> int:
        """Return the code for the scratch size of a packed convolution whose scratch size varies. If `pixels` is not 0,
        the scratch has room for `pixels` pixels.
        """
        if self.packing not in SCRATCH_VARIES:
            return 0
        if pixels:
            return ROOM_FOR_PIXELS + pixels
        return self.param if self.packing is Packing.DSP_CONV else 0

    @property
    def can_read_in_place(self) -> bool:
        """True if a kernel with packing DSP_DENSE can compute single pixels of a tile."""
        if self.packing is not Packing.DSP_CONV or self.core_1_counters:
            return False
        taps, channels = self.window.kernel_h * self.window.kernel_w, self.writes.c
        return self.reads[0].c % OCTET == 0 and channels >= LEAST_DEPTH and channels % 2 == 0 and taps <= PACKED_TAPS

    def scratch_bytes(self, columns: int, at_once: int = 1, pixels: int = 0, packing: Packing | None = None) -> int:
        """Return the number of bytes of scratch of a packed kernel on one core. The argument `columns` is the number of
        columns of an output row that the kernel computes. The argument `at_once` is the number of iterations in one
        kernel call. The argument `packing` defaults to the operator's packing.
        """
        kernel, packing = (self.window.kernel_h, self.window.kernel_w), self.packing if packing is None else packing
        if packing is Packing.DSP_DENSE and kernel != (1, 1):
            return self.reads[0].c
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
        return tile_bytes(packing, packed_values(packing, kernel, self.reads[0].c), columns, self.room(pixels))

    @property
    def tileable(self) -> bool:
        """True if the operator can run in tiles, which needs a window and no state."""
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
        """True if the operator uses a state or another device, so that it cannot be duplicated or reordered."""
        return self.older is not None or self.recalls or bool(self.rolling_buffers) or self.message is not None

    @property
    def rows_at_once(self) -> int:
        """Number of rows that an iteration reads from all inputs together."""
        return sum(a.extent for a in self.access) if self.access else self.window.kernel_h

    def rows(self, k: int, y: Ints) -> tuple[Ints, Ints]:
        """For each iteration y, return the range of rows of input k that the iteration reads, as two arrays: first rows
        and end rows.
        """
        height, w = self.reads[k].h, self.window
        if self.access:
            first, extent = self.access[k].first(y, height), self.access[k].extent
        else:
            first, extent = np.minimum(w.rows.first(y), height - 1), w.rows.extent  # a broadcast input has only row 0
        return np.maximum(0, first), np.minimum(height, first + extent)

    def rows_read(self, k: int, y: int) -> tuple[int, int]:
        first, end = self.rows(k, np.array([y], np.int64))
        return int(first[0]), int(end[0])
