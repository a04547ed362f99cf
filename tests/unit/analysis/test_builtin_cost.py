"""Test the cost of an unchanged model under TFLM with CMSIS-NN: which kernel runs an operator, and its cost."""

from __future__ import annotations

import math

from models import Net

from tflm_memopt.analysis.builtin_cost import builtins
from tflm_memopt.analysis.builtin_work import KernelWork, kernel_work
from tflm_memopt.model.reader import read


def works(data: bytes) -> list[KernelWork]:
    graph = read(data).graph
    return [kernel_work(graph, op) for op in graph.ops]


def test_every_convolution_has_the_kernel_that_cmsis_nn_chooses() -> None:
    net = Net(1)
    x = net.input((1, 9, 9, 8))
    outputs = [
        net.conv2d(x, 8),
        net.conv2d(x, 8, stride=(2, 2)),
        net.conv2d(x, 8, kernel=(3, 3)),
        net.depthwise_conv2d(x),
        net.depthwise_conv2d(x, kernel=(5, 5)),
        net.depthwise_conv2d(x, multiplier=8),
        net.depthwise_conv2d(x, multiplier=3),
        net.depthwise_conv2d(x, dilation=(2, 2)),
    ]
    assert [work.kernel for work in works(net.model(*outputs))] == [
        "CONV_2D int8 1x1", "CONV_2D int8 1x1 strided", "CONV_2D int8", "DEPTHWISE_CONV_2D int8 3x3",
        "DEPTHWISE_CONV_2D int8 gathered", "DEPTHWISE_CONV_2D int8 fours", "DEPTHWISE_CONV_2D int8 one by one",
        "DEPTHWISE_CONV_2D int8 dilated",
    ]  # fmt: skip


def test_more_work_never_costs_less() -> None:
    known = builtins("cortex-m4")
    assert known
    for kernel, costs in known.kernels.items():
        assert min(costs.values()) >= 0 < max(costs.values()), kernel
        assert all(map(math.isfinite, costs.values()))
