"""Test rewrite rules: their results and the text of their refusals. tests/tflm proves equal numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from moving import computed_shape, reshape_by

from tflm_memopt.model.graph import VIEW
from tflm_memopt.model.reader import read
from tflm_memopt.ops.context import EXPLICIT_PADDING
from tflm_memopt.rewrite.canonicalise import Canonical, canonicalise, views

SPATIAL = [(0, 0), (1, 1), (2, 0), (0, 0)]


def canonical(net: Net, *outputs: int) -> Canonical:
    return canonicalise(read(net.model(*outputs)).graph)


def types(result: Canonical) -> list[str]:
    return [op.type for op in result.graph.ops]


def padded(net: Net, **options: int) -> int:
    return net.pad(net.input((1, 4, 5, 2)), SPATIAL, **options)


def test_pad_goes_into_each_convolution_that_reads_it() -> None:
    net = Net()
    x = padded(net)
    result = canonical(net, net.conv2d(x, 3, kernel=(3, 3), padding="VALID"), net.depthwise_conv2d(x, kernel=(4, 4)))
    assert types(result) == ["CONV_2D", "DEPTHWISE_CONV_2D"]
    conv, depthwise = result.graph.ops
    assert (conv.inputs[0], conv.options[EXPLICIT_PADDING], conv.stands_for) == (0, (1, 1, 2, 0), (0, 1))
    # 1 row before and 2 after
    assert (depthwise.options[EXPLICIT_PADDING], depthwise.stands_for) == ((2, 3, 3, 2), (0, 2))
    assert not result.refusals


def test_a_convolution_with_a_group_for_each_channel_is_depthwise() -> None:
    net = Net()
    x = net.pad(net.input((1, 6, 5, 3)), SPATIAL)
    result = canonical(net, net.conv2d(x, 6, kernel=(3, 3), stride=(2, 1), padding="VALID", groups=3))
    (op,) = result.graph.ops
    filter_ = result.graph.tensors[op.inputs[1]]
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


PAD_REFUSALS: dict[str, tuple[Callable[[Net], tuple[int, ...]], str]] = {
    "value": (_other_value, "its value is 0, not the zero point"),
    "channels": (_channels, "it pads more than height and width"),
    "output": (_output, "its output is an output of the model"),
    "reader": (_other_reader, "operator 2 RELU also reads it"),
    "scale": (_other_scale, "it changes scale or zero point"),
    "padding": (
        _only_padding,
        (
            "operator 1 CONV_2D stays builtin: Its numbers must be within the executor's limits "
            "(custom_ops/src/tmo_check_kind.c): a window lies wholly in the padding"
        ),
    ),
    "groups": (
        _grouped,
        (
            "operator 1 CONV_2D stays builtin: The filter must read all input channels (no groups) and produce all "
            "output channels: filter [3, 3, 3, 1], 2 input and 3 output channels"
        ),
    ),
    "amounts": (_run_time_amounts, "its paddings are not constant, or not four pairs"),
}


@pytest.mark.parametrize("case", PAD_REFUSALS)
def test_a_pad_that_stays(case: str) -> None:
    build, reason = PAD_REFUSALS[case]
    net = Net()
    result = canonical(net, *build(net))
    assert types(result)[0].startswith("PAD")
    (refusal,) = result.refusals
    assert (refusal.rule, refusal.reason) == ("fold-pad", reason)
    assert refusal.where.startswith("operator 0 PAD")


@pytest.mark.parametrize("kind", ["RESHAPE", "SQUEEZE", "EXPAND_DIMS"])
def test_a_change_of_shape_is_a_view(kind: str) -> None:
    net = Net()
    x = net.input((1, 2, 3, 4))
    if kind == "RESHAPE":
        y = net.reshape(x, (1, 24))
    elif kind == "SQUEEZE":
        y = net.op(kind, [x], [net.tensor((2, 3, 4))], schema.SqueezeOptionsT(squeezeDims=np.array([0], np.int32)))
    else:
        y = net.op(kind, [x, net.tensor((), "INT32", None, data=0)], [net.tensor((1, 1, 2, 3, 4))])
    z = net.reshape(y, (1, 6, 4))
    result = canonical(net, z)
    assert types(result) == [VIEW, VIEW]
    assert [op.stands_for for op in result.graph.ops] == [(0,), (1,)]
    assert views(result.graph) == {y: x, z: x}


@pytest.mark.parametrize("form", [0, 1, 2])
def test_a_shape_computed_from_shapes_is_a_constant(form: int) -> None:
    net = Net()
    x = net.input((1, 2, 3, 4))
    y = reshape_by(net, x, computed_shape(net, x, (1, 6, 4), form=form), (1, 6, 4))
    result = canonical(net, net.unary("RELU", y))
    assert types(result) == [VIEW, "RELU"]
    assert views(result.graph) == {y: x}


def test_what_an_output_of_the_model_is_computed_from_stays() -> None:
    net = Net()
    x = net.input((1, 2, 3, 4))
    target = computed_shape(net, x, (1, 6, 4))
    result = canonical(net, reshape_by(net, x, target, (1, 6, 4)), target)
    assert types(result) == ["SHAPE", "STRIDED_SLICE", "PACK", VIEW]


def test_a_transpose_whose_result_is_wanted_is_no_match() -> None:
    net = Net()
    x = net.transpose(net.input((1, 3, 5, 7)), (0, 3, 1, 2))
    assert types(canonical(net, net.mean(x, (2, 3)), x)) == ["TRANSPOSE", "MEAN"]


def _doubled(net: Net, x: int, options: object) -> int:
    shape = net.op("SHAPE", [x], [net.tensor((3,), "INT32", None)])
    return net.op("ADD", [shape, shape], [net.tensor((3,), "INT32", None)], options)


@pytest.mark.parametrize("case", ["activation", "dynamic", "data", "too large", "missing"])
def test_integers_that_are_not_known(case: str) -> None:
    net = Net()
    x = net.input((1, 6, 4))
    if case == "activation":  # TFLM clamps
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


def test_transposed_means_that_stay() -> None:
    net = Net()
    only_width = net.mean(net.transpose(net.input((2, 3, 5, 7)), (0, 3, 1, 2)), (3,))
    of_channels = net.mean(net.transpose(net.input((2, 3, 5, 7)), (0, 3, 1, 2)), (1, 2, 3))
    other_shape = net.transpose(net.input((2, 3, 5, 7)), (0, 3, 1, 2))
    net.graph.tensors[other_shape].shape = [2, 5, 3, 7]
    of_it = net.mean(other_shape, (2, 3))
    one_more = net.mean(net.transpose(net.input((1, 3, 5, 7)), (0, 3, 1, 2)), (2, 3))
    net.graph.tensors[one_more].shape = [1, 7, 2]
    result = canonical(net, only_width, of_channels, of_it, one_more)
    assert types(result) == ["TRANSPOSE", "MEAN"] * 4
    assert [r.reason for r in result.refusals] == ["they are not a mean over height and width, each once"] * 4


def test_views_that_stay() -> None:
    net = Net()
    wide = net.reshape(net.input((1, 4), None, dtype="INT64"), (4,))
    net.graph.tensors[wide].type = schema.TensorType.INT64
    larger = net.op("RESHAPE", [net.input((1, 4))], [net.tensor((1, 5))], schema.ReshapeOptionsT())
    by_input = net.op("RESHAPE", [net.input((1, 4)), net.input((1,), None, dtype="INT32")], [net.tensor((4,))])
    result = canonical(net, wide, larger, by_input)
    assert types(result) == ["RESHAPE"] * 3
    assert [r.reason for r in result.refusals] == [
        "tensor 0 'input0' is INT64",
        "[1, 4] and [1, 5] have different sizes",
        "the shape is computed at run time",
    ]
