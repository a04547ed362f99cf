"""Lists the order in which each kernel of the C library reads and writes, and computes the scratch of packed kernels
like custom_ops/src/tmo_check_packed.c. The planner has its own lists, which the checker does not use.

A kernel that is in no list is assumed to write all outputs before it reads its inputs.
"""

from tflm_memopt.ops.packing import Packing
from tflm_memopt.ops.rowop import UNIT, RowOp
from tflm_memopt.plan.plan import Stage

ELEMENT_BY_ELEMENT = frozenset({
    "ADD", "ADD_S16", "ARITHMETIC_F32", "BINARY_32", "CLAMP_F32", "COMPARE", "COMPARE_32", "CURVE_F32", "CURVE_S16",
    "LEAKY_RELU_S16", "LOOKUP", "MAXIMUM", "MAXIMUM_S16", "MINIMUM", "MINIMUM_S16", "MUL", "MUL_S16", "NARROW", "PRELU",
    "QUANTIZE", "QUANTIZE_S16", "RESCALE_S16", "SQUARED_DIFFERENCE", "SUB", "SUB_S16",
})  # fmt: skip
"""Kernels that read an input element before they overwrite the element."""
PIXEL_BY_PIXEL = frozenset({"CONV"})
"""Kernels that, in each iteration, write the last byte after all reads."""

PLACES = frozenset({"ARG_MAX_ALONG", "ARG_MAX_F32"})
IN_ORDER = PLACES | {
    "AVERAGE_POOL_F32", "CONV_F32", "DEPTHWISE_F32", "MAX_POOL_F32", "MIN_POOL_F32", "SUM_F32", "TRANSPOSE_CONV_F32",
}  # fmt: skip
"""Kernels whose results depend on the order in which they read the rows and columns of a window."""


def accumulators(op: RowOp) -> int:
    """Return the number of bytes for the 32-bit sums of one output row. ARG_MAX and ARG_MIN need two sums for each
    output index.
    """
    return 2 * op.writes.row_bytes if op.kind.name in PLACES else 4 * op.writes.row_bytes // op.element_bytes


def reads_first(op: RowOp) -> bool:
    """Return whether the output may overwrite an input. The kernel must read each input element before it writes the
    output element with the same index.
    """
    limits = op.kind.name == "MAX_POOL_S16" and op.window == UNIT  # A RELU6 of int16 runs as a max pool.
    return (limits or op.kind.name in ELEMENT_BY_ELEMENT) and any(rows.nbytes >= op.writes.nbytes for rows in op.reads)


def ends_last(op: RowOp) -> bool:
    """Return whether the kernel writes the last byte of each iteration after all reads of the iteration."""
    return op.kind.name in PIXEL_BY_PIXEL and op.packing is Packing.NONE and not op.core_1_counters


def needs_order(op: RowOp) -> bool:
    return op.kind.name in IN_ORDER


def can_be_reversed(op: RowOp, *, pixels: bool) -> bool:
    """Return whether the results stay the same if the kernel computes the rows from last to first. If `pixels` is true,
    the kernel computes the pixels of each row from last to first.
    """
    height, width = op.window.kernel_h, op.window.kernel_w
    return not needs_order(op) or (height == 1 and (width == 1 or not pixels))


def kernel_scratch(stage: Stage, op: RowOp, columns: int) -> int:
    """Return the number of bytes of scratch that one iteration of an operator writes.

    A depthwise convolution needs scratch for one pixel, and any other convolution copies the input values of several
    output columns to scratch. Kernels copy up to 4 columns as int16 for Arm DSP, up to 2 columns as bytes for Helium,
    and up to 4 columns as bytes for RISC-V.

    A single pixel that the kernel reads in place needs no scratch, or scratch for one pixel of padding.
    """
    if op.packing in (Packing.NONE, Packing.DSP_ADD) or stage.iterative or stage.nest.channel_groups > 1:
        return 0
    channels, helium, vectors = op.reads[0].c, op.packing is Packing.MVE_CONV, op.packing is Packing.RVV_CONV
    if op.packing is Packing.ESP_DEPTHWISE:
        return _esp_depthwise(op, columns)
    if op.packing in (Packing.DSP_DEPTHWISE, Packing.MVE_DEPTHWISE, Packing.RVV_DEPTHWISE):
        return channels
    if op.packing is Packing.ESP_CONV:
        values = op.window.kernel_h * op.window.kernel_w * channels
        return values + -values % 16 + 15
    taps, made = op.window.kernel_h * op.window.kernel_w, op.writes.c
    single = stage.nest.tile == stage.at_once == 1 and taps <= 51 and not (stage.pixels or op.core_1_counters)
    in_place = op.packing is Packing.DSP_CONV and single and channels % 8 == 0 and made % 2 == 0 and made > 3
    if op.packing is Packing.DSP_DENSE or in_place:
        return channels if taps > 1 else 0
    pointwise = columns * stage.at_once == 1 and taps == 1
    if pointwise and (vectors or (channels % 16 == 0 if helium else channels % 8 == 0 and op.writes.c > 3)):
        return 0
    if vectors:
        return _most(op.window.kernel_h * op.window.kernel_w * channels, min(4, columns))
    row = op.window.kernel_w * channels
    values = op.window.kernel_h * (row if helium else row + -row % 4)
    values += -values % (16 if helium else 8)
    if helium:
        return values * min(2, stage.pixels, columns) if stage.pixels else _most(values, min(2, columns))
    if stage.at_once > 1:
        return 2 * values * columns * stage.at_once
    most = stage.pixels or 4 if stage.pixels or op.param == 1 else _most(2 * values, 4) // (2 * values)
    if op.param == 1 and not stage.pixels and values <= 96 and columns > 4 and columns % 4 == 1:
        return 2 * values * 5
    if most > 2 and columns == most + 1:
        most -= 1
    return 2 * values * min(most, columns)


def _esp_depthwise(op: RowOp, columns: int) -> int:
    """Return the bytes that an ESP-NN call needs for scratch, input and output. A call computes at least one pixel, and
    more pixels if the bytes do not exceed 2,048.
    """
    kernel_h, kernel_w, c = op.window.kernel_h, op.window.kernel_w, op.reads[0].c
    nine = kernel_h == kernel_w == 3
    c += -c % (16 if nine and c > 8 else 8)

    def of(pixels: int) -> int:
        wide = pixels * op.window.stride_w + kernel_w - 1
        filters, image = kernel_h * kernel_w * c, kernel_h * wide * c
        own = filters + 32 if nine and c % 16 == 0 else 2 * (filters + image) + 64
        return own + image + pixels * c + 48

    pixels = 1
    while pixels < columns and of(pixels + 1) <= 2048:
        pixels += 1
    return of(pixels)


def _most(nbytes: int, most: int) -> int:
    pixels = 1
    while pixels < most and (pixels + 1) * nbytes <= (4608 if pixels == 1 else 1728):
        pixels += 1
    return pixels * nbytes
