"""The row operator: the one form in which planner and executor know an operator.

Firing y of an operator produces output row y and reads, of each input, the rows [first(y), first(y) + extent), clipped
to the tensor. Those of a window follow from the descriptions of kernels; others say it themselves (Access). Numbers
(weights, multipliers) are carried along for lowering; the planner looks at the geometry only.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.kernels.language import Extents
from tflm_memopt.kernels.needs import AxisRange, AxisSteps, OutputNeeds
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import KINDS, WINDOW, Channels, Constants, Kind, Traits
from tflm_memopt.ops.packing import Packing, is_direct, packed_values, tile_bytes

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor seen as `h` rows of `w` pixels of `c` channels, one byte each; an int32 index is a pixel of four, an
    int16 channel counts as two, a float32 channel as four.
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


@dataclass(frozen=True, slots=True)
class Window:
    """Kernel geometry, in the parameters of kernels/descriptions/windows.py. Padding is at the top and left; what is
    missing at the bottom and right follows.
    """

    kernel_h: int = 1
    kernel_w: int = 1
    stride_h: int = 1
    stride_w: int = 1
    dilation_h: int = 1
    dilation_w: int = 1
    pad_top: int = 0
    pad_left: int = 0

    rows: AxisSteps = dataclasses.field(init=False, repr=False, compare=False)
    """Input rows that an output row needs, clipped or not."""
    columns: AxisSteps = dataclasses.field(init=False, repr=False, compare=False)
    """Input columns that an output column needs, clipped or not."""

    def __post_init__(self) -> None:
        for name, steps in zip(("rows", "columns"), _steps(self), strict=True):
            object.__setattr__(self, name, steps)

    @property
    def parameters(self) -> Mapping[str, int]:
        """By the names that descriptions give them."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    @property
    def extent_h(self) -> int:
        """Input rows between the first and the last that a firing reads, both included."""
        return self.rows.extent

    @property
    def extent_w(self) -> int:
        """Input columns between the first and the last under one window, both included."""
        return self.columns.extent

    def reach_h(self, rows: int) -> int:
        """Input rows from the first to the last under the windows of so many output rows, padding included.

        >>> Window(kernel_h=3, stride_h=2).reach_h(4)
        9
        """
        return self.rows.reach(rows)

    def reach_w(self, columns: int) -> int:
        """The same of columns."""
        return self.columns.reach(columns)


@functools.cache
def _steps(window: Window) -> tuple[AxisSteps, AxisSteps]:
    """As descriptions of windows say it."""
    rows, columns = (along.steps(window.parameters) for along in WINDOW)
    return rows, columns


UNIT = Window()

NO_ROW = 0xFFFF
"""In Access.table: no row is read. TMO_NONE."""


@dataclass(frozen=True, slots=True)
class Access:
    """Which rows of one input a firing reads: [first(y), first(y) + extent), clipped; tmo_access in program.h."""

    add: int = 0
    mul: int = 1
    div: int = 1
    extent: int = 1
    table: tuple[int, ...] | None = None
    """first(y) of every firing; None: floor((y*mul + add) / div)."""

    def first(self, y: Ints, height: int) -> Ints:
        """The first row; `height`, behind the last one, where none is read."""
        if self.table is None:
            return (y * self.mul + self.add) // self.div
        rows = np.array(self.table, np.int64)[y]
        return np.where(rows == NO_ROW, height, rows)


def accesses(found: OutputNeeds, values: Extents) -> tuple[Access, ...]:
    """Which rows of each input an output row needs, as a description says it: rows are the first axis."""
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
    """`count` runs of `nbytes` bytes, from one input row to the output row."""

    operand: int
    tap: int
    """Row: first(y) + tap. Where the input has no such row, nothing is moved."""
    source: int
    """Byte of the input row where the first run starts."""
    target: int
    """Byte of the output row."""
    nbytes: int
    count: int = 1
    source_step: int = 0
    target_step: int = 0
    phase_step: int = 0
    """Added to `source` (y % Moves.period) times."""


@dataclass(frozen=True, slots=True)
class Moves:
    """How COPY makes an output row."""

    moves: tuple[Move, ...]
    period: int = 1
    fill: int | None = None
    """What bytes hold that nothing is moved to; None: there are none."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An operand in flash."""

    position: int
    """Among the operands of the model's operator."""
    rows: Rows
    values: NDArray[np.int8] = field(compare=False)


@dataclass(frozen=True, slots=True)
class StateRing:
    """Rows that outlive an inference, in bytes of their own: the newest ones that were kept."""

    tensor: TensorId
    """As operators read it: the oldest row first."""
    rows: Rows
    fill: int
    """The byte that they are made of before the first inference, and after a reset."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A tensor that one device sends to another: tmo_crossing in program.h."""

    identity: int
    """The programs that belong together, uint32."""
    step: int
    """Its number among all tensors that cross."""
    sender: int
    receiver: int


@dataclass(frozen=True, slots=True)
class RowOp:
    """One operator, ready to plan and to lower.

    `inputs` are the activations that are read row by row; `reads[k]` is how this operator sees input k, which may
    differ from how its producer sees it (then the tensor must be resident).
    """

    kind: Kind
    name: str
    """The model's operator type, for people: CONV_2D, FULLY_CONNECTED, RELU6."""
    sources: tuple[int, ...]
    """Indices of the model's operators that this one stands for."""
    inputs: tuple[TensorId, ...]
    output: TensorId
    reads: tuple[Rows, ...]
    writes: Rows
    input_zero_points: tuple[int, ...]
    """Zero points of all operands, a constant one included."""
    output_zero_point: int
    window: Window = UNIT
    activation: tuple[int, int] = (-128, 127)
    weights: NDArray[np.int8] | None = field(default=None, compare=False)
    """CONV: [out][kernel_h][kernel_w][in]. DEPTHWISE: [kernel_h][kernel_w][out]. GATHER: the table, [row][out].
    LOOKUP: the table, entry x + 128 for x."""
    bias: NDArray[np.int32] | None = field(default=None, compare=False)
    """Biases. With int16 they have 64 bits each, the lower half first."""
    multipliers: NDArray[np.int32] | None = field(default=None, compare=False)
    """Q31 multipliers: one, or one per output channel. ADD, SUB, SQUARED_DIFFERENCE: those of operand 0, operand 1,
    output. PRELU, LEAKY_RELU: of positive, of negative values."""
    shifts: NDArray[np.int8] | None = field(default=None, compare=False)
    """Powers of two that go with `multipliers`; positive is left."""
    param: int = 0
    """ADD, SUB, SQUARED_DIFFERENCE: the left shift. Of int16: the activation range. SOFTMAX: diff_min. GATHER: rows of
    the table. ARG_MAX: 1 for the smallest. QUANTIZE, DEQUANTIZE: the bits of the float32 scale."""
    constant: Constant | None = None
    """The one of two operands that is not in `inputs`."""
    access: tuple[Access, ...] = ()
    """Which rows of each input are read, where `window` does not say it."""
    moves: Moves | None = field(default=None, compare=False)
    """COPY."""
    packing: Packing = Packing.NONE
    """Packing of its constants, where it runs whole windows of all channels."""
    macs: int = 0
    """Multiply-accumulates of the whole operator, padding included, as the original model does them."""
    older: TensorId | None = None
    """The state whose rows come before row 0 of the input: its last one is row -1. They are no padding."""
    recalls: bool = False
    """An input is a state."""
    keeps: StateRing | None = None
    """The state that its output rows go to, whichever is the oldest of its rows there; in the arena there is no byte of
    them."""
    updates: tuple[StateRing, ...] = ()
    """States of one row, inputs, too, that each firing reads and makes anew."""
    second: int = 0
    """In a plan for two cores, bytes from a counter of the first core to the second's. 0: one core runs it."""
    crossing: Crossing | None = None
    """SEND, RECEIVE: what crosses. The output of SEND and the input of RECEIVE stand for the link, and have no byte
    of the arena."""
    again: bool = False
    """It computes what another one computed before (rowgraph/second_pass.py)."""

    @property
    def traits(self) -> Traits:
        """What is known of its kind."""
        return KINDS[self.kind]

    @property
    def is_convolution(self) -> bool:
        """Whether each channel of its output is a sum over a window of all int8 channels: one that parts add up to."""
        return self.traits.channels is Channels.SUMMED and self.element_bytes == 1

    @property
    def is_softmax(self) -> bool:
        """Whether `param` says how far below the largest value others get no exponential."""
        return self.kind is Kind.SOFTMAX

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel of its output is a sum over a window of one int8 channel."""
        return self.traits.channels is Channels.FILTERED and self.element_bytes == 1

    @property
    def is_channelwise(self) -> bool:
        """Whether each int8 channel of its output is computed from the same channel of each input."""
        return self.traits.channels is Channels.OWN and self.element_bytes == 1

    @property
    def makes_sums(self) -> bool:
        """Whether each channel of its output is a sum over some input channels, of `param` bytes."""
        return self.kind is Kind.SUMS

    @property
    def has_window(self) -> bool:
        """Whether a window of its only input slides over more than single pixels."""
        return not self.access and self.traits.slides

    @property
    def is_binary(self) -> bool:
        """Whether it has two operands, element by element."""
        return self.traits.elementwise and self.traits.operands == 2

    @property
    def reducible(self) -> bool:
        """One output row from all input rows: can run a row at a time on int32 accumulators (msf-CNN, section 7)."""
        w = self.window
        whole = self.writes.h == 1 and w.kernel_h == self.reads[0].h and w.pad_top == 0 and w.dilation_h == 1
        if self.traits.pools:
            return whole and w.pad_left == 0
        return (
            self.is_convolution and whole and w.pad_left == 0 and self.writes.w == 1 and w.kernel_w == self.reads[0].w
        )

    @property
    def rings(self) -> tuple[StateRing, ...]:
        """The states that it writes."""
        return (self.keeps,) if self.keeps else self.updates

    def seen(self) -> Iterator[tuple[TensorId, Rows]]:
        """Every tensor, and the rows that the operator sees of it."""
        yield from zip(self.inputs, self.reads, strict=True)
        yield self.output, self.writes

    @property
    def accumulator_bytes(self) -> int:
        """int32 per output, when run one input row at a time."""
        return 4 * self.writes.row_bytes

    @property
    def cuts_columns(self) -> bool:
        """Whether the executor can make some columns of a row alone: from the pixels under them."""
        if self.access or self.traits.constants is Constants.ROWS:
            return False
        return self.has_window or self.is_binary or all(rows.w == self.writes.w for rows in self.reads)

    @property
    def cuts_channels(self) -> bool:
        """Whether it can make some channels of a row alone."""
        return self.is_convolution or (self.is_depthwise and self.reads[0].c == self.writes.c)

    @property
    def in_place(self) -> bool:
        """Output row y may overwrite row y of an input: element-wise, each byte read before it is written."""
        return bool(self.replaceable)

    @property
    def replaceable(self) -> frozenset[TensorId]:
        """The inputs that it may overwrite so: those that are not repeated, and whose elements are not smaller."""
        if not self.traits.elementwise or self.traits.reads < self.traits.writes:
            return frozenset()
        return frozenset(t for k, t in enumerate(self.inputs) if not self.repeats(k))

    def repeats(self, k: int) -> bool:
        """Whether one row, pixel or channel of input k is read for several of the output."""
        return self.is_binary and self.reads[k].nbytes < self.writes.nbytes

    @property
    def element_bytes(self) -> int:
        """Bytes of an element that it reads."""
        return self.traits.reads

    @property
    def ends_late(self) -> bool:
        """A firing writes the last byte of its output when it has read everything, and may write it over that. Of two
        cores neither knows what the other has read.
        """
        return self.is_convolution and self.packing is Packing.NONE and not self.second

    def scratch_bytes(self, columns: int) -> int:
        """Scratch of the kernel, on one core, when it is packed and a firing makes so many columns."""
        kernel, packing = (self.window.kernel_h, self.window.kernel_w), self.packing
        if packing in (Packing.DSP_DEPTHWISE, Packing.MVE_DEPTHWISE, Packing.RVV_DEPTHWISE):
            return self.reads[0].c
        if packing in (Packing.NONE, Packing.DSP_ADD, Packing.DSP_DENSE):
            return 0
        if is_direct(packing, kernel, self.reads[0].c, self.writes.c, columns):
            return 0
        return tile_bytes(packing, packed_values(packing, kernel, self.reads[0].c), columns)

    @property
    def tileable(self) -> bool:
        """May take part in a tiled block: what it reads is a window, and all of it in the arena."""
        return not self.access and not self.stateful

    @property
    def sends(self) -> bool:
        """Whether its output goes to another device."""
        return self.kind is Kind.SEND

    @property
    def receives(self) -> bool:
        """Whether its output comes from another device."""
        return self.kind is Kind.RECEIVE

    @property
    def leaves(self) -> bool:
        """Whether its output goes out of the arena: to a state, or to another device."""
        return self.keeps is not None or self.sends

    @property
    def stateful(self) -> bool:
        """Whether it has to do with what outlives an inference, or with other devices: it runs once, its rows in their
        order.
        """
        return self.older is not None or self.recalls or bool(self.rings) or self.crossing is not None

    @property
    def rows_at_once(self) -> int:
        """Rows that a firing reads, of all inputs together, when it reads whole windows."""
        return sum(a.extent for a in self.access) if self.access else self.window.kernel_h

    def rows(self, k: int, y: Ints) -> tuple[Ints, Ints]:
        """Half-open ranges of rows of input k that firings y read; no end is above its start where there is none."""
        height, w = self.reads[k].h, self.window
        if self.access:
            first, extent = self.access[k].first(y, height), self.access[k].extent
        else:
            first, extent = np.minimum(w.rows.first(y), height - 1), w.rows.extent  # of a repeated one: row 0
        return np.maximum(0, first), np.minimum(height, first + extent)

    def rows_read(self, k: int, y: int) -> tuple[int, int]:
        """The same for one firing."""
        first, end = self.rows(k, np.array([y], np.int64))
        return int(first[0]), int(end[0])
