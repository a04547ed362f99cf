"""The predicted sizes of scratch memory equal the sizes that the C code of CMSIS-NN and ESP-NN returns."""

from collections.abc import Callable
from pathlib import Path

import pytest
from unit.analysis.arena_zoo import ZOO

from tflm_memopt.tflm import cmsis_nn, esp_nn
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.builtin_memory import ConvShape
from tflm_memopt.tflm.libraries import library

DSP, MVE, ESP = library("cmsis-nn"), library("cmsis-nn", mve=True), library("esp-nn")


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("mlperf_tiny_kws_dscnn_int8", 22_820),
        ("mlperf_tiny_ic_resnet8_int8", 54_996),
        ("mlperf_tiny_vww_96_int8", 100_708),
        ("mlperf_tiny_ad_autoencoder_int8", 2_580),
    ],
)
def test_cmsis_nn_as_measured_on_a_cortex_m4(name: str, total: int, outside: Callable[[str], Path]) -> None:
    """The expected totals are arena_used_bytes() of TFLM with OPTIMIZED_KERNEL_DIR=cmsis_nn."""
    arena = predict(outside(f"{name}.tflite").read_bytes(), library=DSP)
    assert arena.total == total
    assert (arena.kernels, arena.exact) == ("cmsis-nn", True)


CONVOLUTIONS = [
    (ConvShape(1, 1, 16, 1, 8, 8, 8, 8, 32), 0, 0, 832),
    (ConvShape(1, 1, 3, 1, 2, 2, 2, 2, 5), 0, 0, 136),
    (ConvShape(1, 1, 6, 1, 9, 9, 5, 5, 8, 1, 2, 2), 0, 0, 952),
    (ConvShape(3, 3, 3, 1, 32, 32, 32, 32, 16, pad_h=1, pad_w=1), 112, 128, 704),
    (ConvShape(3, 3, 8, 1, 9, 7, 7, 5, 6), 288, 320, 1528),
    (ConvShape(1, 5, 8, 1, 1, 40, 1, 36, 4), 160, 40, 592),
    (ConvShape(1, 5, 8, 1, 1, 40, 1, 40, 4, pad_w=2), 160, 56, 1296),
    (ConvShape(1, 8, 4, 1, 1, 3, 1, 2, 4, stride_w=2, pad_w=3), 128, 128, 800),
    (ConvShape(10, 4, 1, 1, 49, 10, 25, 5, 64, 1, 2, 2, pad_h=4, pad_w=1), 160, 192, 3472),
    (ConvShape(2, 2, 40, 1, 6, 6, 6, 6, 9, dilation_h=2), 640, 640, 5228),
]
"""For each convolution, the scratch bytes that arm_convolve_wrapper_s8_get_buffer_size_dsp(), its variant _mve and
esp_nn_get_conv_scratch_size_esp32s3() return.
"""
DEPTHWISE = [
    (ConvShape(3, 3, 16, 1, 8, 8, 8, 8, 16, pad_h=1, pad_w=1), 0, 4464, 1760),
    (ConvShape(3, 3, 16, 1, 9, 9, 7, 7, 16), 0, 4464, 160),
    (ConvShape(3, 3, 64, 1, 40, 40, 40, 40, 64, pad_h=1, pad_w=1), 0, 4464, 8656),
    (ConvShape(3, 3, 24, 1, 8, 8, 8, 8, 24, pad_h=1, pad_w=1), 0, 4464, 7008),
    (ConvShape(3, 3, 8, 1, 8, 8, 8, 8, 8, pad_h=1, pad_w=1), 0, 4464, 1200),
    (ConvShape(5, 5, 8, 1, 8, 8, 8, 8, 8, pad_h=2, pad_w=2), 400, 12400, 1456),
    (ConvShape(5, 5, 32, 1, 40, 40, 40, 40, 32, pad_h=2, pad_w=2), 1600, 12400, 14432),
    (ConvShape(3, 3, 6, 1, 8, 8, 8, 8, 6, pad_h=1, pad_w=1), 0, 4464, 1792),
    (ConvShape(3, 3, 3, 1, 8, 8, 8, 8, 12, 4, pad_h=1, pad_w=1), 0, 0, 632),
    (ConvShape(3, 3, 2, 1, 8, 8, 8, 8, 2, pad_h=1, pad_w=1), 0, 4464, 32),
    (ConvShape(2, 4, 6, 2, 8, 8, 7, 5, 6), 0, 0, 1552),
    (ConvShape(3, 3, 8, 1, 9, 9, 5, 5, 8, dilation_h=2, dilation_w=2), 0, 0, 1472),
]
"""For each depthwise convolution, the scratch bytes that functions of CMSIS-NN and ESP-NN return."""


@pytest.mark.parametrize(("window", "dsp", "mve", "esp"), CONVOLUTIONS)
def test_scratch_of_convolutions(window: ConvShape, dsp: int, mve: int, esp: int) -> None:
    assert cmsis_nn.conv_bytes(window, mve=False) == dsp
    assert cmsis_nn.conv_bytes(window, mve=True) == mve
    assert esp_nn.conv_bytes(window) == esp


@pytest.mark.parametrize(("window", "dsp", "mve", "esp"), DEPTHWISE)
def test_scratch_of_depthwise_convolutions(window: ConvShape, dsp: int, mve: int, esp: int) -> None:
    assert cmsis_nn.depthwise_bytes(window, mve=False, packed=False) == dsp
    assert cmsis_nn.depthwise_bytes(window, mve=True, packed=False) == mve
    assert esp_nn.depthwise_bytes(window) == esp


@pytest.mark.parametrize(
    ("name", "total", "least"), [("lstm", 1568, 2260), ("lstm_int8", 1716, 2480), ("lstm_int16", 2276, 2880)]
)
def test_an_lstm_as_measured_with_cmsis_nn_on_a_cortex_m4(name: str, total: int, least: int) -> None:
    """The argument `total` is arena_used_bytes(), and AllocateTensors() succeeds with an arena of `least` bytes."""
    arena = predict(ZOO[name](), library=DSP)
    assert (arena.total, arena.min, arena.exact) == (total, least, True)
