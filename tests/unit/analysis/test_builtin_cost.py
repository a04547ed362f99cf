"""Test the cost of an unchanged model under TFLM with CMSIS-NN: which kernel runs an operator, and its cost."""

from __future__ import annotations

import math

import pytest
from memories import lstm_network, svdf_network
from models import Net
from moving import split, split_v, unpack
from streaming import mixed

from tflm_memopt.analysis.builtin_cost import builtins, instructions
from tflm_memopt.analysis.builtin_work import KernelWork, kernel_work
from tflm_memopt.model.reader import read


def works(data: bytes) -> list[KernelWork]:
    graph = read(data).graph
    return [kernel_work(graph, op) for op in graph.ops]


def convolutions(then: str = "") -> bytes:
    net = Net(3)
    x = net.conv2d(net.input((1, 12, 12, 4)), 8, kernel=(3, 3))
    return net.model(net.unary(then, x) if then else net.conv2d(x, 8))


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


@pytest.mark.parametrize("data", [convolutions(), convolutions("ABS"), svdf_network(), lstm_network(), mixed()])
def test_estimates_are_known_for_operators_that_were_counted(data: bytes) -> None:
    graph = read(data).graph
    estimate = instructions(graph, "cortex-m4")
    assert estimate
    assert instructions(graph, "cortex-m7") == instructions(graph, "cortex-m33") == estimate
    assert instructions(graph, "cortex-m0") is None
    assert builtins("cortex-m55") is None


def test_more_work_never_costs_less() -> None:
    known = builtins("cortex-m4")
    assert known
    for kernel, costs in known.kernels.items():
        assert min(costs.values()) >= 0 < max(costs.values()), kernel
        assert all(map(math.isfinite, costs.values()))


def test_operators_with_the_loops_of_another_have_its_costs() -> None:
    """Splits into equal parts cost the same for every operator that makes them."""
    net = Net(2)
    x = net.input((1, 4, 4, 8))
    parts = [split(net, x, 2, 2), split_v(net, x, 2, (2, 2))]
    graph = read(net.model(*parts[0], *parts[1], *unpack(net, x, 1))).graph
    found = builtins("cortex-m4")
    assert found
    one, same, other = (found.instructions(kernel_work(graph, op)) for op in graph.ops)
    assert one == same
    assert other
