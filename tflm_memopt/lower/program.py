"""Defines the records of a program, which the C executor reads.

The annotation of a field is its type in C (format/fields.py). The module lower/codec.py encodes and decodes the
records. After a change, scripts/program_format.py must generate the C header and the tables of docs/program-format.md
again.
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
    U64,
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
    """Header with which a program begins."""

    magic: U32
    version: U16
    target: U16
    """Family of cores that can run the program, a TMO_TARGET_* constant."""
    size: U32
    """Size of the whole program in bytes."""
    iterations: U32
    """Exact number of iterations of each run."""
    workspace: U32
    """Size of the workspace in bytes."""
    n_inputs: U16
    n_outputs: U16
    n_tensors: U16
    n_ops: U16
    n_groups: U16
    input: U8
    """Place of input 0, a TMO_INPUT_* constant."""
    pools: U8
    """Number of tmo_pool records after the header: 0 or 1."""
    tensors: U32
    """tmo_tensor[n_tensors]"""
    ops: U32
    """tmo_op[n_ops]"""
    groups: U32
    """tmo_group[n_groups]"""
    cores: U32 = 0
    """Offset of a tmo_cores in the program, or 0 if the program is for one core."""
    state: U32 = 0
    """Size in bytes of the state, which outlives a run, or 0 for a program without a state."""
    rolling_buffers: U32 = 0
    """Offset in the program of a tmo_rolling_buffer[] that ends with depth 0, or 0 for a program without a state."""
    parts: U64 = 0
    """A bit is set for each TMO_PART_* that the program needs."""


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """Minimum size of slow memory, for a program that keeps whole tensors in slow memory. In the array io, the address
    of slow memory comes after the address of the state.
    """

    bytes: U32


@dataclass(frozen=True, slots=True)
class ColumnWindowRecord:
    """A column window holds some consecutive rows of each stripe in a rolling buffer of pixels."""

    offset: U32
    """Number of bytes between the tensor's base and the column window."""
    depth: U32
    """Number of pixels in the rolling buffer."""
    rows: U16
    """Number of rows that the column window holds of each stripe."""


@dataclass(frozen=True, slots=True)
class NestRecord:
    """Rows that a tiled group computes in each stripe. After stripe m, the rows before row m times advance plus end
    exist, limited to the rows of the tensor.
    """

    advance: U16
    """Number of rows between the beginnings of two stripes of a tiled group."""
    end: I16
    """Row before which the first stripe of a tiled group ends, unless the tensor ends earlier."""
    rows: U16
    """Number of rows of a stripe in a tiled group. Stripes compute rows again if `rows` exceeds `advance`."""


@dataclass(frozen=True, slots=True)
class ProgramTensor:
    """Place of a tensor. Without column windows, row y of a tensor begins y % depth rows after base + offset. A row has
    `width` pixels.
    """

    offset: U32
    """Number of bytes between the tensor's base and the tensor. A tensor in column windows does not use the offset."""
    height: U16
    """Number of rows of the whole tensor."""
    width: U16
    channels: U32
    """Number of bytes of a pixel, including all channel groups."""
    depth: Annotated[int, Number("<u2"), Also({"phase": "With column windows, phase is -`end` modulo `advance`."})]
    """Number of rows in the rolling buffer. For a whole tensor, `depth` equals `height`."""
    base: U8 = 0
    """Memory of the tensor: 0 is the workspace, and 1 to n_inputs are the inputs. Higher numbers are the outputs, then
    the state, then slow memory. TMO_PROGRAM_BASE means the program, and TMO_LINK_BASE means another device.
    """
    column_windows: Annotated[tuple[ColumnWindowRecord, ...], TableOffset(ColumnWindowRecord)] = ()
    """Offset of a tmo_column_window[n_column_windows] in the program, or 0 without column windows. The first column
    window has the first rows of a stripe.
    """
    nest: Annotated[NestRecord | None, Inline(NestRecord)] = None
    """Stripes of a tensor that a tiled group writes or whose rows it adds up, otherwise None."""
    pushed: Annotated[int, Number("<u2"), Over("rows")] = 0
    """Number of rows of a streamed input that arrive at once. Older input rows are in the workspace, at `offset`."""
    older: Annotated[int, Number("<u2"), Over("rows")] = 0
    """Number of rows before row 0 that a tensor in a rolling buffer of the state has."""
    constant: Annotated[bytes, ArrayOffset("u1"), Over("offset")] = b""
    """Offset in the program of a tensor with TMO_PROGRAM_BASE."""
    layout: U8 = RowLayout.HWC
    """Order in which rows are stored, a TMO_LAYOUT_* constant. A tensor in column windows, or in a rolling buffer of
    the workspace, has TMO_LAYOUT_HWC.
    """

    C_ORDER: ClassVar[str] = "offset channels width height depth base layout column_windows n_column_windows"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_column_windows": Number("<u2")}


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """One move of a COPY operator copies `count` runs of adjacent bytes, each of `bytes` bytes. In output row y,
    run i begins at byte target plus i times target_step. In the input row, run i begins at byte source plus i times
    source_step plus the phase. The phase is phase_step times ((y + shift) % period). If the operator adds up its input,
    y is the number of the input row, and the phase is added to the target instead of the source.
    """

    row: U16
    """Index of the row that the move reads, among all rows that the iteration reads, beginning with those of operand 0.
    If the row does not exist, the move copies nothing.
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
    """Description of how a COPY makes an output row. A tmo_copy is followed by n_moves records of tmo_move."""

    moves: Annotated[tuple[MoveRecord, ...], Follows(MoveRecord)]
    fills: Annotated[bool, Number("u1")]
    """Value 1 means that all bytes of the output row are set to the fill value before the moves."""
    fill: I8

    C_ORDER: ClassVar[str] = "n_moves"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_moves": Number("<u2")}


PARAMETERS: Mapping[str, str] = {
    "left_shift": "ADD, SUB and SQUARED_DIFFERENCE shift both operands left by this many bits.",
    "wanted": "A set bit makes COMPARE true if operand 0 is less (bit 0), equal (bit 1) or greater (bit 2).",
    "smallest": "MAX_POOL and ARG_MAX use the smallest value if this is 1, and otherwise the greatest.",
    "least_difference": "SOFTMAX and LOG_SOFTMAX replace e^(x - max) by 0 if x - max is less than this number.",
    "sum_bytes": "A sum of SUMS has this many bytes.",
    "operand_bytes": "For ADD_SUMS, bits 4k to 4k + 3 are the size of a sum in operand k, or in the output if k is 4.",
    "range_s16": "For int16 kinds, the upper half is the maximum of the output, and the lower half is the minimum.",
    "cell_range": "LSTM has the range of its cells, encoded like range_s16.",
    "table_rows": "The table of GATHER has this number of rows.",
    "half_pixel_centers": "The field is 1 if RESIZE_BILINEAR uses half-pixel centers, and otherwise 0.",
    "resize_form": "RESIZE_BILINEAR_F32 has one of the TMO_RESIZE_* constants.",
    "select_form": "SELECT has operand n's TMO_SELECT_ in 4 bits from bit 4n on, and an element's size from bit 12 on.",
    "transposed": "The right matrix of BATCH_MATMUL is [out][depth] for the value 1, and [depth][out] for the value 0.",
    "tangent": "CURVE_S16 is a hyperbolic tangent if this is 1, and a sigmoid if this is 0.",
    "float_form": "Float32 kinds have a TMO_RANGE_ or 0 in bits 0 to 3, and a TMO_FUNCTION_ or 0 in the higher bits.",
    "beta_bits": "SOFTMAX_F32 has the bits of the float32 beta.",
    "scale_bits": "QUANTIZE, QUANTIZE_S16, DEQUANTIZE and DEQUANTIZE_S16 have the bits of the float32 scale.",
    "identity": "OWN has the identity of the application's kernel.",
    "at_once": "A DSP kernel computes this number of pixels or rows at once. The scratch is larger if the number is 1.",
    "one_scale": "All channels of a CONV with TMO_PACKING_DSP_DENSE have the same scale if this is 1.",
}
"""Names and meanings of the field `param` in some kinds of operators."""
TABLE = {"table": "LOOKUP's int8_t[TMO_TABLE_BYTES] or GATHER's int8_t[table_rows][channels] begins at this offset."}
CURVE = {"curve": "LSTM has the offset of a uint16_t[256]. The biases follow the array as int32_t[channels][8]."}
SCRATCH = {"scratch": "The scratch of a packed operator has this offset in the workspace, a multiple of 4."}


@dataclass(frozen=True, slots=True)
class CopiedWeights:
    """Weights that core 0 copies from the program to the workspace when a group begins."""

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
    """Operator of a program. The kind of an operator determines the content of its arrays (docs/program-format.md)."""

    kind: Annotated[Kind, Number("u1")]
    """tmo_op_kind"""
    inputs: Annotated[tuple[int, ...], Number("<u2", MAX_INPUTS, "input")]
    """Indices of the operands in the table of tensors."""
    output: U16
    """Index of the output in the table of tensors."""
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
    """Number of columns that an iteration in a tiled group computes, or 0 if an iteration computes a whole row."""
    packing: Annotated[Packing, Number("<u2")] = Packing.NONE
    """TMO_PACKING_*"""
    param: Annotated[int, Number("<i4"), Cases(PARAMETERS)] = 0
    """Parameter whose meaning depends on the operator's kind."""
    weights: Annotated[NDArray[np.int8] | None, ArrayOffset("i1"), Also(TABLE)] = field(default=None, compare=False)
    """Offset of the weights in the program. Weights are int8_t[], or float[] for float32 kinds."""
    message: Annotated[Message | None, TableOffset(Message), Over("weights")] = None
    """Offset of a tmo_message in the program, for SEND and RECEIVE."""
    copy: Annotated[CopyRecord | None, TableOffset(CopyRecord), Over("weights")] = None
    """Offset of a tmo_copy in the program, for COPY."""
    copied: Annotated[CopiedWeights | None, TableOffset(CopiedWeights), Over("weights")] = None
    """Offset of a tmo_copied in the program, for operators with TMO_FLAG_COPIES."""
    bias: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Also(CURVE)] = field(default=None, compare=False)
    """Offset of the biases in the program, or 0 without biases. Biases are int32_t[channels], int64_t[channels / 2] for
    int16 kinds, or float[channels / 4] for float32 kinds.
    """
    scales: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4"), Over("bias")] = field(default=None, compare=False)
    """Offset of a packed operator's biases and scales, if the weights do not contain them."""
    multipliers: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4")] = field(default=None, compare=False)
    """Offset of the multipliers in the program, an int32_t[]. ADD and similar kinds have the inputs' multipliers in
    order, and then the output's multiplier.
    """
    shifts: Annotated[NDArray[np.int8] | None, ArrayOffset("i1")] = field(default=None, compare=False)
    """Offset of the shifts in the program, an int8_t[]. A positive shift goes to the left."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH)] = 0
    """Offset of sums in the workspace, a multiple of 4. An operator that sums its input row by row has an int32_t for
    each output element. An operator that sums channel groups has an int32_t for each output element of its largest
    stripe of rows.
    """
    channel_groups: U16 = 0
    """Number of channel groups in a tiled group. 0 and 1 mean that the channels are not divided."""
    group_channels: U16 = 0
    """Number of channels of each channel group. The last channel group may have fewer."""
    access: Annotated[tuple[Access, ...], TableOffset(Access)] = ()
    """Offset of a tmo_access[n_inputs] in the program, or 0 if a window determines the rows that are read."""

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
        return self.copied is not None

    @property
    def stored_weights(self) -> NDArray[np.int8] | None:
        return self.copied.weights if self.copied else self.weights

    @property
    def per_channel(self) -> bool:
        return traits(self.kind).scales is None and self.multipliers is not None and self.multipliers.size > 1

    @property
    def device(self) -> int | None:
        """Index of the device that runs the program, or None if the operator sends and receives no rows."""
        if self.message is None:
            return None
        return self.message.sender if self.kind is Kind.SEND else self.message.receiver


@dataclass(frozen=True, slots=True)
class ProgramRollingBuffer:
    """Rolling buffer in the state, which is the memory that outlives a run.

    The state is at io[n_inputs + n_outputs], whose address is a multiple of 4. Setting all bytes of the state to 0
    resets it. The state begins with a uint16_t for each rolling buffer: 0, or the buffer's key plus the position of the
    oldest row. Row y, counted from the oldest row, is at position (oldest + y) % depth. If the uint16_t is 0, the
    next run first sets all bytes of the buffer to `fill`. A successful run advances the position of the oldest row.
    """

    offset: U32
    """Number of bytes between the start of the state and the buffer."""
    row: U32
    """Number of bytes of a row in the rolling buffer."""
    depth: Annotated[int, Number("<u2"), Also({"runs": "A sliding window is full after this number of runs."})]
    """Number of rows for which the rolling buffer has room."""
    advance: U16
    """Number of rows by which each run moves the position of the oldest row."""
    fill: U8
    """Value of all bytes of the rolling buffer after a reset."""
    window: U8 = 0
    """Value 1 means that the record has no rows and only counts the runs of a sliding window. A run that ends before
    the sliding window is full returns TMO_WAIT.
    """
    key: Annotated[int, Number("<u2")] = field(default=0, compare=False)
    """Number from 1 that is computed from the program. A run rejects a state that another program has written."""


@dataclass(frozen=True, slots=True)
class ProgramGroup:
    """The loops of a group interleave the iterations of operators [first_op, first_op + n_ops)."""

    first_op: U16
    n_ops: U16
    counters: U32
    """Offset of the counters in the workspace, a multiple of 2. A uint16_t[n_ops] holds the next row of each operator.
    In a tiled group, a tmo_iteration[n_ops] says what each operator computes next.
    """
    loops: Annotated[Loops, ArrayOffset("u1", loop_codes, loops_at)]
    """Offset of the loop codes in the program, which are TMO_LOOP_* constants."""
    stripes: U16 = 0
    """Number of stripes of the group, or 0 if the group runs row by row."""

    C_ORDER: ClassVar[str] = "first_op n_ops counters stripes loops"


@dataclass(frozen=True, slots=True)
class IterationRecord:
    """Part of the output that an operator in a tiled group computes next."""

    stripe: U16
    channel_group: U16
    tile: U16
    row: U16


Iterations = tuple[int, ...]
"""Numbers of selected iterations of a run, counted from 0."""


def iteration_bits(iterations: Iterations, count: int) -> bytes:
    """Encode one bit for each of `count` iterations, and at least one more bit."""
    return np.packbits(np.isin(np.arange(count // 8 * 8 + 8), iterations), bitorder="little").tobytes()


def some_iteration_bits(iterations: Iterations, count: int) -> bytes:
    return iteration_bits(iterations, count) if iterations else b""


def iterations_at(data: bytes, at: int, header: Header) -> Iterations:
    """Return the numbers of the iterations whose bits are set at byte `at`, or no numbers if `at` is 0."""
    if not at:
        return ()
    bits = np.frombuffer(data, "u1", header.iterations // 8 + 1, at)
    return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


SCRATCH_OF_CORE_1 = {"scratch": "Core 1 uses this offset in place of tmo_op.scratch."}


@dataclass(frozen=True, slots=True)
class ProgramSharding:
    """Division of an operator's iterations between two cores."""

    kind: U16
    """Kind of the division, a TMO_SHARDING_* constant."""
    cut: U16
    """Number of columns or channels that core 0 computes."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH_OF_CORE_1)]
    """Offset in the workspace of core 1's scratch or sums. For core 0, the offset is tmo_op.accumulator."""


@dataclass(frozen=True, slots=True)
class ProgramCores:
    """Division of a run between two cores. Both cores step through all iterations with their own counters, and each
    core computes its part of every iteration. The two cores wait for each other at barriers. The converter's checker
    proves that between two barriers, neither core accesses bytes that the other core writes. A program for two cores
    has only row groups, no state, and input 0 in the arena.
    """

    shardings: Annotated[tuple[ProgramSharding, ...], TableOffset(ProgramSharding)]
    """tmo_sharding[n_ops]"""
    barriers: Annotated[Iterations, ArrayOffset("u1", iteration_bits, iterations_at)]
    """Bit i % 8 of byte i / 8 is set if a barrier precedes iteration i of the run."""
    serial: Annotated[Iterations, ArrayOffset("u1", some_iteration_bits, iterations_at)]
    """Offset in the program of an array with a bit per iteration, or 0. Core 0 runs iterations with a set bit."""
    counters: U32
    """Number of bytes between the counters of core 0 and the counters of core 1."""

    C_ORDER: ClassVar[str] = "shardings barriers n_barriers serial counters"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_barriers": Number("<u4")}

    @property
    def n_barriers(self) -> int:
        """Number of barriers in a run."""
        return len(self.barriers)


@dataclass(frozen=True, slots=True)
class Program:
    """The data of a program as the converter writes it, which the C function tmo_run() runs."""

    n_inputs: int
    n_outputs: int
    workspace: int
    iterations: int
    tensors: tuple[ProgramTensor, ...]
    ops: tuple[ProgramOp, ...]
    groups: tuple[ProgramGroup, ...]
    target: int = Family.GENERIC
    input: int = InputPlace.ARENA
    state: int = 0
    rolling_buffers: tuple[ProgramRollingBuffer, ...] = ()
    cores: ProgramCores | None = None
    """Division of a run between two cores, or None if the program is for one core."""
    slow: int = 0
    """Size of slow memory in bytes, or 0 if all tensors are in the workspace, the inputs or the outputs."""


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
