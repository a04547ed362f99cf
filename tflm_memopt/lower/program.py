"""Defines the records of a program, which the C library reads.

The annotation of a field is its type in C (format/fields.py). After a change, run scripts/program_format.py to generate
the C header and the tables of docs/program-format.md.
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
from tflm_memopt.ops.kinds import Kind, traits
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.ops.rowop import UNIT, Access, Message, Window
from tflm_memopt.plan.loops import Loops, loop_codes, loops_at


@dataclass(frozen=True, slots=True)
class Header:
    """Header at the start of a program."""

    magic: U32
    version: U16
    target: U16
    """Family of cores that can run the program, a TMO_TARGET_* constant."""
    size: U32
    """Size of the whole program in bytes."""
    iterations: U32
    """Exact number of iterations of one inference."""
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
    """Size in bytes of the state (memory that outlives a run), or 0 without a state."""
    rolling_buffers: U32 = 0
    """Offset of a tmo_rolling_buffer[] in the program, or 0 without a state. The last tmo_rolling_buffer of the array
    has depth 0.
    """
    parts: U64 = 0
    """Set of bits: bit n is set if the program needs the part of the library whose TMO_PART_* constant is n."""


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """Minimum size of slow memory in bytes, for a program that keeps whole tensors in slow memory. In the array io, the
    address of slow memory comes after the address of the state.
    """

    bytes: U32


@dataclass(frozen=True, slots=True)
class ColumnWindowRecord:
    """A rolling buffer of pixels, which holds some adjacent rows of a tiled tensor."""

    offset: U32
    """Offset of the column window from the tensor's base, in bytes."""
    depth: U32
    """Number of pixels for which the rolling buffer has room."""
    rows: U16
    """Number of rows of a stripe that the column window holds."""


@dataclass(frozen=True, slots=True)
class NestRecord:
    """Rows that a tiled group computes in each stripe. Stripe 0 ends before the row with index `end`. Each further
    stripe ends `advance` rows later, or at the end of the tensor.
    """

    advance: U16
    """Number of rows from the end of a stripe to the end of the next stripe."""
    end: I16
    """Stripe 0 ends before the row with index `end`, or at the end of the tensor."""
    rows: U16
    """Number of rows of a stripe. If a stripe has more rows than the field `advance`, adjacent stripes compute some
    rows twice.
    """


@dataclass(frozen=True, slots=True)
class ProgramTensor:
    """Place of a tensor in memory. Without column windows, the tensor begins at `base + offset`, and row y is at
    position `y % depth`. Each row of the tensor has `width` pixels.
    """

    offset: U32
    """Offset of the tensor from its base, in bytes. A tensor with column windows does not use the field `offset`."""
    height: U16
    """Number of rows of the whole tensor."""
    width: U16
    channels: U32
    """Number of bytes of a pixel, including all channel groups."""
    depth: Annotated[int, Number("<u2"), Also({"phase": "Number of rows from `end` to a multiple of `advance`."})]
    """Number of rows for which the rolling buffer has room. For a whole tensor, the field `depth` is the tensor's
    height.
    """
    base: U8 = 0
    """Memory of the tensor: 0 is the workspace, and 1 to n_inputs are the inputs. The numbers from n_inputs + 1 stand
    for the outputs, the state and the slow memory, in this order. The number TMO_PROGRAM_BASE means that the program
    contains the tensor. The number TMO_LINK_BASE means that devices send the rows of the tensor to each other.
    """
    column_windows: Annotated[tuple[ColumnWindowRecord, ...], TableOffset(ColumnWindowRecord)] = ()
    """Offset of a tmo_column_window[n_column_windows] in the program, or 0 without column windows. The first column
    window has the first row of each stripe.
    """
    nest: Annotated[NestRecord | None, Inline(NestRecord)] = None
    """Stripes of a tensor in a tiled group, or None for a tensor without stripes."""
    pushed: Annotated[int, Number("<u2"), Over("rows")] = 0
    """Number of rows of a streamed input that arrive at once. Input rows that arrived earlier are in the
    workspace, at the tensor's offset.
    """
    older: Annotated[int, Number("<u2"), Over("rows")] = 0
    """Number of earlier rows in the state. Row 0 of the tensor directly follows the newest earlier row."""
    constant: Annotated[bytes, ArrayOffset("u1"), Over("offset")] = b""
    """Offset of the tensor in the program, if `base` is TMO_PROGRAM_BASE."""
    layout: U8 = RowLayout.HWC
    """Order in which rows are stored, a TMO_LAYOUT_* constant. For column windows and for rolling buffers in the
    workspace, the field `layout` is TMO_LAYOUT_HWC.
    """

    C_ORDER: ClassVar[str] = "offset channels width height depth base layout column_windows n_column_windows"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_column_windows": Number("<u2")}


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """A move of a COPY operator copies pieces of adjacent bytes from an input row to an output row. The field `count`
    is the number of pieces, and the field `bytes` is the size of a piece. In the output row, the first piece begins at
    byte `target`, and the pieces begin `target_step` bytes apart. In the input row, the first piece begins at byte
    `source` plus a phase, and the pieces begin `source_step` bytes apart. In output row `y`, the phase of a move is `(y
    + shift) % period`, multiplied by `phase_step`. For an operator with TMO_FLAG_ITERATIVE, `y` is the index of the
    input row. The phase of an operator with TMO_FLAG_ITERATIVE is added to `target` instead of `source`.
    """

    row: U16
    """Index of the input row that the move reads. The index counts the rows of operand 0 first, then the rows of
    operand 1, and so on. A move copies nothing if its input row does not exist.
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
    """Description of how a COPY operator makes an output row. A tmo_copy is followed by n_moves records of tmo_move."""

    moves: Annotated[tuple[MoveRecord, ...], Follows(MoveRecord)]
    fills: Annotated[bool, Number("u1")]
    """1 if the kernel first sets all bytes of the output row to the fill value, and otherwise 0."""
    fill: I8

    C_ORDER: ClassVar[str] = "n_moves"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_moves": Number("<u2")}


PARAMETERS: Mapping[str, str] = {
    "left_shift": "Left shift of both operands of ADD, SUB and SQUARED_DIFFERENCE in bits.",
    "wanted": "Results of COMPARE that are true: bit 0 for less, bit 1 for equal, and bit 2 for greater.",
    "smallest": "1 if MAX_POOL or ARG_MAX finds the smallest value, and 0 if it finds the greatest value.",
    "least_difference": "Limit of x - max below which SOFTMAX and LOG_SOFTMAX replace e^(x - max) by 0.",
    "sum_bytes": "Number of bytes of each sum that a SUMS operator writes.",
    "operand_bytes": "For ADD_SUMS, bits 4k to 4k + 3 are the size of a sum in operand k, or in the output if k is 4.",
    "range_s16": "Bits 16 to 31 are the maximum of an int16 output, and bits 0 to 15 are its minimum.",
    "cell_range": "Bits 16 to 31 are the maximum of an LSTM's cells, and bits 0 to 15 are their minimum.",
    "table_rows": "Number of rows of GATHER's table.",
    "half_pixel_centers": "1 if RESIZE_BILINEAR uses half-pixel centers, and otherwise 0.",
    "resize_form": "A TMO_RESIZE_* constant for RESIZE_BILINEAR_F32.",
    "select_form": "For SELECT, bits 4n to 4n + 3 describe operand n, and the bits from 12 on are an element's size.",
    "transposed": "1 if the right matrix of BATCH_MATMUL is [out][depth], and 0 if it is [depth][out].",
    "tangent": "1 if CURVE_S16 computes tanh, and 0 if it computes the sigmoid function.",
    "float_form": "For float32 kinds, bits 0 to 3 are a TMO_RANGE_* or 0, and higher bits are a TMO_FUNCTION_* or 0.",
    "beta_bits": "Bits of the float32 parameter beta of SOFTMAX_F32.",
    "scale_bits": "Bits of the float32 scale of QUANTIZE, QUANTIZE_S16, DEQUANTIZE and DEQUANTIZE_S16.",
    "identity": "Number that selects the application's kernel of an OWN operator.",
    "at_once": "Number of pixels or rows that a kernel computes at once, or TMO_ROOM_FOR_PIXELS plus this number.",
    "one_scale": "1 if all channels of a CONV with TMO_PACKING_DSP_DENSE have the same scale, and otherwise 0.",
}
"""For some kinds of operators, the name and the meaning of the field `param`."""
TABLE = {"table": "Offset of LOOKUP's int8_t[TMO_TABLE_BYTES] or of GATHER's int8_t[table_rows][channels]."}
CURVE = {"curve": "Offset of LSTM's curve, a uint16_t[256]. The biases follow the curve as int32_t[channels][8]."}
SCRATCH = {"scratch": "Offset in the workspace of a packed operator's scratch memory, a multiple of 4."}


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
    """An operator of a program. The kind of an operator determines the content of its arrays
    (docs/program-format.md).
    """

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
    """Outputs are limited to the range from act_min to act_max."""
    iterative: Annotated[bool, Flag("flags", 0)] = False
    """TMO_FLAG_*"""
    sums: Annotated[bool, Flag("flags", 2)] = False
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
    """Offset in the program of a packed operator's biases and scales, or 0 if the weights contain them."""
    multipliers: Annotated[NDArray[np.int32] | None, ArrayOffset("<i4")] = field(default=None, compare=False)
    """Offset of the multipliers in the program, an int32_t[]. ADD and similar kinds have a multiplier for each input,
    and then a multiplier for the output.
    """
    shifts: Annotated[NDArray[np.int8] | None, ArrayOffset("i1")] = field(default=None, compare=False)
    """Offset of the shifts in the program, an int8_t[]. A positive shift is a shift to the left."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH)] = 0
    """Offset of int32 sums in the workspace, a multiple of 4. An operator that adds up its input, one row at a time,
    has an int32_t for each output element. An operator that adds up channel groups has an int32_t for each output
    element of its largest stripe of rows.
    """
    channel_groups: U16 = 0
    """Number of channel groups in a tiled group, or 0 or 1 if the channels are not divided."""
    group_channels: U16 = 0
    """Number of channels of each channel group. The last channel group may have fewer channels than the others."""
    access: Annotated[tuple[Access, ...], TableOffset(Access)] = ()
    """Offset of a tmo_access[n_inputs] in the program, or 0 if the operator reads a convolution or pooling window."""

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
    resets the state. The state begins with a uint16_t for each rolling buffer: 0, or the buffer's key plus the position
    of the oldest row. Row `y`, counted from the oldest row, is at position `(oldest + y) % depth` of the rolling
    buffer. If the uint16_t of a rolling buffer is 0, the next run first sets all bytes of the rolling buffer to `fill`.
    A successful run advances the position of the oldest row in each rolling buffer.
    """

    offset: U32
    """Number of bytes between the start of the state and the buffer."""
    row: U32
    """Number of bytes of a row in the rolling buffer."""
    depth: Annotated[int, Number("<u2"), Also({"runs": "Number of inferences after which a sliding window is full."})]
    """Number of rows for which the rolling buffer has room."""
    advance: U16
    """Number of rows by which each run moves the position of the oldest row."""
    fill: U8
    """Value of all bytes of the rolling buffer after a reset."""
    window: U8 = 0
    """1 if the record counts the inferences of a sliding window instead of describing rows, and otherwise 0. A run that
    ends before the sliding window is full returns TMO_WAIT.
    """
    key: Annotated[int, Number("<u2")] = field(default=0, compare=False)
    """Number that identifies the program, and that is not 0. A run rejects a state that another program has written."""


@dataclass(frozen=True, slots=True)
class ProgramGroup:
    """Operators first_op to first_op + n_ops - 1 of the program, whose iterations alternate."""

    first_op: U16
    n_ops: U16
    counters: U32
    """Offset of the loop counters in the workspace, a multiple of 2. A uint16_t[n_ops] holds the index of the next row
    of each operator. In a tiled group, a tmo_iteration[n_ops] tells what each operator computes next.
    """
    loops: Annotated[Loops, ArrayOffset("u1", loop_codes, loops_at)]
    """Offset in the program of the loop codes (TMO_LOOP_*)."""
    stripes: U16 = 0
    """Number of stripes of the group, or 0 if the group runs row by row."""
    whole: U8 = 0
    """1 if the group has only one operator, whose kernel can compute all rows in one call, and otherwise 0."""

    C_ORDER: ClassVar[str] = "first_op n_ops counters stripes whole loops"


@dataclass(frozen=True, slots=True)
class IterationRecord:
    """Part of the output that an operator of a tiled group computes next."""

    stripe: U16
    channel_group: U16
    tile: U16
    row: U16


Iterations = tuple[int, ...]
"""Indices of selected iterations of a run."""


def iteration_bits(iterations: Iterations, count: int) -> bytes:
    """Encode one bit for each of `count` iterations, followed by at least one unused bit."""
    return np.packbits(np.isin(np.arange(count // 8 * 8 + 8), iterations), bitorder="little").tobytes()


def some_iteration_bits(iterations: Iterations, count: int) -> bytes:
    return iteration_bits(iterations, count) if iterations else b""


def iterations_at(data: bytes, at: int, header: Header) -> Iterations:
    """Return the indices of the iterations whose bits are set in the array at byte `at`. An offset of 0 stands for an
    array without set bits.
    """
    if not at:
        return ()
    bits = np.frombuffer(data, "u1", header.iterations // 8 + 1, at)
    return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


SCRATCH_OF_CORE_1 = {"scratch": "Offset of core 1's scratch in the workspace. Core 0 uses the offset tmo_op.scratch."}


@dataclass(frozen=True, slots=True)
class ProgramSharding:
    """Division of an operator's iterations between two cores."""

    kind: U16
    """TMO_SHARDING_* constant, which states whether the cores divide the columns, the channels, or nothing."""
    cut: U16
    """Number of columns or channels that core 0 computes."""
    accumulator: Annotated[int, Number("<u4"), Also(SCRATCH_OF_CORE_1)]
    """Offset of core 1's scratch or sums in the workspace. Core 0 uses the offset tmo_op.accumulator."""


@dataclass(frozen=True, slots=True)
class ProgramCores:
    """Division of a run between two cores. Both cores run through all iterations with loop counters of their own, and
    each core computes a part of every iteration. The two cores wait for each other at barriers. The converter's checker
    proves that between two barriers, neither core accesses bytes that the other core writes. A program for two cores
    has no state, reads input 0 from the arena, and runs each group row by row.
    """

    shardings: Annotated[tuple[ProgramSharding, ...], TableOffset(ProgramSharding)]
    """tmo_sharding[n_ops]"""
    barriers: Annotated[Iterations, ArrayOffset("u1", iteration_bits, iterations_at)]
    """Bit `i % 8` of byte `i / 8` is set if a barrier precedes iteration `i` of the run."""
    serial: Annotated[Iterations, ArrayOffset("u1", some_iteration_bits, iterations_at)]
    """Offset in the program of an array with a bit for each iteration, which is set if core 0 runs the iteration alone.
    The offset is 0 if core 0 runs no iteration alone.
    """
    counters: U32
    """Number of bytes from the loop counters of core 0 to the loop counters of core 1."""

    C_ORDER: ClassVar[str] = "shardings barriers n_barriers serial counters"
    DERIVED: ClassVar[Mapping[str, Type]] = {"n_barriers": Number("<u4")}

    @property
    def n_barriers(self) -> int:
        """Number of barriers in a run."""
        return len(self.barriers)


@dataclass(frozen=True, slots=True)
class Program:
    """The content of a program before its encoding as bytes."""

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
    """Size of slow memory in bytes, or 0 if no tensor is in slow memory."""


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
HEADER, POOL, TENSOR, OP, GROUP, ROLLING_BUFFER = (
    layout_of(record).dtype
    for record in (Header, PoolRecord, ProgramTensor, ProgramOp, ProgramGroup, ProgramRollingBuffer)
)
ACCESS, MESSAGE = (layout_of(record).dtype for record in (Access, Message))
"""NumPy types of records, for access to single fields of an encoded program, for example to damage a field in a test.
"""
