"""Determines which optional parts of the C library a program needs.

The header of a program lists the needed parts of the library, and a library that lacks one of the parts rejects the
program. The emitted C code contains only the parts that the emitted programs list.
"""

from collections.abc import Iterator, Sequence

from tflm_memopt.format.codes import InputPlace, Part, RowLayout
from tflm_memopt.format.limits import PACKED_PIXELS, PROGRAM_BASE
from tflm_memopt.lower.program import Program, ProgramOp, ProgramTensor
from tflm_memopt.ops import kernel_choice
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import QUAD, WIDE, Packing, is_direct, packed_pixels, packed_values

PAIRS = (Part.DSP_PAIRS_1, Part.DSP_PAIRS_2, Part.DSP_PAIRS_3, Part.DSP_PAIRS_4, Part.DSP_PAIRS_5)
KERNELS = frozenset(part for part in Part if part >= Part.PIXELS)
"""Optional parts that an operator needs only for some sizes of tensors. A program for two cores needs all parts in
KERNELS, because each core computes a part of a tensor.
"""
POOLS = (Kind.AVERAGE_POOL, Kind.MAX_POOL)
FEW_PIXELS = 4
"""Pools, additions and tables do not need the part PIXELS if they have at most FEW_PIXELS output pixels."""
FEW_MACS = 500
"""An operator needs no assembly for single pixels if it has at most 1 / FEW_MACS of the program's multiplications."""
FEW_ROWS = 4
"""An operator with at most FEW_ROWS rows is fast without the library's part SEVERAL_ROWS."""


def parts(program: Program) -> int:
    found = {*_of_tables(program), *(KERNELS if program.cores else ())}
    valid = [op for op in program.ops if op.inputs and max(*op.inputs, op.output) < len(program.tensors)]
    macs = sum(_macs(op, program.tensors) for op in valid)
    for op in valid:
        small = _macs(op, program.tensors) * FEW_MACS <= macs
        found.update(_of_operator(op, program.tensors, small=small))
    return sum(1 << part for part in found)


def _of_tables(program: Program) -> Iterator[Part]:
    asks = {
        Part.TILES: any(group.stripes > 0 for group in program.groups),
        Part.STREAM: program.input == InputPlace.STREAM,
        Part.EXTERNAL: program.input == InputPlace.EXTERNAL,
        Part.REVERSED: any(RowLayout.HWC < tensor.layout < RowLayout.STATE for tensor in program.tensors),
        Part.LINK: program.input == InputPlace.LINK,
        Part.STATE: program.state > 0,
        Part.SLOW_MEMORY: program.slow > 0,
        Part.CONSTANTS: any(tensor.base == PROGRAM_BASE for tensor in program.tensors),
    }
    return (part for part, asked in asks.items() if asked)


def _macs(op: ProgramOp, tensors: Sequence[ProgramTensor]) -> int:
    """Return the number of multiply-accumulates of a packed operator with weights, or 0 for any other operator."""
    if op.packing in (Packing.NONE, Packing.DSP_ADD):
        return 0
    source, made = tensors[op.inputs[0]], tensors[op.output]
    depth = 1 if op.kind is Kind.DEPTHWISE else source.channels
    return made.height * made.width * made.channels * op.window.kernel_h * op.window.kernel_w * depth


def _of_operator(op: ProgramOp, tensors: Sequence[ProgramTensor], *, small: bool) -> Iterator[Part]:
    """The argument `small` is true if code without assembly is fast enough."""
    source, made = tensors[op.inputs[0]], tensors[op.output]
    plain, dsp = op.packing is Packing.NONE, op.packing in (Packing.DSP_CONV, Packing.DSP_DEPTHWISE)
    asks = {
        Part.CHANNEL_GROUPS: op.channel_groups > 1 or op.sums,
        Part.ITERATIVE: op.iterative,
        Part.NIBBLES: op.nibbles,
        Part.COPIES: op.copies,
        Part.SEVERAL_ROWS: plain and not op.iterative and op.tile == 0 and made.height > FEW_ROWS,
        Part.WHOLE_POOLS: plain and op.kind in POOLS and not (op.iterative or op.sums),
        Part.PIXELS: _is_pixel(op, made),
        Part.FEW_PIXELS: op.tile > 1 and (dsp or op.packing is Packing.DSP_ADD),
        Part.CLAMPS: op.activation != (-128, 127),
        Part.TAPS: op.packing is Packing.MVE_DEPTHWISE and not _has_nine(op),
        Part.AT_ONCE: _at_once(op) > 1,
        Part.TWO_ROWS: _two_rows(op),
        Part.DSP_NINE: op.packing is Packing.DSP_DEPTHWISE and _at_once(op) > 1,
    }
    yield from (part for part, asked in asks.items() if asked)
    if op.packing is Packing.DSP_DEPTHWISE:
        yield kernel_choice.depthwise_part(op.window, made.width, op.tile)
    if op.packing is Packing.DSP_DENSE:
        windows = op.window.kernel_h * op.window.kernel_w > 1
        yield from _of_dsp_dense(op, made.channels // 2, small=small and not windows)
        if windows:
            yield Part.DSP_WINDOWS
    if op.packing is Packing.DSP_CONV:
        yield from _of_dsp_conv(op, source, made, small=small)
    if plain and op.kind in (Kind.CONV, Kind.SUMS) and not op.nibbles:
        yield from _of_conv(op, source, made)
    if plain and op.kind is Kind.DEPTHWISE and not op.nibbles:
        yield from _of_depthwise(op, source, made)


def _at_once(op: ProgramOp) -> int:
    joins = op.packing in (Packing.DSP_CONV, Packing.DSP_DEPTHWISE)
    return op.param if joins and op.tile == 1 and op.param > 1 else 1


def _two_rows(op: ProgramOp) -> bool:
    return op.packing in (Packing.DSP_CONV, Packing.DSP_DEPTHWISE) and op.tile == 0 and op.param == 2


def _is_pixel(op: ProgramOp, made: ProgramTensor) -> bool:
    """Return whether the operator computes so many single pixels that the part PIXELS of the C library saves time."""
    whole = not op.access and not op.iterative and op.channel_groups <= 1
    if not kernel_choice.makes_single_pixels(op.kind, op.packing, op.tile, made.width, whole=whole):
        return False
    if op.packing is not Packing.NONE:
        return op.tile == 1 or made.height > 1
    return op.kind in (Kind.CONV, Kind.DEPTHWISE) or made.height * made.width > FEW_PIXELS


def _has_nine(op: ProgramOp) -> bool:
    window = op.window
    nine = (window.kernel_h, window.kernel_w, window.dilation_w) == (3, 3, 1)
    return nine and op.output_zero_point == -128 and op.activation == (-128, 127)


def _of_dsp_dense(op: ProgramOp, pairs: int, *, small: bool) -> Iterator[Part]:
    if small:
        yield Part.DSP_SMALL
        return
    if pairs >= 3 and pairs != 4:
        windows = op.window.kernel_h * op.window.kernel_w > 1
        yield Part.DSP_ONE_SCALE if op.param == 1 and not windows else Part.DSP_TRIPLES
    if pairs % 3 != 0:
        yield Part.DSP_DIRECT


def _of_dsp_conv(op: ProgramOp, source: ProgramTensor, made: ProgramTensor, *, small: bool) -> Iterator[Part]:
    kernel, channels = (op.window.kernel_h, op.window.kernel_w), source.channels
    if is_direct(op.packing, kernel, channels, made.channels, op.tile or made.width):
        yield Part.DSP_DIRECT
        if _at_once(op) == 1:
            return
    values = packed_values(op.packing, kernel, channels)
    if op.param == WIDE or (op.tile == 0 and op.param > 1):
        yield Part.DSP_WIDE
    if made.channels % 2 != 0:
        yield Part.DSP_ODD
    if op.window.kernel_w * channels < QUAD:
        yield Part.DSP_NARROW
    counts = _pixels_at_once(op, values, made.width)
    single = counts == {1} and made.height == 1 and op.tile == 0
    yield from (Part.DSP_SMALL if small and single else PAIRS[n - 1] for n in counts)
    if op.tile == 0 and _is_pointwise(op, source, made):
        return
    if (PACKED_PIXELS in counts or _two_rows(op)) and channels % QUAD == 0:
        yield Part.DSP_CLIPPED
    if op.tile > 0 or made.width == 1 or not kernel_choice.pads_rows(op.window, channels):
        yield Part.DSP_GATHER


def _pixels_at_once(op: ProgramOp, values: int, width: int) -> set[int]:
    if _at_once(op) > 1:
        return set(range(1, op.param + 1))
    room = WIDE if _two_rows(op) else op.param
    if op.tile > 0:
        return set(range(1, packed_pixels(op.packing, values, op.tile, room) + 1))
    return set(kernel_choice.batches(op.packing, op.window, values, width, room))


def _is_inside(op: ProgramOp, source: ProgramTensor, made: ProgramTensor) -> bool:
    window, last = op.window, (made.width - 1) * op.window.stride_w
    inside = last + window.kernel_w <= source.width and (made.height - 1) * window.stride_h < source.height
    return inside and (window.pad_top, window.pad_left) == (0, 0)


def _is_pointwise(op: ProgramOp, source: ProgramTensor, made: ProgramTensor) -> bool:
    window = op.window
    return (window.kernel_h, window.kernel_w, window.dilation_w) == (1, 1, 1) and _is_inside(op, source, made)


def _makes_fours(op: ProgramOp, made: ProgramTensor) -> bool:
    complete = not (op.iterative or op.sums or op.channel_groups > 1)
    return kernel_choice.makes_fours(made.channels, complete=complete, biased=op.bias is not None)


def _of_conv(op: ProgramOp, source: ProgramTensor, made: ProgramTensor) -> Iterator[Part]:
    window = op.window
    is_run = window.kernel_h == 1 and (window.kernel_w == 1 or (op.tile == 0 and window.dilation_w == 1))
    small = kernel_choice.gathers(window, source.channels, made.channels, rows=True)
    small = small and (not is_run or _is_inside(op, source, made))
    if _makes_fours(op, made) and (small or _is_pointwise(op, source, made)):
        return
    yield Part.CONV_SUMS
    if source.channels == 1 and (op.tile > 0 or op.window.dilation_w > 1):
        yield Part.CONV_STEPS


def _of_depthwise(op: ProgramOp, source: ProgramTensor, made: ProgramTensor) -> Iterator[Part]:
    if source.channels != made.channels:
        yield Part.DEPTHWISE_REPEATED
    elif not _makes_fours(op, made):
        yield Part.DEPTHWISE_SUMS
