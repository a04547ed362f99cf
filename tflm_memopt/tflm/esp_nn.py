"""Allocations of TFLM's ESP-NN kernels on an ESP32-S3, which needs more memory than other ESP32s.

The sources are tensorflow/lite/micro/kernels/esp_nn of espressif/esp-tflite-micro (99f49e1), and functions such as
esp_nn_get_conv_scratch_size_esp32s3 of espressif/esp-nn (d45b843).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from tflm_memopt.tflm.builtin_memory import KERNELS, ConvShape, Kernel, Node, Step, conv_shape, scratch
from tflm_memopt.tflm.structs import Abi

WHOLE_INPUT = 40 * 1024
"""If the padded input of a depthwise convolution takes at most WHOLE_INPUT bytes, ESP-NN buffers the whole input."""
WHOLE_INT16 = 48 * 1024
"""If input and filter together take at most WHOLE_INT16 bytes as int16, ESP-NN buffers the whole input."""


def rows() -> Mapping[str, Kernel]:
    return {
        **KERNELS,
        "CONV_2D": Kernel("TfLiteConvParams", "OpDataConv+int", partial(_then, "CONV_2D", conv_bytes)),
        "DEPTHWISE_CONV_2D": Kernel(
            "TfLiteDepthwiseConvParams", "OpDataConv+int", partial(_then, "DEPTHWISE_CONV_2D", depthwise_bytes)
        ),
        "SOFTMAX": Kernel("TfLiteSoftmaxParams", "SoftmaxParams+int", _softmax),
    }


def _then(name: str, nbytes: Callable[[ConvShape], int], node: Node, abi: Abi) -> Iterator[Step]:
    """Replay Prepare of the reference kernel, and request scratch for an int8 input."""
    yield from KERNELS[name].prepare(node, abi)
    if node.dtype("i0") == "INT8":
        yield from scratch(nbytes(conv_shape(node)))


def _softmax(node: Node, abi: Abi) -> Iterator[Step]:
    """Request one int32 for each class of a SOFTMAX. ESP-NN takes dimension 1 of a SOFTMAX as the number of classes."""
    yield from KERNELS["SOFTMAX"].prepare(node, abi)
    if node.dtype("i0") == node.dtype("o0") == "INT8":
        yield from scratch(4 * node.dim("i0", 1))


def conv_bytes(w: ConvShape) -> int:
    """Return the result of esp_nn_get_conv_scratch_size_esp32s3()."""
    margin, window_values, row_values = 64, w.kernel_h * w.kernel_w * w.channels, w.kernel_w * w.channels
    padded = w.pad_h > 0 or w.pad_w > 0
    if w.kernel_h == w.kernel_w == 1 and not padded and w.stride_h == w.stride_w == 1:
        channels, pixels = _up(w.channels, 8), w.in_h * w.in_w
        transposed = 2 * 8 * channels if pixels >= 8 else 0
        return (pixels * channels if w.channels % 8 else 0) + channels * w.out_channels + transposed + margin
    if row_values < 16 <= window_values:
        column = _up(window_values, 16)
        return 4 * w.out_channels + 16 + w.out_channels * column + 16 + column + margin
    within = (w.in_w + 2 * w.pad_w) * (w.in_h + 2 * w.pad_h) * w.channels if padded else 0
    filters = w.kernel_h * (w.kernel_w * _up(w.channels, 16) + _up(row_values, 16)) * w.out_channels
    right = max(0, w.out_w * w.stride_w + w.kernel_w - 1 - w.in_w)
    bottom = max(0, w.out_h * w.stride_h + w.kernel_h - 1 - w.in_h)
    beyond = (w.in_w + right) * (w.in_h + bottom) * w.channels if right or bottom else 0
    return within + filters + beyond + margin + 4 * w.out_channels


def depthwise_bytes(w: ConvShape) -> int:
    """Return the result of esp_nn_get_depthwise_conv_scratch_size_esp32s3()."""
    filters, pixels = w.kernel_h * w.kernel_w * w.channels * w.multiplier, w.in_h * w.in_w
    if w.multiplier == 1 and w.channels % 8 == 0:
        if not w.kernel_h == w.kernel_w == 3:
            whole = 2 * (filters + pixels * w.channels)
            return 32 + (whole if whole <= WHOLE_INT16 else 2 * (filters + w.in_w * w.kernel_h * w.channels))
        if w.channels % 16 == 0:
            return filters + 16 + _padded_input(w)
        if w.channels < 12:
            return 2 * (filters + pixels * w.channels) + 32
        channels = _up(w.channels, 16)
        wide = w.in_w + 2 * w.pad_w + max(0, w.out_w * w.stride_w + 2 - w.in_w)
        high = w.in_h + 2 * w.pad_h + max(0, w.out_h * w.stride_h + 2 - w.in_h)
        return channels * (9 + wide * high + w.out_w * w.out_h) + 64
    if w.multiplier == 1 and w.channels > 3:
        channels = _up(w.channels, 8)
        place = _up(2 * w.kernel_h * w.kernel_w * channels, 16) + 2 * pixels * channels
        place = _up(place, 16) + w.out_w * w.out_h * channels
        return _up(place, 16) + 3 * 4 * channels + 16
    return (2 * (filters + pixels * w.channels) if w.multiplier % 4 == 0 else 0) + 32


def _padded_input(w: ConvShape) -> int:
    """Return the size in bytes of a padded copy of the whole input or of some input rows, or 0 without padding."""
    if w.pad_h or w.pad_w:
        wide, high = 2 * w.pad_w, 2 * w.pad_h
    else:
        wide, high = w.out_w * w.stride_w + 2 - w.in_w, w.out_h * w.stride_h + 2 - w.in_h
    if not (wide or high):
        return 0
    whole = (w.in_w + wide) * (w.in_h + high) * w.channels
    return whole if whole <= WHOLE_INPUT else (w.in_w + wide) * w.kernel_h * w.channels


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
