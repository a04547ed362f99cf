"""Test which operators the rewrite rules change."""

from collections.abc import Callable

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net

from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read
from tflm_memopt.ops.context import EXPLICIT_PADDING
from tflm_memopt.rewrite.canonicalise import canonicalise

SPATIAL = [(0, 0), (1, 1), (2, 0), (0, 0)]


def canonical(net: Net, *outputs: int) -> Graph:
    return canonicalise(read(net.model(*outputs)).graph)


def types(graph: Graph) -> list[str]:
    return [op.type for op in graph.ops]


def padded(net: Net, **options: int) -> int:
    return net.pad(net.input((1, 4, 5, 2)), SPATIAL, **options)


def test_pad_goes_into_each_convolution_that_reads_it() -> None:
    net = Net()
    x = padded(net)
    result = canonical(net, net.conv2d(x, 3, kernel=(3, 3), padding="VALID"), net.depthwise_conv2d(x, kernel=(4, 4)))
    assert types(result) == ["CONV_2D", "DEPTHWISE_CONV_2D"]
    conv, depthwise = result.ops
    assert (conv.inputs[0], conv.options[EXPLICIT_PADDING], conv.stands_for) == (0, (1, 1, 2, 0), (0, 1))
    assert (depthwise.options[EXPLICIT_PADDING], depthwise.stands_for) == ((2, 3, 3, 2), (0, 2))


def test_a_convolution_with_a_group_for_each_channel_is_depthwise() -> None:
    net = Net()
    x = net.pad(net.input((1, 6, 5, 3)), SPATIAL)
    result = canonical(net, net.conv2d(x, 6, kernel=(3, 3), stride=(2, 1), padding="VALID", groups=3))
    (op,) = result.ops
    filter_ = result.tensors[op.inputs[1]]
    assert (op.type, op.options["depthMultiplier"], op.stands_for) == ("DEPTHWISE_CONV_2D", 2, (0, 1))
    assert (filter_.shape, filter_.quantization and filter_.quantization.axis) == ((1, 3, 3, 6), 3)


def _other_value(net: Net) -> tuple[int, ...]:
    return (net.conv2d(padded(net, value=0), 3, kernel=(3, 3), padding="VALID"),)


def _channels(net: Net) -> tuple[int, ...]:
    return (net.conv2d(net.pad(net.input((1, 4, 5, 2)), [(0, 0), (0, 0), (0, 0), (0, 1)]), 3),)


def _output(net: Net) -> tuple[int, ...]:
    x = padded(net)
    return net.conv2d(x, 3, kernel=(3, 3), padding="VALID"), x


def _other_reader(net: Net) -> tuple[int, ...]:
    x = padded(net)
    return net.conv2d(x, 3, kernel=(3, 3), padding="VALID"), net.unary("RELU", x)


def _other_scale(net: Net) -> tuple[int, ...]:
    x = padded(net)
    net.graph.tensors[x].quantization.scale = np.array([0.5], np.float32)
    return (net.conv2d(x, 3, kernel=(3, 3), padding="VALID"),)


def _only_padding(net: Net) -> tuple[int, ...]:
    return (net.conv2d(padded(net), 3, kernel=(2, 2), padding="VALID"),)


def _grouped(net: Net) -> tuple[int, ...]:
    y = net.conv2d(padded(net), 3, kernel=(3, 3), padding="VALID")
    filter_ = net.graph.tensors[net.graph.operators[1].inputs[1]]
    filter_.shape = np.array([3, 3, 3, 1], np.int32)
    net.tree.buffers[filter_.buffer].data = np.ones(27, np.uint8)
    return (y,)


def _run_time_amounts(net: Net) -> tuple[int, ...]:
    y = net.conv2d(padded(net), 3, kernel=(3, 3), padding="VALID")
    net.graph.operators[0].inputs[1] = net.input((4, 2), None, dtype="INT32")
    return (y,)


STAYING: dict[str, Callable[[Net], tuple[int, ...]]] = {
    "value": _other_value,
    "channels": _channels,
    "output": _output,
    "reader": _other_reader,
    "scale": _other_scale,
    "padding": _only_padding,
    "groups": _grouped,
    "amounts": _run_time_amounts,
}


@pytest.mark.parametrize("case", STAYING)
def test_a_pad_that_stays(case: str) -> None:
    net = Net()
    assert types(canonical(net, *STAYING[case](net)))[0].startswith("PAD")


def _doubled(net: Net, x: int, options: object) -> int:
    shape = net.op("SHAPE", [x], [net.tensor((3,), "INT32", None)])
    return net.op("ADD", [shape, shape], [net.tensor((3,), "INT32", None)], options)


@pytest.mark.parametrize("case", ["activation", "dynamic", "data", "too large", "missing"])
def test_integers_that_are_not_known(case: str) -> None:
    net = Net()
    x = net.input((1, 6, 4))
    if case == "activation":  # TFLM clamps.
        relu = schema.ActivationFunctionType.RELU
        target = _doubled(net, x, schema.AddOptionsT(fusedActivationFunction=relu))
    elif case == "dynamic":
        net.graph.tensors[x].shapeSignature = np.array([1], np.int32)
        target = _doubled(net, x, schema.AddOptionsT())
    elif case == "too large":
        shape = net.op("SHAPE", [x], [net.tensor((3,), "INT32", None)])
        most = net.tensor((3,), "INT32", None, data=[2**31 - 1] * 3)
        target = net.op("ADD", [shape, most], [net.tensor((3,), "INT32", None)], schema.AddOptionsT())
    elif case == "data":
        target = net.op("NEG", [net.input((3,), None, dtype="INT32")], [net.tensor((3,), "INT32", None)])
    else:
        first, count = (net.tensor((1,), "INT32", None, data=[n]) for n in (1, 3))
        shape = net.op("SHAPE", [x], [net.tensor((3,), "INT32", None)])
        target = net.op("SLICE", [shape, first, count], [net.tensor((3,), "INT32", None)])
    result = canonical(net, net.op("RESHAPE", [x, target], [net.tensor((1, 4, 6))]))
    assert types(result)[-1] == "RESHAPE"
