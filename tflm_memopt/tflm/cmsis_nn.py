"""Allocations of TFLM's CMSIS-NN kernels that differ from the allocations of the reference kernels.

The sources are TFLM's kernels in tensorflow/lite/micro/kernels/cmsis_nn and CMSIS-NN's functions
arm_*_get_buffer_sizes_*. The kernels are built for speed, as in TFLM's Makefile, by gcc or clang; with Arm Compiler,
pointwise convolutions need a few hundred bytes more. The argument `mve` selects the sizes for Helium instead of the DSP
extension. On a core that has neither Helium nor the DSP extension, TFLM needs less memory than the module predicts.
"""

import math
from collections.abc import Iterator, Mapping
from functools import partial

from tflm_memopt.tflm.builtin_memory import (
    KERNELS,
    ConvShape,
    Kernel,
    Node,
    Persistent,
    Scratch,
    Step,
    conv_shape,
    int_array,
    per_channel,
    scratch,
    temps,
    transposed_copies,
)
from tflm_memopt.tflm.structs import Abi, size_of

MVE_BLOCK = 124
"""Number of channels of a depthwise convolution that Helium processes at once (CH_IN_BLOCK_MVE)."""
REVERSED_FROM = 16
"""A transposed convolution with more channels than REVERSED_FROM runs as a convolution
(REVERSE_TCOL_EFFICIENT_THRESHOLD).
"""


def rows(*, mve: bool) -> Mapping[str, Kernel]:
    """Return the allocations of each operator by its name in the schema."""
    own = {
        "AVERAGE_POOL_2D": Kernel("TfLitePoolParams", "OpDataPooling+int", partial(_average_pool, mve)),
        "BATCH_MATMUL": Kernel("TfLiteBatchMatMulParams", "cmsis_nn::BatchMatmul", partial(_batch_matmul, mve)),
        "CONV_2D": Kernel("TfLiteConvParams", "OpDataConv+int", partial(_conv, mve)),
        "DEPTHWISE_CONV_2D": Kernel("TfLiteDepthwiseConvParams", "OpDataConv+int", partial(_depthwise, mve)),
        "FULLY_CONNECTED": Kernel(
            "TfLiteFullyConnectedParams", "cmsis_nn::FullyConnected", partial(_fully_connected, mve)
        ),
        "MAX_POOL_2D": Kernel("TfLitePoolParams", "OpDataPooling+int", KERNELS["MAX_POOL_2D"].prepare),
        "SOFTMAX": Kernel("TfLiteSoftmaxParams", "SoftmaxParams+2 int", KERNELS["SOFTMAX"].prepare),
        "SVDF": Kernel("TfLiteSVDFParams", "cmsis_nn::Svdf", partial(_svdf, mve)),
        "TRANSPOSE_CONV": Kernel("TfLiteTransposeConvParams", "cmsis_nn::TransposeConv", partial(_transpose_conv, mve)),
        "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel("TfLiteUnidirectionalSequenceLSTMParams", "cmsis_nn::Lstm", _lstm),
    }
    return {**KERNELS, **own}


def _conv(mve: bool, node: Node, abi: Abi) -> Iterator[Step]:
    """Replay conv.cc, which looks for the bias among the outputs and therefore never finds it."""
    yield from _per_channel(node, 0)
    if node.dtype("i0") == "INT8":
        yield from scratch(conv_bytes(conv_shape(node), mve, grouped=node.dim("i0", 3) != node.dim("i1", 3)))
    elif node.dtype("i0") == "INT16":
        yield from scratch(_columns_s16(conv_shape(node), mve))


def _per_channel(node: Node, channel_axis: int) -> Iterator[Step]:
    yield from temps(node, "i0 i1 o0")
    if node.dtype("i0") in ("INT8", "INT16"):
        yield from per_channel(node.dim("i1", channel_axis))
    yield from temps(node, "i0 i1 i2 o0")


def conv_bytes(w: ConvShape, mve: bool, *, grouped: bool = False) -> int:
    """Return the result of arm_convolve_wrapper_s8_get_buffer_size()."""
    plain = w.dilation_w == 1 and not grouped
    if w.kernel_h == w.kernel_w == 1 and w.pad_h == w.pad_w == 0 and w.dilation_h == 1 and plain:
        return 0
    if mve and w.in_h == w.kernel_h == 1 and w.stride_w * w.channels % 4 == 0 and plain:
        return _line_s8(w)
    return _columns_s8(w, mve)


def _columns_s8(w: ConvShape, mve: bool) -> int:
    """Return the number of bytes for im2col: two columns of int16, or with Helium four columns of int8
    (arm_convolve_s8_get_buffer_size).
    """
    values = w.kernel_h * w.kernel_w * w.channels
    return 4 * -(-values // 16) * 16 if mve else 2 * -(-values // 4) * 4 * 2


def _columns_s16(w: ConvShape, mve: bool) -> int:
    """Return the result of arm_convolve_s16_get_buffer_size()."""
    values = w.kernel_h * w.kernel_w * w.channels
    return 4 * -(-values // 8) * 8 * 2 if mve else 2 * values * 2


def _line_s8(w: ConvShape) -> int:
    """Return the number of bytes for the padded ends of a 1 x n convolution on Helium
    (arm_convolve_1_x_n_s8_get_buffer_size_mve).
    """
    odd = int(math.fmod((w.out_w - 1) * w.stride_w + w.kernel_w - w.in_w, 2))
    right, left = (max(1, int((p + w.stride_w - 1) / w.stride_w)) if p else 0 for p in (w.pad_w + odd, w.pad_w))
    if right + left > w.out_w:
        return _columns_s8(w, mve=True)
    first, last = w.kernel_w + w.pad_w, w.kernel_w - 1 + (right if odd else w.pad_w)
    return max(first, last) * w.channels


def _depthwise(mve: bool, node: Node, abi: Abi) -> Iterator[Step]:
    """Replay depthwise_conv.cc, which requests no scratch for int16."""
    yield from _per_channel(node, 3)
    if node.dtype("i0") == "INT8":
        yield from scratch(depthwise_bytes(conv_shape(node), mve, packed=node.dtype("i1") == "INT4"))


def depthwise_bytes(w: ConvShape, mve: bool, *, packed: bool) -> int:
    """Return the result of arm_depthwise_conv_wrapper_s8_get_buffer_size(). Set the argument `packed` if weights are
    int4.
    """
    if mve and not packed and w.channels == 1 and w.out_channels > 1:
        return conv_bytes(w, mve) + w.out_channels * w.kernel_h * w.kernel_w
    if w.channels != w.out_channels or w.batches != 1 or not w.dilation_h == w.dilation_w == 1:
        return 0
    if mve:
        return 4 * MVE_BLOCK * w.kernel_h * w.kernel_w
    small = w.kernel_h == w.kernel_w == 3 and max(w.pad_h, w.pad_w) <= 1
    return 0 if small and not packed else 2 * w.channels * w.kernel_h * w.kernel_w


def _fully_connected(mve: bool, node: Node, abi: Abi) -> Iterator[Step]:
    """Replay fully_connected.cc, which uses pointwise convolutions for outputs of 3 or more dimensions."""
    yield from temps(node, "i0 i1 i2 o0")
    weights, bias = node.tensor("i1"), node.tensor("i2")
    scales = len(weights.quantization.scale) if weights is not None and weights.quantization is not None else 0
    if scales > 1 and node.dtype("i0") != "FLOAT32":
        yield from per_channel(scales)
    if node.dtype("i0") != "INT8" or node.dtype("i1") == "INT4" or weights is None:
        return
    units = node.dim("o0", node.rank("o0") - 1)
    if node.rank("o0") > 2 and weights.shape[-1] % 4 == 0:
        if scales <= 1:
            yield Scratch(2 * 4 * units)
    elif mve:
        constant = weights.constant and (bias is None or bias.constant)
        yield (Persistent if constant else Scratch)(4 * units)


def _average_pool(mve: bool, node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 o0 i0 o0")
    if node.dtype("i0") in ("INT8", "INT16") and not mve:
        yield Scratch(4 * node.dim("i0", 3))


def _svdf(mve: bool, node: Node, abi: Abi) -> Iterator[Step]:
    yield from KERNELS["SVDF"].prepare(node, abi)
    if mve and node.dtype("i0") == "INT8":
        yield Persistent(4 * node.dim("i1", 0))


def _lstm(node: Node, abi: Abi) -> Iterator[Step]:
    """Replay unidirectional_sequence_lstm.cc, which allocates buffers as large as the cell state: four for float32, and
    three for integers. For integers, the kernel also allocates eight arrays of biases. Inputs 18 and 19 of an LSTM are
    its output state and its cell state (kernels/lstm_shared.h).
    """
    yield from temps(node, " ".join(f"i{k}" for k in range(24)) + " o0")
    cell, bias_bytes = node.tensor("i19"), _LSTM_BIAS_BYTES.get(node.dtype("i0"), 0)
    if cell is None:
        return
    if bias_bytes:
        for _ in range(8):
            yield Persistent(bias_bytes * node.dim("i18", 1))
    for _ in range(3 if bias_bytes else 4):
        yield Scratch(cell.nbytes)


_LSTM_BIAS_BYTES: Mapping[str, int] = {"INT8": 4, "INT16": 8}


def _batch_matmul(mve: bool, node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 i1 o0")
    yield from transposed_copies(node, abi)
    yield int_array(node.rank("o0"))
    if node.dtype("i0") in ("INT8", "INT16"):
        yield Persistent(size_of("QuantizationOpDataBatchMatmul", abi))
    if node.dtype("i0") == "INT8" and mve:
        yield Scratch(4 * node.dim("o0", node.rank("o0") - 1))


def _transpose_conv(mve: bool, node: Node, abi: Abi) -> Iterator[Step]:
    """Replay transpose_conv.cc (arm_transpose_conv_get_buffer_sizes_s8.c)."""
    yield from temps(node, "o0 i2 i1")
    yield from per_channel(node.dim("i1", 0))
    if node.dtype("i2") == "INT8":
        for nbytes in _transposed_s8(node, mve):
            yield Scratch(nbytes)
    elif node.dtype("i2") == "INT16":
        yield Scratch(8 * node.elements("o0"))
    if node.dtype("i2") in ("INT8", "INT16"):
        yield from temps(node, "i2 i1 i3 o0")
    if node.dtype("i3") == "INT16":
        yield Scratch(8 * node.elements("i3"))


def _transposed_s8(node: Node, mve: bool) -> tuple[int, int]:
    """Return the bytes of two buffers: the first holds im2col columns or sums of rows, the second holds a reversed
    filter.
    """
    stride_h, stride_w = int(node.options.get("strideH", 1)), int(node.options.get("strideW", 1))
    units, kernel_h, kernel_w, channels = (node.dim("i1", n) for n in range(4))
    if max(stride_h, stride_w) <= 2 and channels > REVERSED_FROM:
        columns = ConvShape(kernel_h=kernel_h, kernel_w=kernel_w, channels=channels)
        return _columns_s8(columns, mve), channels * kernel_h * kernel_w * units
    width = (node.dim("i2", 2) - 1) * stride_w + max(kernel_w, stride_h)
    return 4 * width * node.dim("o0", 3) * max(kernel_h, stride_h), 0
