"""The records of a program: tensors, operators and blocks of a region, as the C executor knows them.

Each stored field is annotated with its type in C (format/fields.py); lower/codec.py makes bytes of the records and
reads them. The C header and the tables of docs/program-format.md are written from these classes, and their docstrings
are the text there: run scripts/program_format.py after a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.codes import InputPlace, RowLayout
from tflm_memopt.format.fields import (
    I8,
    I16,
    I32,
    U8,
    U16,
    U32,
    Also,
    ArrayOffset,
    Cases,
    Flag,
    Follows,
    Inline,
    Named,
    Number,
    Over,
    TableOffset,
    Type,
    layout_of,
)
from tflm_memopt.format.limits import MAX_INPUTS
from tflm_memopt.lower.loop_codes import loop_codes, loops_at
from tflm_memopt.ops.kinds import KINDS, Kind
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.ops.rowop import UNIT, Access, Crossing, Window
from tflm_memopt.plan.loops import Loops


@dataclass(frozen=True, slots=True)
class Header:
    """The first bytes of a program."""

    magic: U32
    version: U16
    target: U16
    """TMO_TARGET_*: the cores that run it."""
    size: U32
    """Bytes of the whole program."""
    firings: U32
    """Firings of one run, exactly: the executor stops there."""
    workspace: U32
    """Bytes of the workspace."""
    n_inputs: U16
    n_outputs: U16
    n_tensors: U16
    n_ops: U16
    n_blocks: U16
    input: U16
    """TMO_INPUT_*"""
    tensors: U32
    """tmo_tensor[n_tensors]"""
    ops: U32
    """tmo_op[n_ops]"""
    blocks: U32
    """tmo_block[n_blocks]"""
    cores: U32 = 0
    """tmo_cores; 0: the program is for one core."""
    state: U32 = 0
    """Bytes that outlive the run; 0: none."""
    rings: U32 = 0
    """tmo_ring[], of which the last one has depth 0; 0: the program has no state."""


@dataclass(frozen=True, slots=True)
class PixelRing:
    """A lane: consecutive rows of each strip, in a rolling buffer of pixels."""

    offset: U32
    """Bytes from the tensor's base."""
    depth: U32
    """Pixels of the rolling buffer."""
    rows: U16
    """Rows of each strip."""


@dataclass(frozen=True, slots=True)
class WalkRecord:
    """The strips in which a tiled block makes a tensor: rows below m * advance + end, clamped, exist after strip m."""

    advance: U16
    """In a tiled block: rows from strip to strip."""
    end: I16
    """In a tiled block: rows after the first strip, before clamping."""
    rows: U16
    """In a tiled block: rows of a strip. With `advance` of them each is made once; with more, some are made again."""


@dataclass(frozen=True, slots=True)
class ProgramTensor:
    """One view of a tensor: row y is at base + offset + (y % depth) * width * channels, or in lanes."""

    offset: U32
    """Bytes from the base; not used with lanes."""
    height: U16
    """Rows of the whole tensor."""
    width: U16
    channels: U32
    """Bytes of a pixel, of all channel groups."""
    depth: Annotated[int, Number("<u2"), Also({"phase": "With lanes: -end mod advance."})]
    """Rows of the rolling buffer; `height`: the whole tensor."""
    base: U8 = 0
    """0: workspace; 1..n_inputs: inputs; then the outputs; then the state; TMO_PROGRAM_BASE; TMO_LINK_BASE."""
    lanes: Annotated[tuple[PixelRing, ...], TableOffset(PixelRing)] = ()
    """tmo_lane[n_lanes], the first of which has a strip's first rows; 0: none."""
    walk: Annotated[WalkRecord | None, Inline(WalkRecord)] = None
    """The strips of a tiled block's outputs, and of its iterative operators' inputs; None elsewhere."""
    pushed: Annotated[int, Number("<u2"), Over("rows")] = 0
    """In a streamed input: rows that come at once. Its `depth` older ones are at `offset` in the workspace."""
    older: Annotated[int, Number("<u2"), Over("rows")] = 0
    """With rows in a ring of the state: rows before row 0."""
    constant: Annotated[bytes, ArrayOffset("u1"), Over("offset")] = b""
    """With TMO_PROGRAM_BASE: the tensor's bytes."""
    layout: U8 = RowLayout.HWC
    """TMO_LAYOUT_*; of a rolling buffer and of lanes, HWC."""

    C_ORDER: ClassVar[str] = "offset channels width height depth base layout lanes n_lanes"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_lanes": Number("<u2")}

    @property
    def n_lanes(self) -> int:
        return len(self.lanes)


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """`count` runs of `bytes` bytes. Run i goes to byte target + i * target_step of output row y, from byte source +
    (y + shift) % period * phase_step + i * source_step of an input row.
    """

    row: U16
    """Among those that are read, operand 0's first. Nothing is moved where the operand has no such row."""
    count: U16
    bytes: U32
    source: U32
    source_step: I32
    phase_step: I32
    target: U32
    target_step: U32
    period: U16
    shift: U16


@dataclass(frozen=True, slots=True)
class CopyRecord:
    """The way in which COPY makes an output row. n_moves records of tmo_move follow."""

    moves: Annotated[tuple[MoveRecord, ...], Follows(MoveRecord)]
    fills: Annotated[bool, Number("u1")]
    """The row is filled before anything is moved."""
    fill: I8

    C_ORDER: ClassVar[str] = "n_moves"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_moves": Number("<u2")}

    @property
    def n_moves(self) -> int:
        return len(self.moves)


PARAMETERS: Mapping[str, str] = {
    "left_shift": "ADD, SUB, SQUARED_DIFFERENCE: left shift of both operands.",
    "smallest": "MAX_POOL, ARG_MAX: 1: of the smallest, instead of the greatest.",
    "least_difference": "SOFTMAX, LOG_SOFTMAX: differences from the greatest channel that are below it count as 0.",
    "sum_bytes": "SUMS: bytes of a sum.",
    "operand_bytes": "ADD_SUMS: bytes of a sum: of operand k in bits [4k, 4k + 4), of the output in [16, 20).",
    "range_s16": "int16 sums: 65536 * greatest output + (least mod 65536).",
    "cell_range": "LSTM: the same of cells.",
    "table_rows": "GATHER: rows of the table.",
    "half_pixel_centers": "RESIZE_BILINEAR: 0 or 1.",
    "transposed": "BATCH_MATMUL: 1: operand 1 is [out][depth], 0: [depth][out].",
    "tangent": "CURVE_S16: 1: a hyperbolic tangent, 0: a sigmoid.",
    "scale_bits": "QUANTIZE, QUANTIZE_S16, DEQUANTIZE, DEQUANTIZE_S16: the bits of the float32 scale.",
    "identity": "OWN: identity of the application's kernel.",
}
"""Names and meanings of the one number that some kinds have for themselves."""
TABLE = {"table": "LOOKUP: int8_t[TMO_TABLE_BYTES]. GATHER: int8_t[table_rows][channels]."}
CURVE = {"curve": "LSTM: uint16_t[256], then int32_t[channels][8] biases."}
SCRATCH = {"scratch": "Packed: 4-aligned bytes from the workspace's start."}


@dataclass(frozen=True, slots=True)
class ProgramOp:
    """One operator. Its kind determines the content of its arrays (docs/program-format.md)."""

    kind: Annotated[Kind, Number("u1")]
    """tmo_op_kind"""
    inputs: Annotated[tuple[int, ...], Number("<u2", MAX_INPUTS, "input")]
    """Indices of tensors."""
    output: U16
    """Index of a tensor."""
    input_zero_points: Annotated[tuple[int, ...], Number("i1", MAX_INPUTS, "input_zero_point")]
    output_zero_point: I8
    window: Annotated[Window, Inline(Window)] = UNIT
    activation: Annotated[tuple[int, int], Named("i1", ("act_min", "act_max"))] = (-128, 127)
    """Least and greatest output."""
    iterative: Annotated[bool, Flag("flags", 0)] = False
    """TMO_FLAG_*"""
    sums: Annotated[bool, Flag("flags", 2)] = False
    swapped: Annotated[bool, Flag("flags", 3)] = False
    tile: U16 = 0
    """Columns of a firing in a tiled block, else 0."""
    packing: Annotated[Packing, Number("<u2")] = Packing.NONE
    """TMO_PACKING_*"""
    param: Annotated[int, Number("<i4"), Cases(PARAMETERS)] = 0
    """The kind's own parameter."""
    weights: Annotated[NDArray[np.int8] | None, ArrayOffset("i1"), Also(TABLE)] = field(default=None, compare=False)
    """Weights: int8_t[]."""
    crossing: Annotated[Crossing | None, TableOffset(Crossing), Over("weights")] = None
    """SEND, RECEIVE: a tmo_crossing."""
    copy: Annotated[CopyRecord | None, TableOffset(CopyRecord), Over("weights")] = None
    """COPY: a tmo_copy."""
    bias: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Also(CURVE)] = field(default=None, compare=False)
    """int32_t[channels], or none. int16: int64_t[channels / 2], 4-aligned."""
    scales: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Over("bias")] = field(default=None, compare=False)
    """Packed: biases and scales as the packing has them, where they are not among the weights."""
    multipliers: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4")] = field(default=None, compare=False)
    """int32_t[]; ADD and the like: in the order of the inputs, then the output's."""
    shifts: Annotated[NDArray[np.int8] | None, ArrayOffset("i1")] = field(default=None, compare=False)
    """int8_t[]; positive is left."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH)] = 0
    """4-aligned bytes from the workspace's start: int32_t[width * channels] when iterative, as many for each row of the
    highest strip when it sums up groups."""
    groups: U16 = 0
    """Channel groups of a tiled block; 0 or 1: none."""
    group_channels: U16 = 0
    """Channels of each group; the last one may have fewer."""
    access: Annotated[tuple[Access, ...], TableOffset(Access)] = ()
    """tmo_access[n_inputs]; none: the operands are read by the window."""

    C_ORDER: ClassVar[str] = (
        "kind flags input_zero_point output_zero_point act_min act_max n_inputs input output tile kernel_h kernel_w "
        "stride_h stride_w dilation_h dilation_w pad_top pad_left"
    )
    DERIVED: ClassVar[Mapping[str, Type]] = {"per_channel": Flag("flags", 1), "n_inputs": Number("u1")}

    @property
    def n_inputs(self) -> int:
        return len(self.inputs)

    @property
    def per_channel(self) -> bool:
        """Whether each output channel has a multiplier."""
        return KINDS[self.kind].scales is None and self.multipliers is not None and self.multipliers.size > 1

    @property
    def device(self) -> int | None:
        """That runs it, where something crosses."""
        if self.crossing is None:
            return None
        return self.crossing.sender if self.kind is Kind.SEND else self.crossing.receiver


@dataclass(frozen=True, slots=True)
class ProgramRing:
    """A rolling buffer of the state, which outlives a run.

    The state is io[n_inputs + n_outputs], 4-aligned; setting all its bytes to 0 resets it. It begins with a uint16_t
    for each ring: 0, or its key + the slot of its oldest row. Row y, counted from the oldest one, is in slot (oldest +
    y) % depth. A run that finds 0 sets all rows to `fill`; one that ends well steps on by `advance` slots.
    """

    offset: U32
    """Bytes from the state's start to its first slot."""
    row: U32
    """Bytes of a slot."""
    depth: Annotated[int, Number("<u2"), Also({"runs": "Window: number of runs until it is full."})]
    """Slots."""
    advance: U16
    """Rows that are kept in each run."""
    fill: U8
    """Byte that all rows consist of after a reset."""
    window: U8 = 0
    """1: it has no rows, but counts runs: one that ends before the window is full ends with TMO_WAIT."""
    key: Annotated[int, Number("<u2")] = field(default=0, compare=False)
    """Drawn from the program, at least 1: a state that another program left is refused."""


@dataclass(frozen=True, slots=True)
class ProgramBlock:
    """Operators [first_op, first_op + n_ops), whose iterations are interleaved as the block's loops say."""

    first_op: U16
    n_ops: U16
    counters: U32
    """2-aligned bytes from the workspace's start: the next units, uint16_t[n_ops], in a tiled block tmo_unit[n_ops]."""
    loops: Annotated[Loops, ArrayOffset("u1", loop_codes, loops_at)]
    """Codes: TMO_LOOP_*."""
    strips: U16 = 0
    """0: row block."""

    C_ORDER: ClassVar[str] = "first_op n_ops counters strips loops"


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """The next unit of an operator of a tiled block."""

    strip: U16
    group: U16
    tile: U16
    row: U16


Firings = tuple[int, ...]
"""Numbers of some of a run's firings."""


def firing_bits(firings: Firings, count: int) -> bytes:
    """A bit for each of `count` firings, and one more at least."""
    return np.packbits(np.isin(np.arange(count // 8 * 8 + 8), firings), bitorder="little").tobytes()


def some_firing_bits(firings: Firings, count: int) -> bytes:
    """The same; nothing where there are none."""
    return firing_bits(firings, count) if firings else b""


def firings_at(data: bytes, at: int, header: Header) -> Firings:
    """The firings whose bits are set; none where `at` is 0."""
    if not at:
        return ()
    bits = np.frombuffer(data, "u1", header.firings // 8 + 1, at)
    return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


SCRATCH_OF_SECOND = {"scratch": "tmo_op.scratch as core 1 has it."}


@dataclass(frozen=True, slots=True)
class ProgramShare:
    """Shares of two cores in an operator's firings."""

    how: U16
    """TMO_SHARE_*"""
    cut: U16
    """Columns, or channels, of core 0."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH_OF_SECOND)]
    """tmo_op.accumulator as core 1 has it."""


@dataclass(frozen=True, slots=True)
class ProgramCores:
    """Shares of two cores in a run. Both go through all firings, each with counters of its own, and make their share of
    each. They meet before some; between two meetings neither reads what the other writes, nor writes what it reads,
    which the converter's checker proves. Row blocks only; input 0 is in the arena, and nothing outlives the run.
    """

    shares: Annotated[tuple[ProgramShare, ...], TableOffset(ProgramShare)]
    """tmo_share[n_ops]"""
    meetings: Annotated[Firings, ArrayOffset("u1", firing_bits, firings_at)]
    """A bit for each firing of the run, bit i % 8 of byte i / 8 for firing i: whether the cores meet before it."""
    alone: Annotated[Firings, ArrayOffset("u1", some_firing_bits, firings_at)]
    """As many bits: core 0 makes all of firing i, whatever its operator's share; 0: none."""
    counters: U32
    """Bytes from core 0's counters to those of core 1."""

    C_ORDER: ClassVar[str] = "shares meetings n_meetings alone counters"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_meetings": Number("<u4")}

    @property
    def n_meetings(self) -> int:
        """Bits of `meetings` that are set."""
        return len(self.meetings)


@dataclass(frozen=True, slots=True)
class Program:
    """Everything that tmo_run() needs to know."""

    n_inputs: int
    n_outputs: int
    workspace: int
    """Bytes."""
    firings: int
    """Firings of one run, exactly."""
    tensors: tuple[ProgramTensor, ...]
    ops: tuple[ProgramOp, ...]
    blocks: tuple[ProgramBlock, ...]
    target: int = Family.GENERIC
    input: int = InputPlace.ARENA
    state: int = 0
    """Bytes that outlive a run."""
    rings: tuple[ProgramRing, ...] = ()
    """Rolling buffers of the state."""
    cores: ProgramCores | None = None
    """None: it is for one core."""


RECORDS: Mapping[str, type] = {
    "tmo_header": Header,
    "tmo_ring": ProgramRing,
    "tmo_tensor": ProgramTensor,
    "tmo_lane": PixelRing,
    "tmo_access": Access,
    "tmo_crossing": Crossing,
    "tmo_copy": CopyRecord,
    "tmo_move": MoveRecord,
    "tmo_op": ProgramOp,
    "tmo_block": ProgramBlock,
    "tmo_unit": UnitRecord,
    "tmo_share": ProgramShare,
    "tmo_cores": ProgramCores,
}
"""By their names in C."""
HEADER, TENSOR, OP, BLOCK, RING = (
    layout_of(record).dtype for record in (Header, ProgramTensor, ProgramOp, ProgramBlock, ProgramRing)
)
ACCESS, COPY, MOVE, CROSSING = (layout_of(record).dtype for record in (Access, CopyRecord, MoveRecord, Crossing))
"""The same as numpy's types, to read and to damage single fields of a packed program."""
