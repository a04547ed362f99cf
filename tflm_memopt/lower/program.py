"""The records of a program, as the C executor reads them: tensors, operators and groups of a region.

The annotation of a stored field is its type in C (format/fields.py); lower/codec.py encodes and decodes the records.
The C header and the tables of docs/program-format.md are generated from these classes and contain their docstrings, so
run scripts/program_format.py after a change.
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
from tflm_memopt.ops.rowop import UNIT, Access, Message, Window
from tflm_memopt.plan.loops import Loops


@dataclass(frozen=True, slots=True)
class Header:
    """The first bytes of a program."""

    magic: U32
    version: U16
    target: U16
    """Family of cores that the program is for, as TMO_TARGET_*."""
    size: U32
    """Bytes of the whole program."""
    iterations: U32
    """Exact number of iterations of a run of the program, after which the executor stops."""
    workspace: U32
    """Bytes of the workspace."""
    n_inputs: U16
    n_outputs: U16
    n_tensors: U16
    n_ops: U16
    n_groups: U16
    input: U8
    """Place of input 0, as TMO_INPUT_*."""
    pools: U8
    """Number of tmo_pool records after the header: 0 or 1."""
    tensors: U32
    """tmo_tensor[n_tensors]"""
    ops: U32
    """tmo_op[n_ops]"""
    groups: U32
    """tmo_group[n_groups]"""
    cores: U32 = 0
    """Offset of a tmo_cores, or 0 if the program is for one core."""
    state: U32 = 0
    """Bytes of the state, which outlives a run, or 0 if the program has no state."""
    rolling_buffers: U32 = 0
    """Offset of a tmo_rolling_buffer[] that ends with a buffer of depth 0, or 0 if the program has no state."""
    parts: U32 = 0
    """A bit for each TMO_PART_* that the program needs."""


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """A memory besides the workspace for whole tensors, which follows the state in io and has at least `bytes`."""

    bytes: U32


@dataclass(frozen=True, slots=True)
class ColumnWindowRecord:
    """A column window: consecutive rows of each stripe, in a rolling buffer of pixels."""

    offset: U32
    """Offset from the tensor's base in bytes."""
    depth: U32
    """Number of pixels in the rolling buffer."""
    rows: U16
    """Number of rows of each stripe in the column window."""


@dataclass(frozen=True, slots=True)
class NestRecord:
    """When a tiled group makes rows: after stripe m, those below m * advance + end, clamped to the tensor, exist."""

    advance: U16
    """In a tiled group, number of rows from one stripe to the next."""
    end: I16
    """In a tiled group, number of rows that exist after the first stripe, before clamping."""
    rows: U16
    """In a tiled group, number of rows of a stripe; above `advance`, stripes compute some rows again."""


@dataclass(frozen=True, slots=True)
class ProgramTensor:
    """A view of a tensor: row y is at base + offset + (y % depth) * width * channels, or in column windows."""

    offset: U32
    """Offset of the tensor from its base in bytes; unused with column windows."""
    height: U16
    """Number of rows of the whole tensor."""
    width: U16
    channels: U32
    """Bytes of a pixel, including all channel groups."""
    depth: Annotated[int, Number("<u2"), Also({"phase": "With column windows: -end mod advance."})]
    """Number of rows of the rolling buffer, which equals `height` for a whole tensor."""
    base: U8 = 0
    """Place: 0 workspace; 1 to n_inputs inputs; then outputs, state, slow memory; TMO_PROGRAM_BASE; TMO_LINK_BASE."""
    column_windows: Annotated[tuple[ColumnWindowRecord, ...], TableOffset(ColumnWindowRecord)] = ()
    """Offset of tmo_column_window[n_column_windows], beginning with the first rows of a stripe, or 0 without them."""
    nest: Annotated[NestRecord | None, Inline(NestRecord)] = None
    """Stripes of a tiled group's outputs and of its iterative operators' inputs, or None for other tensors."""
    pushed: Annotated[int, Number("<u2"), Over("rows")] = 0
    """Number of rows per push of a streamed input, of which `depth` older rows are at `offset` in the workspace."""
    older: Annotated[int, Number("<u2"), Over("rows")] = 0
    """For a tensor in a rolling buffer of the state, number of rows before row 0."""
    constant: Annotated[bytes, ArrayOffset("u1"), Over("offset")] = b""
    """For a tensor with TMO_PROGRAM_BASE, its size in bytes."""
    layout: U8 = RowLayout.HWC
    """Order of the tensor's rows in memory, as TMO_LAYOUT_*; always HWC for rolling buffers and column windows."""

    C_ORDER: ClassVar[str] = "offset channels width height depth base layout column_windows n_column_windows"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_column_windows": Number("<u2")}

    @property
    def n_column_windows(self) -> int:
        return len(self.column_windows)


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """`count` runs of `bytes` bytes that a COPY moves. Run i goes to byte target + i * target_step of output row y,
    from byte source + (y + shift) % period * phase_step + i * source_step of an input row. In an iterative operator, y
    is the input row, the output has one row, and the term with phase_step is added to the target instead of the
    source.
    """

    row: U16
    """Number of the input row among all rows that the iteration reads, operand 0 first; a missing row moves nothing."""
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
    """The moves that make the output row of a COPY, followed by n_moves records of tmo_move."""

    moves: Annotated[tuple[MoveRecord, ...], Follows(MoveRecord)]
    fills: Annotated[bool, Number("u1")]
    """Whether the output row is filled before the moves."""
    fill: I8

    C_ORDER: ClassVar[str] = "n_moves"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_moves": Number("<u2")}

    @property
    def n_moves(self) -> int:
        return len(self.moves)


PARAMETERS: Mapping[str, str] = {
    "left_shift": "ADD, SUB, SQUARED_DIFFERENCE: left shift of both operands.",
    "wanted": "COMPARE: sum of 1, 2 and 4: true if operand 0 is less, equal or greater.",
    "smallest": "MAX_POOL, ARG_MAX: 1: use the smallest value instead of the greatest.",
    "least_difference": "SOFTMAX, LOG_SOFTMAX: differences from the greatest channel below this count as 0.",
    "sum_bytes": "SUMS: bytes of a sum.",
    "operand_bytes": "ADD_SUMS: sizes of sums in bytes: bits [4k, 4k + 4) for operand k, [16, 20) for the output.",
    "range_s16": "int16 sums: 65536 * maximum of the output + (minimum mod 65536).",
    "cell_range": "LSTM: range of the cells, encoded like range_s16.",
    "table_rows": "GATHER: rows of the table.",
    "half_pixel_centers": "RESIZE_BILINEAR: 0 or 1.",
    "resize_form": "RESIZE_BILINEAR_F32: TMO_RESIZE_*.",
    "select_form": "SELECT: bits [4n, 4n + 4): TMO_SELECT_* of operand n; bits 12 and above: bytes of an element.",
    "transposed": "BATCH_MATMUL: 1: operand 1 is [out][depth], 0: [depth][out].",
    "tangent": "CURVE_S16: 1: hyperbolic tangent, 0: sigmoid.",
    "float_form": "float32: TMO_RANGE_* + 16 * TMO_FUNCTION_*; both are 0 where they mean nothing.",
    "beta_bits": "SOFTMAX_F32: bits of the float32 beta.",
    "scale_bits": "QUANTIZE, QUANTIZE_S16, DEQUANTIZE, DEQUANTIZE_S16: bits of the float32 scale.",
    "identity": "OWN: identity of the application's kernel.",
    "at_once": "TMO_PACKING_DSP_*: pixels or rows to compute at once; 1: the scratch holds wide tiles.",
}
"""Name and meaning of `param` in some kinds."""
TABLE = {"table": "LOOKUP: int8_t[TMO_TABLE_BYTES]. GATHER: int8_t[table_rows][channels]."}
CURVE = {"curve": "LSTM: uint16_t[256], then int32_t[channels][8] biases."}
SCRATCH = {"scratch": "Packed: 4-aligned offset in the workspace."}


@dataclass(frozen=True, slots=True)
class CopiedWeights:
    """Weights that are copied into the workspace when their group begins, on two cores by core 0."""

    weights: Annotated[NDArray[np.int8], ArrayOffset("i1")] = field(compare=False)
    """Offset of the weights in the program."""
    place: U32
    """Offset of the copied weights in the workspace, a multiple of 16."""

    C_ORDER: ClassVar[str] = "weights bytes place"
    DERIVED: ClassVar[Mapping[str, Type]] = {"bytes": Number("<u4")}

    @property
    def bytes(self) -> int:
        """Number of bytes of the weights."""
        return self.weights.nbytes


@dataclass(frozen=True, slots=True)
class ProgramOp:
    """One operator. The operator's kind determines the content of its arrays (docs/program-format.md)."""

    kind: Annotated[Kind, Number("u1")]
    """tmo_op_kind"""
    inputs: Annotated[tuple[int, ...], Number("<u2", MAX_INPUTS, "input")]
    """Indices of the operands' tensors."""
    output: U16
    """Index of the output's tensor."""
    input_zero_points: Annotated[tuple[int, ...], Number("i1", MAX_INPUTS, "input_zero_point")]
    output_zero_point: I8
    window: Annotated[Window, Inline(Window)] = UNIT
    activation: Annotated[tuple[int, int], Named("i1", ("act_min", "act_max"))] = (-128, 127)
    """Minimum and maximum of the output's values."""
    iterative: Annotated[bool, Flag("flags", 0)] = False
    """TMO_FLAG_*"""
    sums: Annotated[bool, Flag("flags", 2)] = False
    swapped: Annotated[bool, Flag("flags", 3)] = False
    nibbles: Annotated[bool, Flag("flags", 4)] = False
    tile: U16 = 0
    """Number of columns of an iteration in a tiled group, or 0 for a whole row."""
    packing: Annotated[Packing, Number("<u2")] = Packing.NONE
    """TMO_PACKING_*"""
    param: Annotated[int, Number("<i4"), Cases(PARAMETERS)] = 0
    """Parameter that depends on the kind."""
    weights: Annotated[NDArray[np.int8] | None, ArrayOffset("i1"), Also(TABLE)] = field(default=None, compare=False)
    """Offset of the weights: int8_t[], or float[] for float32 kinds."""
    message: Annotated[Message | None, TableOffset(Message), Over("weights")] = None
    """For SEND and RECEIVE, offset of a tmo_message."""
    copy: Annotated[CopyRecord | None, TableOffset(CopyRecord), Over("weights")] = None
    """For COPY, offset of a tmo_copy."""
    copied: Annotated[CopiedWeights | None, TableOffset(CopiedWeights), Over("weights")] = None
    """With TMO_FLAG_COPIES, offset of a tmo_copied."""
    bias: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Also(CURVE)] = field(default=None, compare=False)
    """Offset of int32_t[channels] (int16: int64_t[channels / 2], float32: float[channels / 4]), or 0 without biases."""
    scales: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Over("bias")] = field(default=None, compare=False)
    """For packed operators, offset of biases and scales in the packing's layout, unless they are among the weights."""
    multipliers: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4")] = field(default=None, compare=False)
    """int32_t[]. ADD and similar kinds have the multipliers of the inputs in order, followed by that of the output."""
    shifts: Annotated[NDArray[np.int8] | None, ArrayOffset("i1")] = field(default=None, compare=False)
    """int8_t[]. Positive shifts shift left."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH)] = 0
    """For an iterative operator, offset of int32_t[width * channels] in the workspace, a multiple of 4. If the operator
    sums channel groups, the accumulator has as many int32 for each row of the highest stripe.
    """
    channel_groups: U16 = 0
    """Number of channel groups in a tiled group; 0 or 1 means none."""
    group_channels: U16 = 0
    """Number of channels of each channel group; the last group may have fewer."""
    access: Annotated[tuple[Access, ...], TableOffset(Access)] = ()
    """Offset of tmo_access[n_inputs], or 0 if a window determines the rows that are read."""

    C_ORDER: ClassVar[str] = (
        "kind flags input_zero_point output_zero_point act_min act_max n_inputs input output tile kernel_h kernel_w "
        "stride_h stride_w dilation_h dilation_w pad_top pad_left"
    )
    DERIVED: ClassVar[Mapping[str, Type]] = {
        "per_channel": Flag("flags", 1),
        "copies": Flag("flags", 5),
        "n_inputs": Number("u1"),
    }

    @property
    def n_inputs(self) -> int:
        return len(self.inputs)

    @property
    def copies(self) -> bool:
        """Whether the program copies the weights into the workspace."""
        return self.copied is not None

    @property
    def stored_weights(self) -> NDArray[np.int8] | None:
        """Weights in the program, whether the program copies them or not."""
        return self.copied.weights if self.copied else self.weights

    @property
    def per_channel(self) -> bool:
        """Whether each output channel has its own multiplier."""
        return KINDS[self.kind].scales is None and self.multipliers is not None and self.multipliers.size > 1

    @property
    def device(self) -> int | None:
        """Number of the device that runs the program, if rows cross links."""
        if self.message is None:
            return None
        return self.message.sender if self.kind is Kind.SEND else self.message.receiver


@dataclass(frozen=True, slots=True)
class ProgramRollingBuffer:
    """A rolling buffer of the state, which outlives a run.

    The state is io[n_inputs + n_outputs], 4-aligned, and setting all its bytes to 0 resets it. The state begins with a
    uint16_t for each rolling buffer: 0, or the buffer's key + the slot of the oldest row. Row y, counted from the
    oldest row, is in slot (oldest + y) % depth. A run that finds 0 in a buffer's uint16_t sets all its rows to `fill`.
    A successful run advances the slot of the oldest row by `advance`.
    """

    offset: U32
    """Offset from the state's start to the buffer's first slot in bytes."""
    row: U32
    """Bytes of a slot of the rolling buffer."""
    depth: Annotated[int, Number("<u2"), Also({"runs": "Window: number of runs until it is full."})]
    """Number of slots of the rolling buffer."""
    advance: U16
    """Number of rows that each run keeps."""
    fill: U8
    """Value of all bytes of the rolling buffer after a reset."""
    window: U8 = 0
    """1 for a counter of runs, which has no rows. A run that ends before the window is full returns TMO_WAIT."""
    key: Annotated[int, Number("<u2")] = field(default=0, compare=False)
    """A number of at least 1, derived from the program, so that the state of another program is rejected."""


@dataclass(frozen=True, slots=True)
class ProgramGroup:
    """Operators [first_op, first_op + n_ops), whose iterations the group's loops interleave."""

    first_op: U16
    n_ops: U16
    counters: U32
    """Offset in the workspace, a multiple of 2, of the counters of the operators' next units: uint16_t[n_ops], or
    tmo_unit[n_ops] in a tiled group.
    """
    loops: Annotated[Loops, ArrayOffset("u1", loop_codes, loops_at)]
    """Offset of the codes of the loops: TMO_LOOP_*."""
    stripes: U16 = 0
    """Number of stripes, or 0 for a group that runs row by row."""

    C_ORDER: ClassVar[str] = "first_op n_ops counters stripes loops"


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """The next unit of an operator in a tiled group."""

    stripe: U16
    channel_group: U16
    tile: U16
    row: U16


Iterations = tuple[int, ...]
"""Numbers of those iterations of a run that are selected."""


def iteration_bits(iterations: Iterations, count: int) -> bytes:
    """Encode one bit for each of `count` iterations, padded by at least one bit."""
    return np.packbits(np.isin(np.arange(count // 8 * 8 + 8), iterations), bitorder="little").tobytes()


def some_iteration_bits(iterations: Iterations, count: int) -> bytes:
    """Encode one bit for each iteration, or return nothing if no iteration is selected."""
    return iteration_bits(iterations, count) if iterations else b""


def iterations_at(data: bytes, at: int, header: Header) -> Iterations:
    """Decode the numbers of the iterations whose bits are set, or none if `at` is 0."""
    if not at:
        return ()
    bits = np.frombuffer(data, "u1", header.iterations // 8 + 1, at)
    return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


SCRATCH_OF_CORE_1 = {"scratch": "tmo_op.scratch for core 1."}


@dataclass(frozen=True, slots=True)
class ProgramShare:
    """The shares of two cores in the iterations of an operator."""

    how: U16
    """How the iterations are shared, as TMO_SHARDING_*."""
    cut: U16
    """Number of columns or channels that core 0 computes."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH_OF_CORE_1)]
    """Value of tmo_op.accumulator for core 1."""


@dataclass(frozen=True, slots=True)
class ProgramCores:
    """Shares of two cores in a run. Both cores step through all iterations with their own counters, and each core
    computes its share of every iteration. The two cores wait for each other at barriers. Between two barriers, neither
    core accesses bytes that the other one writes, as the converter's checker proves. The program must have only row
    groups, no state, and input 0 in the arena.
    """

    shares: Annotated[tuple[ProgramShare, ...], TableOffset(ProgramShare)]
    """tmo_share[n_ops]"""
    barriers: Annotated[Iterations, ArrayOffset("u1", iteration_bits, iterations_at)]
    """A bit for each iteration of the run (bit i % 8 of byte i / 8), set if a barrier precedes the iteration."""
    alone: Annotated[Iterations, ArrayOffset("u1", some_iteration_bits, iterations_at)]
    """A bit for each iteration, set if core 0 computes all of it whatever the operator's share, or 0 for none."""
    counters: U32
    """Bytes from core 0's counters to core 1's."""

    C_ORDER: ClassVar[str] = "shares barriers n_barriers alone counters"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_barriers": Number("<u4")}

    @property
    def n_barriers(self) -> int:
        """Number of barriers."""
        return len(self.barriers)


@dataclass(frozen=True, slots=True)
class Program:
    """The data that tmo_run() needs."""

    n_inputs: int
    n_outputs: int
    workspace: int
    """Bytes of the program's workspace."""
    iterations: int
    """Exact number of iterations of a run."""
    tensors: tuple[ProgramTensor, ...]
    ops: tuple[ProgramOp, ...]
    groups: tuple[ProgramGroup, ...]
    target: int = Family.GENERIC
    input: int = InputPlace.ARENA
    state: int = 0
    """Bytes of the state, which outlives a run."""
    rolling_buffers: tuple[ProgramRollingBuffer, ...] = ()
    """Rolling buffers of the state."""
    cores: ProgramCores | None = None
    """Shares of two cores, or None if the program is for one core."""
    slow: int = 0
    """Bytes of slow memory, or 0 if all tensors are in the workspace, the inputs or the outputs."""


RECORDS: Mapping[str, type] = {
    "tmo_header": Header,
    "tmo_pool": PoolRecord,
    "tmo_rolling_buffer": ProgramRollingBuffer,
    "tmo_tensor": ProgramTensor,
    "tmo_column_window": ColumnWindowRecord,
    "tmo_access": Access,
    "tmo_message": Message,
    "tmo_copy": CopyRecord,
    "tmo_move": MoveRecord,
    "tmo_copied": CopiedWeights,
    "tmo_op": ProgramOp,
    "tmo_group": ProgramGroup,
    "tmo_unit": UnitRecord,
    "tmo_share": ProgramShare,
    "tmo_cores": ProgramCores,
}
"""Types of records by their name in C."""
HEADER, POOL, TENSOR, OP, GROUP, ROLLING_BUFFER = (
    layout_of(record).dtype
    for record in (Header, PoolRecord, ProgramTensor, ProgramOp, ProgramGroup, ProgramRollingBuffer)
)
ACCESS, COPY, MOVE, MESSAGE = (layout_of(record).dtype for record in (Access, CopyRecord, MoveRecord, Message))
"""Types of records in numpy, for reading or damaging single fields of a packed program."""
