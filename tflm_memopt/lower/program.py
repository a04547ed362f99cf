"""This module has the records of a program, which the C executor reads.

The annotation of a stored field is its type in C (format/fields.py). lower/codec.py encodes and decodes the records.
Run scripts/program_format.py after a change: it writes the C header and the tables of docs/program-format.md from these
classes and their docstrings.
"""

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
from tflm_memopt.ops.kinds import Kind, traits
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.ops.rowop import UNIT, Access, Message, Window
from tflm_memopt.plan.loops import Loops


@dataclass(frozen=True, slots=True)
class Header:
    """A program begins with this header."""

    magic: U32
    version: U16
    target: U16
    """A TMO_TARGET_* constant names the family of cores that can run the program."""
    size: U32
    """The whole program has this many bytes."""
    iterations: U32
    """A run of the program has exactly this number of iterations."""
    workspace: U32
    """The workspace has this many bytes."""
    n_inputs: U16
    n_outputs: U16
    n_tensors: U16
    n_ops: U16
    n_groups: U16
    input: U8
    """A TMO_INPUT_* constant says where input 0 is."""
    pools: U8
    """The header is followed by this number of tmo_pool records, which is 0 or 1."""
    tensors: U32
    """tmo_tensor[n_tensors]"""
    ops: U32
    """tmo_op[n_ops]"""
    groups: U32
    """tmo_group[n_groups]"""
    cores: U32 = 0
    """The field is the offset of a tmo_cores, or 0 if the program is for one core."""
    state: U32 = 0
    """The state, which outlives a run, has this many bytes. The number is 0 for a program without a state."""
    rolling_buffers: U32 = 0
    """The field is the offset of a tmo_rolling_buffer[], or 0 without a state. The last record has depth 0."""
    parts: U32 = 0
    """A bit is set for each TMO_PART_* that the program needs."""


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """A program with slow memory has this record. Slow memory holds whole tensors. The record gives the minimum
    size of slow memory. In the array io, the address of slow memory comes after the address of the state.
    """

    bytes: U32


@dataclass(frozen=True, slots=True)
class ColumnWindowRecord:
    """A column window holds some consecutive rows of each stripe in a rolling buffer of pixels."""

    offset: U32
    """The column window begins this many bytes after the tensor's base."""
    depth: U32
    """The rolling buffer has this number of pixels."""
    rows: U16
    """The column window holds this number of rows of each stripe."""


@dataclass(frozen=True, slots=True)
class NestRecord:
    """This record says when a tiled group computes rows. After stripe m, all rows before row m times advance plus end
    exist, clamped to the tensor.
    """

    advance: U16
    """In a tiled group, each stripe begins this number of rows after the stripe before it."""
    end: I16
    """In a tiled group, the first stripe ends before this row, unless the tensor ends earlier."""
    rows: U16
    """In a tiled group, a stripe has this number of rows. Stripes recompute rows if `rows` exceeds `advance`."""


@dataclass(frozen=True, slots=True)
class ProgramTensor:
    """This record describes the place of a tensor. Without column windows, row y begins y % depth rows after base +
    offset. A row has `width` pixels.
    """

    offset: U32
    """The tensor begins this many bytes after its base. If column windows hold the tensor, the offset is unused."""
    height: U16
    """The whole tensor has this number of rows."""
    width: U16
    channels: U32
    """A pixel has this many bytes, including all channel groups."""
    depth: Annotated[int, Number("<u2"), Also({"phase": "With column windows, the field is -end modulo advance."})]
    """The rolling buffer has this number of rows. For a whole tensor, `depth` equals `height`."""
    base: U8 = 0
    """The base is 0 for the workspace and 1 to n_inputs for inputs. Bases above n_inputs are for the outputs, then the
    state, then slow memory. The base may also be TMO_PROGRAM_BASE or TMO_LINK_BASE.
    """
    column_windows: Annotated[tuple[ColumnWindowRecord, ...], TableOffset(ColumnWindowRecord)] = ()
    """The field is the offset of a tmo_column_window[n_column_windows], or 0 without column windows. The first column
    window has the first rows of a stripe.
    """
    nest: Annotated[NestRecord | None, Inline(NestRecord)] = None
    """A tensor has stripes if a tiled group writes it or adds up its rows. The field of other tensors is None."""
    pushed: Annotated[int, Number("<u2"), Over("rows")] = 0
    """A push of a streamed input has this number of rows. Older rows are in the workspace, at the tensor's offset."""
    older: Annotated[int, Number("<u2"), Over("rows")] = 0
    """A tensor in a rolling buffer of the state has this number of rows before row 0."""
    constant: Annotated[bytes, ArrayOffset("u1"), Over("offset")] = b""
    """A tensor with TMO_PROGRAM_BASE begins at this offset in the program."""
    layout: U8 = RowLayout.HWC
    """A TMO_LAYOUT_* constant says how a row is stored. A tensor in column windows, or in a rolling buffer of the
    workspace, has TMO_LAYOUT_HWC.
    """

    C_ORDER: ClassVar[str] = "offset channels width height depth base layout column_windows n_column_windows"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_column_windows": Number("<u2")}


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """For a COPY, this record moves runs of adjacent bytes: `count` is the number of runs, and `bytes` is the size of a
    run. Run i goes to byte target + i times target_step of output row y. Run i comes from byte source + i times
    source_step + phase of an input row. The phase is (y + shift) % period, times phase_step. In an iterative operator,
    y is the input row, and the output has one row. For an iterative operator, the phase is added to the byte in the
    output row instead of the byte in the input row.
    """

    row: U16
    """The field is the index of the row that the move reads. The index counts all rows that the iteration reads,
    beginning with the rows of operand 0. If the row does not exist, the move copies nothing.
    """
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
    """This record describes how a COPY makes an output row. A tmo_copy is followed by n_moves records of tmo_move."""

    moves: Annotated[tuple[MoveRecord, ...], Follows(MoveRecord)]
    fills: Annotated[bool, Number("u1")]
    """The value 1 means that all bytes of the output row are set to the fill value before the moves."""
    fill: I8

    C_ORDER: ClassVar[str] = "n_moves"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_moves": Number("<u2")}


PARAMETERS: Mapping[str, str] = {
    "left_shift": "ADD, SUB and SQUARED_DIFFERENCE shift both operands left by this many bits.",
    "wanted": "Bits 0, 1 and 2 make COMPARE true where operand 0 is less than, equal to, or greater than operand 1.",
    "smallest": "MAX_POOL and ARG_MAX use the smallest value if this is 1, and otherwise the greatest.",
    "least_difference": "SOFTMAX and LOG_SOFTMAX replace e^(x - max) by 0 if x - max is less than this number.",
    "sum_bytes": "A sum of SUMS has this many bytes.",
    "operand_bytes": "For ADD_SUMS, bits 4k to 4k + 3 are the size of a sum in operand k, or in the output if k is 4.",
    "range_s16": "For int16 kinds, the upper half is the maximum of the output, and the lower half is the minimum.",
    "cell_range": "LSTM has the range of its cells, encoded like range_s16.",
    "table_rows": "The table of GATHER has this number of rows.",
    "half_pixel_centers": "The field is 1 if RESIZE_BILINEAR uses half-pixel centers, and otherwise 0.",
    "resize_form": "RESIZE_BILINEAR_F32 has one of the TMO_RESIZE_* constants.",
    "select_form": "In SELECT, bits 4n to 4n + 3 are TMO_SELECT_* of operand n; bits 12 to 15 are an element's size.",
    "transposed": "Operand 1 of BATCH_MATMUL is [out][depth] if this is 1, and [depth][out] if this is 0.",
    "tangent": "CURVE_S16 is a hyperbolic tangent if this is 1, and a sigmoid if this is 0.",
    "float_form": "A float32 kind has a TMO_RANGE_* constant or 0, plus 16 times a TMO_FUNCTION_* constant or 0.",
    "beta_bits": "SOFTMAX_F32 has the bits of the float32 beta.",
    "scale_bits": "QUANTIZE, QUANTIZE_S16, DEQUANTIZE and DEQUANTIZE_S16 have the bits of the float32 scale.",
    "identity": "OWN has the identity of the application's kernel.",
    "at_once": "A DSP kernel computes this number of pixels or rows at once. The scratch is larger if the number is 1.",
}
"""Names and meanings of the field `param` in some kinds of operators."""
TABLE = {"table": "LOOKUP's int8_t[TMO_TABLE_BYTES] or GATHER's int8_t[table_rows][channels] begins at this offset."}
CURVE = {"curve": "LSTM has the offset of a uint16_t[256]. The biases follow the array as int32_t[channels][8]."}
SCRATCH = {"scratch": "The scratch of a packed operator has this offset in the workspace, a multiple of 4."}


@dataclass(frozen=True, slots=True)
class CopiedWeights:
    """A program with this record copies weights into the workspace when a group begins. Core 0 copies the weights."""

    weights: Annotated[NDArray[np.int8], ArrayOffset("i1")] = field(compare=False)
    """The weights have this offset in the program."""
    place: U32
    """The copied weights have this offset in the workspace, a multiple of 16."""

    C_ORDER: ClassVar[str] = "weights bytes place"
    DERIVED: ClassVar[Mapping[str, Type]] = {"bytes": Number("<u4")}

    @property
    def bytes(self) -> int:
        """The weights have this many bytes."""
        return self.weights.nbytes


@dataclass(frozen=True, slots=True)
class ProgramOp:
    """This record describes an operator. The operator's kind determines the content of its arrays
    (docs/program-format.md).
    """

    kind: Annotated[Kind, Number("u1")]
    """tmo_op_kind"""
    inputs: Annotated[tuple[int, ...], Number("<u2", MAX_INPUTS, "input")]
    """The field has the indices of the operands' tensors."""
    output: U16
    """The field is the index of the output's tensor."""
    input_zero_points: Annotated[tuple[int, ...], Number("i1", MAX_INPUTS, "input_zero_point")]
    output_zero_point: I8
    window: Annotated[Window, Inline(Window)] = UNIT
    activation: Annotated[tuple[int, int], Named("i1", ("act_min", "act_max"))] = (-128, 127)
    """Values of the output are limited to the range from act_min to act_max."""
    iterative: Annotated[bool, Flag("flags", 0)] = False
    """TMO_FLAG_*"""
    sums: Annotated[bool, Flag("flags", 2)] = False
    swapped: Annotated[bool, Flag("flags", 3)] = False
    nibbles: Annotated[bool, Flag("flags", 4)] = False
    tile: U16 = 0
    """An iteration in a tiled group computes this number of columns. The number is 0 if an iteration computes a whole
    row.
    """
    packing: Annotated[Packing, Number("<u2")] = Packing.NONE
    """TMO_PACKING_*"""
    param: Annotated[int, Number("<i4"), Cases(PARAMETERS)] = 0
    """The meaning of the parameter depends on the operator's kind."""
    weights: Annotated[NDArray[np.int8] | None, ArrayOffset("i1"), Also(TABLE)] = field(default=None, compare=False)
    """The weights begin at this offset. Weights are int8_t[], or float[] for float32 kinds."""
    message: Annotated[Message | None, TableOffset(Message), Over("weights")] = None
    """SEND and RECEIVE have the offset of a tmo_message."""
    copy: Annotated[CopyRecord | None, TableOffset(CopyRecord), Over("weights")] = None
    """COPY has the offset of a tmo_copy."""
    copied: Annotated[CopiedWeights | None, TableOffset(CopiedWeights), Over("weights")] = None
    """Operators with TMO_FLAG_COPIES have the offset of a tmo_copied."""
    bias: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Also(CURVE)] = field(default=None, compare=False)
    """The field is the offset of the biases, or 0 without biases. Biases are int32_t[channels].
    For int16, biases are int64_t[channels / 2]. For float32, biases are float[channels / 4].
    """
    scales: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Over("bias")] = field(default=None, compare=False)
    """This is the offset of a packed operator's biases and scales, if the biases and scales are not part of the
    weights.
    """
    multipliers: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4")] = field(default=None, compare=False)
    """The field is the offset of the multipliers, an int32_t[]. ADD and similar kinds have the inputs' multipliers in
    order, and then the output's multiplier.
    """
    shifts: Annotated[NDArray[np.int8] | None, ArrayOffset("i1")] = field(default=None, compare=False)
    """The field is the offset of the shifts, an int8_t[]. A positive shift goes to the left."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH)] = 0
    """An operator that sums its input row by row has an int32_t for each output element at this workspace offset, a
    multiple of 4. An operator that sums channel groups needs an int32_t for each output element of its largest
    stripe of rows.
    """
    channel_groups: U16 = 0
    """The operator has this number of channel groups in a tiled group. 0 and 1 mean that the channels are not divided.
    """
    group_channels: U16 = 0
    """Each channel group has this number of channels, except the last one, which may have fewer."""
    access: Annotated[tuple[Access, ...], TableOffset(Access)] = ()
    """The field is the offset of a tmo_access[n_inputs], or 0 if a window determines the rows that are read."""

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
    def copies(self) -> bool:
        """Whether the program copies the weights into the workspace."""
        return self.copied is not None

    @property
    def stored_weights(self) -> NDArray[np.int8] | None:
        """Return the weights in the program, whether the program copies them or not."""
        return self.copied.weights if self.copied else self.weights

    @property
    def per_channel(self) -> bool:
        """Whether each output channel has its own multiplier."""
        return traits(self.kind).scales is None and self.multipliers is not None and self.multipliers.size > 1

    @property
    def device(self) -> int | None:
        """Return the index of the device that runs the program, or None if the operator sends and receives no rows."""
        if self.message is None:
            return None
        return self.message.sender if self.kind is Kind.SEND else self.message.receiver


@dataclass(frozen=True, slots=True)
class ProgramRollingBuffer:
    """This record describes a rolling buffer of the state, which outlives a run.

    The state is at io[n_inputs + n_outputs], whose address is a multiple of 4. Setting all bytes of the state to 0
    resets it. The state begins with a uint16_t for each rolling buffer: 0, or the buffer's key plus the position of the
    oldest row. Row y, counted from the oldest row, is at position (oldest + y) % depth. If a
    buffer's uint16_t is 0, the next run sets all bytes of the buffer to `fill`. A successful run advances the position
    of the oldest row.
    """

    offset: U32
    """The buffer begins this many bytes after the start of the state."""
    row: U32
    """A row of the rolling buffer has this many bytes."""
    depth: Annotated[int, Number("<u2"), Also({"runs": "A sliding window is full after this number of runs."})]
    """The rolling buffer has room for this number of rows."""
    advance: U16
    """Each run moves the position of the oldest row on by this number of rows."""
    fill: U8
    """All bytes of the rolling buffer have this value after a reset."""
    window: U8 = 0
    """If `window` is 1, the record has no rows and only counts the runs of a sliding window. A run that ends before the
    sliding window is full returns TMO_WAIT.
    """
    key: Annotated[int, Number("<u2")] = field(default=0, compare=False)
    """The key is at least 1 and is computed from the program. A run rejects a state with another key,
    which another program has written.
    """


@dataclass(frozen=True, slots=True)
class ProgramGroup:
    """The loops of a group interleave the iterations of operators [first_op, first_op + n_ops)."""

    first_op: U16
    n_ops: U16
    counters: U32
    """The counters are at this offset in the workspace, a multiple of 2. A uint16_t[n_ops] holds the next row of each
    operator. In a tiled group, a tmo_iteration[n_ops] says what each operator computes next.
    """
    loops: Annotated[Loops, ArrayOffset("u1", loop_codes, loops_at)]
    """The field is the offset of the loop codes, which are TMO_LOOP_* constants."""
    stripes: U16 = 0
    """The group has this number of stripes, or 0 if it runs row by row."""

    C_ORDER: ClassVar[str] = "first_op n_ops counters stripes loops"


@dataclass(frozen=True, slots=True)
class IterationRecord:
    """This record says which part of the output an operator in a tiled group computes next."""

    stripe: U16
    channel_group: U16
    tile: U16
    row: U16


Iterations = tuple[int, ...]
"""The numbers of the selected iterations of a run, counted from 0."""


def iteration_bits(iterations: Iterations, count: int) -> bytes:
    """Encode one bit for each of `count` iterations, and at least one more bit."""
    return np.packbits(np.isin(np.arange(count // 8 * 8 + 8), iterations), bitorder="little").tobytes()


def some_iteration_bits(iterations: Iterations, count: int) -> bytes:
    return iteration_bits(iterations, count) if iterations else b""


def iterations_at(data: bytes, at: int, header: Header) -> Iterations:
    """Decode the numbers of the iterations whose bits are set, or none if `at` is 0."""
    if not at:
        return ()
    bits = np.frombuffer(data, "u1", header.iterations // 8 + 1, at)
    return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


SCRATCH_OF_CORE_1 = {"scratch": "Core 1 uses this offset in place of tmo_op.scratch."}


@dataclass(frozen=True, slots=True)
class ProgramSharding:
    """This record says how two cores share the iterations of an operator."""

    kind: U16
    """A TMO_SHARDING_* constant says how the cores share iterations."""
    cut: U16
    """Core 0 computes this number of columns or channels."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH_OF_CORE_1)]
    """The scratch or sums of core 1 begin at this offset. Core 0 uses tmo_op.accumulator."""


@dataclass(frozen=True, slots=True)
class ProgramCores:
    """This record says how two cores share a run. Both cores step through all iterations with their own counters, and
    each core computes its part of every iteration. The two cores wait for each other at barriers. The converter's
    checker proves that between two barriers, neither core accesses bytes that the other core writes. The program must
    have only row groups, no state, and input 0 in the arena.
    """

    shardings: Annotated[tuple[ProgramSharding, ...], TableOffset(ProgramSharding)]
    """tmo_sharding[n_ops]"""
    barriers: Annotated[Iterations, ArrayOffset("u1", iteration_bits, iterations_at)]
    """Bit i % 8 of byte i / 8 is set if a barrier precedes iteration i of the run."""
    serial: Annotated[Iterations, ArrayOffset("u1", some_iteration_bits, iterations_at)]
    """The field is the offset of an array of bits, or 0 if no bit is set. Core 0 runs the iterations whose bits are
    set.
    """
    counters: U32
    """The counters of core 1 begin this many bytes after the counters of core 0."""

    C_ORDER: ClassVar[str] = "shardings barriers n_barriers serial counters"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_barriers": Number("<u4")}

    @property
    def n_barriers(self) -> int:
        """The run has this number of barriers."""
        return len(self.barriers)


@dataclass(frozen=True, slots=True)
class Program:
    """A program has the data that tmo_run() needs."""

    n_inputs: int
    n_outputs: int
    workspace: int
    """The workspace has this many bytes."""
    iterations: int
    """A run has exactly this number of iterations."""
    tensors: tuple[ProgramTensor, ...]
    ops: tuple[ProgramOp, ...]
    groups: tuple[ProgramGroup, ...]
    target: int = Family.GENERIC
    input: int = InputPlace.ARENA
    state: int = 0
    """The state, which outlives a run, has this many bytes."""
    rolling_buffers: tuple[ProgramRollingBuffer, ...] = ()
    """Rolling buffers that the state contains."""
    cores: ProgramCores | None = None
    """How two cores share a run, or None if the program is for one core."""
    slow: int = 0
    """Slow memory has this many bytes. 0 means that all tensors are in the workspace, the inputs or the outputs."""


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
    "tmo_iteration": IterationRecord,
    "tmo_sharding": ProgramSharding,
    "tmo_cores": ProgramCores,
}
"""The Python type of each record, by the record's name in C."""
HEADER, POOL, TENSOR, OP, GROUP, ROLLING_BUFFER = (
    layout_of(record).dtype
    for record in (Header, PoolRecord, ProgramTensor, ProgramOp, ProgramGroup, ProgramRollingBuffer)
)
ACCESS, COPY, MOVE, MESSAGE = (layout_of(record).dtype for record in (Access, CopyRecord, MoveRecord, Message))
"""Types of records in numpy, for reading or damaging single fields of a packed program."""
