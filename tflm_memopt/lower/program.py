"""The records of a program, as the C executor reads them: tensors, operators and blocks of a region.

The annotation of a stored field is its type in C (format/fields.py); lower/codec.py encodes and decodes the records.
The C header and the tables of docs/program-format.md are generated from these classes and contain their docstrings: run
scripts/program_format.py after a change.
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
    """TMO_TARGET_*: the cores that the program is for."""
    size: U32
    """Bytes of the whole program."""
    firings: U32
    """Exact number of firings in one run, after which the executor stops."""
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
    """Bytes of the state, which outlives the run; 0: none."""
    rings: U32 = 0
    """tmo_ring[], ended by one with depth 0; 0: the program has no state."""


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
    """Strips in which a tiled block produces a tensor: rows below m * advance + end, clamped, exist after strip m."""

    advance: U16
    """In a tiled block: distance between strips in rows."""
    end: I16
    """In a tiled block: rows after the first strip, before clamping."""
    rows: U16
    """In a tiled block: rows of a strip. More than `advance` means that strips compute some rows again."""


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
    """Rows of the rolling buffer; equals `height` for a whole tensor."""
    base: U8 = 0
    """0: workspace; 1..n_inputs: inputs; then the outputs; then the state; TMO_PROGRAM_BASE; TMO_LINK_BASE."""
    lanes: Annotated[tuple[PixelRing, ...], TableOffset(PixelRing)] = ()
    """tmo_lane[n_lanes], beginning with the lane of a strip's first rows; 0: none."""
    walk: Annotated[WalkRecord | None, Inline(WalkRecord)] = None
    """Strips of a tiled block's outputs and of its iterative operators' inputs; otherwise None."""
    pushed: Annotated[int, Number("<u2"), Over("rows")] = 0
    """In a streamed input: rows of one push. `depth` older rows are at `offset` in the workspace."""
    older: Annotated[int, Number("<u2"), Over("rows")] = 0
    """With rows in a ring of the state: rows before row 0."""
    constant: Annotated[bytes, ArrayOffset("u1"), Over("offset")] = b""
    """With TMO_PROGRAM_BASE: the tensor's bytes."""
    layout: U8 = RowLayout.HWC
    """TMO_LAYOUT_*; HWC for rolling buffers and lanes."""

    C_ORDER: ClassVar[str] = "offset channels width height depth base layout lanes n_lanes"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_lanes": Number("<u2")}

    @property
    def n_lanes(self) -> int:
        return len(self.lanes)


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """`count` runs of `bytes` bytes. Run i goes to byte target + i * target_step of output row y, from byte source +
    (y + shift) % period * phase_step + i * source_step of an input row. In an iterative operator y counts
    input rows, there is one output row, and the phase is added to the target instead.
    """

    row: U16
    """Number of the input row among all rows that the firing reads, operand 0 first. A missing row moves nothing."""
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
    """A COPY's output row: n_moves records of tmo_move follow."""

    moves: Annotated[tuple[MoveRecord, ...], Follows(MoveRecord)]
    fills: Annotated[bool, Number("u1")]
    """Whether the row is filled before the moves."""
    fill: I8

    C_ORDER: ClassVar[str] = "n_moves"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_moves": Number("<u2")}

    @property
    def n_moves(self) -> int:
        return len(self.moves)


PARAMETERS: Mapping[str, str] = {
    "left_shift": "ADD, SUB, SQUARED_DIFFERENCE: left shift of both operands.",
    "smallest": "MAX_POOL, ARG_MAX: 1: use the smallest value instead of the greatest.",
    "least_difference": "SOFTMAX, LOG_SOFTMAX: differences from the greatest channel below this count as 0.",
    "sum_bytes": "SUMS: bytes of a sum.",
    "operand_bytes": "ADD_SUMS: bytes of a sum: of operand k in bits [4k, 4k + 4), of the output in [16, 20).",
    "range_s16": "int16 sums: 65536 * maximum of the output + (minimum mod 65536).",
    "cell_range": "LSTM: the same for cells.",
    "table_rows": "GATHER: rows of the table.",
    "half_pixel_centers": "RESIZE_BILINEAR: 0 or 1.",
    "transposed": "BATCH_MATMUL: 1: operand 1 is [out][depth], 0: [depth][out].",
    "tangent": "CURVE_S16: 1: hyperbolic tangent, 0: sigmoid.",
    "scale_bits": "QUANTIZE, QUANTIZE_S16, DEQUANTIZE, DEQUANTIZE_S16: bits of the float32 scale.",
    "identity": "OWN: identity of the application's kernel.",
}
"""Name and meaning of the parameter of some kinds."""
TABLE = {"table": "LOOKUP: int8_t[TMO_TABLE_BYTES]. GATHER: int8_t[table_rows][channels]."}
CURVE = {"curve": "LSTM: uint16_t[256], then int32_t[channels][8] biases."}
SCRATCH = {"scratch": "Packed: 4-aligned offset in the workspace."}


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
    """Minimum and maximum of the output."""
    iterative: Annotated[bool, Flag("flags", 0)] = False
    """TMO_FLAG_*"""
    sums: Annotated[bool, Flag("flags", 2)] = False
    swapped: Annotated[bool, Flag("flags", 3)] = False
    tile: U16 = 0
    """Columns of a firing in a tiled block, else 0."""
    packing: Annotated[Packing, Number("<u2")] = Packing.NONE
    """TMO_PACKING_*"""
    param: Annotated[int, Number("<i4"), Cases(PARAMETERS)] = 0
    """Parameter that depends on the kind."""
    weights: Annotated[NDArray[np.int8] | None, ArrayOffset("i1"), Also(TABLE)] = field(default=None, compare=False)
    """Weights: int8_t[]."""
    crossing: Annotated[Crossing | None, TableOffset(Crossing), Over("weights")] = None
    """SEND, RECEIVE: a tmo_crossing."""
    copy: Annotated[CopyRecord | None, TableOffset(CopyRecord), Over("weights")] = None
    """COPY: a tmo_copy."""
    bias: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Also(CURVE)] = field(default=None, compare=False)
    """int32_t[channels], or none. int16: int64_t[channels / 2], 4-aligned."""
    scales: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Over("bias")] = field(default=None, compare=False)
    """Packed: biases and scales in the packing's layout, unless they are among the weights."""
    multipliers: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4")] = field(default=None, compare=False)
    """int32_t[]; ADD and similar kinds: in the order of the inputs, then the output's."""
    shifts: Annotated[NDArray[np.int8] | None, ArrayOffset("i1")] = field(default=None, compare=False)
    """int8_t[]; positive is left."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH)] = 0
    """4-aligned offset in the workspace: int32_t[width * channels] if iterative. If it sums channel groups, as many for
    each row of the highest strip."""
    groups: U16 = 0
    """Channel groups of a tiled block; 0 or 1: none."""
    group_channels: U16 = 0
    """Channels of each group; the last one may have fewer."""
    access: Annotated[tuple[Access, ...], TableOffset(Access)] = ()
    """tmo_access[n_inputs]; none: a window determines what is read."""

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
        """Whether each output channel has its own multiplier."""
        return KINDS[self.kind].scales is None and self.multipliers is not None and self.multipliers.size > 1

    @property
    def device(self) -> int | None:
        """The device that runs the program, if rows cross links."""
        if self.crossing is None:
            return None
        return self.crossing.sender if self.kind is Kind.SEND else self.crossing.receiver


@dataclass(frozen=True, slots=True)
class ProgramRing:
    """A rolling buffer of the state, which outlives a run.

    The state is io[n_inputs + n_outputs], 4-aligned; setting all its bytes to 0 resets it. It begins with a uint16_t
    for each ring: 0, or its key + the slot of its oldest row. Row y, counted from the oldest one, is in slot (oldest +
    y) % depth. A run that finds 0 sets all rows to `fill`. A successful run advances the oldest slot by `advance`.
    """

    offset: U32
    """Bytes from the state's start to its first slot."""
    row: U32
    """Bytes of a slot."""
    depth: Annotated[int, Number("<u2"), Also({"runs": "Window: number of runs until it is full."})]
    """Number of slots."""
    advance: U16
    """Rows that each run keeps."""
    fill: U8
    """Value of all bytes after a reset."""
    window: U8 = 0
    """1: a counter of runs instead of rows. A run that ends before the window is full returns TMO_WAIT."""
    key: Annotated[int, Number("<u2")] = field(default=0, compare=False)
    """Derived from the program, at least 1, so that a state of another program is rejected."""


@dataclass(frozen=True, slots=True)
class ProgramBlock:
    """Operators [first_op, first_op + n_ops). The block's loops interleave their iterations."""

    first_op: U16
    n_ops: U16
    counters: U32
    """2-aligned offset in the workspace of the operators' next units: uint16_t[n_ops]; in a tiled block
    tmo_unit[n_ops]."""
    loops: Annotated[Loops, ArrayOffset("u1", loop_codes, loops_at)]
    """Codes: TMO_LOOP_*."""
    strips: U16 = 0
    """Number of strips; 0: row block."""

    C_ORDER: ClassVar[str] = "first_op n_ops counters strips loops"


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """The next unit of an operator in a tiled block."""

    strip: U16
    group: U16
    tile: U16
    row: U16


Firings = tuple[int, ...]
"""Numbers of selected firings of a run."""


def firing_bits(firings: Firings, count: int) -> bytes:
    """Encode one bit for each of `count` firings, padded by at least one bit."""
    return np.packbits(np.isin(np.arange(count // 8 * 8 + 8), firings), bitorder="little").tobytes()


def some_firing_bits(firings: Firings, count: int) -> bytes:
    """Encode the same bits, or nothing if no firing is selected."""
    return firing_bits(firings, count) if firings else b""


def firings_at(data: bytes, at: int, header: Header) -> Firings:
    """Decode the firings whose bits are set; none if `at` is 0."""
    if not at:
        return ()
    bits = np.frombuffer(data, "u1", header.firings // 8 + 1, at)
    return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


SCRATCH_OF_SECOND = {"scratch": "tmo_op.scratch for core 1."}


@dataclass(frozen=True, slots=True)
class ProgramShare:
    """Shares of two cores in an operator's firings."""

    how: U16
    """TMO_SHARE_*"""
    cut: U16
    """Columns or channels of core 0."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH_OF_SECOND)]
    """tmo_op.accumulator for core 1."""


@dataclass(frozen=True, slots=True)
class ProgramCores:
    """Shares of two cores in a run. Both cores step through all firings with their own counters, and compute their
    share of each. They wait for each other at barriers. Between two barriers, neither core accesses bytes that the
    other one writes, as the converter's checker proves. Only for row blocks without state, with input 0 in the arena.
    """

    shares: Annotated[tuple[ProgramShare, ...], TableOffset(ProgramShare)]
    """tmo_share[n_ops]"""
    meetings: Annotated[Firings, ArrayOffset("u1", firing_bits, firings_at)]
    """One bit for each firing of the run, bit i % 8 of byte i / 8 for firing i: whether there is a barrier before it.
    """
    alone: Annotated[Firings, ArrayOffset("u1", some_firing_bits, firings_at)]
    """The same number of bits: whether core 0 computes all of firing i, regardless of its operator's share; 0: none."""
    counters: U32
    """Distance of core 1's counters from those of core 0, in bytes."""

    C_ORDER: ClassVar[str] = "shares meetings n_meetings alone counters"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_meetings": Number("<u4")}

    @property
    def n_meetings(self) -> int:
        """Number of barriers."""
        return len(self.meetings)


@dataclass(frozen=True, slots=True)
class Program:
    """The data that tmo_run() needs."""

    n_inputs: int
    n_outputs: int
    workspace: int
    """Bytes of the workspace."""
    firings: int
    """Exact number of firings in one run."""
    tensors: tuple[ProgramTensor, ...]
    ops: tuple[ProgramOp, ...]
    blocks: tuple[ProgramBlock, ...]
    target: int = Family.GENERIC
    input: int = InputPlace.ARENA
    state: int = 0
    """Bytes of the state, which outlives a run."""
    rings: tuple[ProgramRing, ...] = ()
    """Rolling buffers of the state."""
    cores: ProgramCores | None = None
    """None: the program is for one core."""


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
"""Records by their names in C."""
HEADER, TENSOR, OP, BLOCK, RING = (
    layout_of(record).dtype for record in (Header, ProgramTensor, ProgramOp, ProgramBlock, ProgramRing)
)
ACCESS, COPY, MOVE, CROSSING = (layout_of(record).dtype for record in (Access, CopyRecord, MoveRecord, Crossing))
"""The records as numpy types, to read or damage single fields of a packed program."""
