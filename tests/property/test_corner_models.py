"""Hand-made networks that random draws rarely produce, under the official TFLM wheel; some once showed a defect."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import reduce
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import thinned
from models import DEFAULT, Net
from moving import concatenation, slice_, split
from property.oracle import assert_arena_as_predicted, assert_same_bytes, convert
from unit.analysis.arena_zoo import ZOO, with_subgraphs

import tflm_memopt
from tflm_memopt.convert.annotation import CONSTANT_INPUT, DYNAMIC, SEVERAL_SUBGRAPHS, LeftWhole
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.tflm.choices import KERNELS, Kernels

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

Build = Callable[[Net], bytes]
CORNERS: list[Any] = []


def corner(build: Build, *marks: pytest.MarkDecorator) -> Build:
    CORNERS.append(pytest.param(build, id=build.__name__, marks=marks))
    return build


def slow_corner(build: Build) -> Build:
    return corner(build, pytest.mark.slow)


@pytest.mark.parametrize("op_per_group", thinned([False, True], 1), ids=["region", "group"])
@pytest.mark.parametrize("build", CORNERS)
def test_corner(build: Callable[[Net], bytes], op_per_group: bool) -> None:
    data = build(Net(seed=1))
    converted = convert(data, ConversionOptions("group" if op_per_group else "region", seconds=0.2, effort=0.05))
    assert converted is not None
    assert_arena_as_predicted(converted[0], assert_same_bytes(data, converted[0]))


# ---- contents of tensors ----


@corner
def biases_scaled_along_a_dimension_that_they_lack(net: Net) -> bytes:
    """Converters of 2020 gave a depthwise bias its filter's dimension, as in TFLM's person_detect.tflite."""
    y = net.depthwise_conv2d(net.conv2d(net.input((1, 18, 14, 3)), 8, kernel=(3, 3)))
    for op in net.graph.operators:
        _, filter_, bias = (net.graph.tensors[t].quantization for t in op.inputs)
        bias.scale, bias.zeroPoint = filter_.scale * net.affine(op.inputs[0])[0], filter_.zeroPoint
        bias.quantizedDimension = 3
    return net.model(y)


@pytest.mark.parametrize(("name", "kernels"), thinned(zip(ZOO, cycle(KERNELS), strict=False), 20))
def test_models_of_every_sort(name: str, kernels: Kernels) -> None:
    """A model shrinks and stays bit-exact, or stays unchanged with a reason.

    The rewritten model never takes more memory than the original, including the scratch of builtin operators.
    """
    data = ZOO[name]()
    done = tflm_memopt.optimize(data, seconds=0.1, kernels=kernels)
    assert done.report.arena.total <= done.report.original_arena.total
    if done.report.changed:
        assert_same_bytes(data, done.model)
    else:
        assert done.model == data
        assert done.report.why_unchanged
    assert done.report.changed or name not in ("network", "branches", "unused_tensors")


def a_call_once(net: Net) -> bytes:
    x = net.input((1, 8, 8, 4))
    net.op("CALL_ONCE", [], [x], schema.CallOnceOptionsT(initSubgraphIndex=1))
    net.graph.operators[-1].outputs = []
    return with_subgraphs(net, net.conv2d(x, 4), lambda: net.unary("RELU", net.input((1, 4))))


def a_size_that_is_known_when_it_runs(net: Net) -> bytes:
    y = net.normalized(net.conv2d(net.input((1, 8, 8, 2)), 4))
    net.graph.tensors[y].shape = np.array([1, -1, 8, 4], np.int32)
    return net.model(y)


def an_input_that_is_a_constant(net: Net) -> bytes:
    constant = net.tensor((1, 4, 4, 2), data=np.zeros((1, 4, 4, 2)))
    net.graph.inputs.append(constant)
    return net.model(net.conv2d(net.input((1, 4, 4, 2)), 2), net.normalized(net.conv2d(constant, 2)))


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda _: ZOO["if"](), SEVERAL_SUBGRAPHS),
        (lambda _: ZOO["while"](), SEVERAL_SUBGRAPHS),
        (a_call_once, SEVERAL_SUBGRAPHS),
        (a_size_that_is_known_when_it_runs, DYNAMIC),
        (an_input_that_is_a_constant, CONSTANT_INPUT),
    ],
    ids=["if", "while", "call once", "dynamic", "constant input"],
)
def test_left_whole(build: Build, why: LeftWhole) -> None:
    data = build(Net(seed=1))
    done = tflm_memopt.optimize(data)
    assert (done.model, done.report.changed, done.report.why_unchanged) == (data, False, str(why))


# ---- inputs and outputs ----


@corner
def two_layers_with_the_same_weights(net: Net) -> bytes:
    """Two operators read one filter and one bias. A third one reads a copy of the filter tensor in the same buffer."""
    x = net.conv2d(net.input((1, 8, 8, 4)), 4, kernel=(3, 3), out=DEFAULT)
    first = net.graph.operators[-1]
    options = schema.Conv2DOptionsT(strideH=1, strideW=1)
    y = net.op("CONV_2D", [x, *first.inputs[1:]], [net.tensor((1, 8, 8, 4))], options)
    twin = copy(net.graph.tensors[first.inputs[1]])
    twin.name = "twin"
    net.graph.tensors.append(twin)
    z = net.op("CONV_2D", [y, len(net.graph.tensors) - 1, first.inputs[2]], [net.tensor((1, 8, 8, 4))], options)
    return net.model(z, y)


@slow_corner
def more_outputs_than_an_operator_takes(net: Net) -> bytes:
    x = net.conv2d(net.input((1, 16, 16, 4)), 4)
    return net.model(*(net.conv2d(x, 4, kernel=(3, 3), stride=(4, 4)) for _ in range(MAX_IO + 4)))


@slow_corner
def more_tensors_between_two_groups_than_an_operator_takes(net: Net) -> bytes:
    x = net.conv2d(net.input((1, 8, 8, 4)), 4)
    heads = [net.conv2d(x, 4, kernel=(3, 3), stride=(4, 4), out=(0.1, k)) for k in range(MAX_IO + 2)]
    return net.model(reduce(lambda a, b: net.add(a, b, out=(0.2, 0)), heads))


# ---- views ----


@corner
def a_chain_of_views_with_names_that_are_wanted(net: Net) -> bytes:
    flat = net.reshape(net.conv2d(net.input((1, 8, 8, 4)), 4), (1, 256))
    image = net.reshape(flat, (1, 16, 16, 1))
    return net.model(image, net.conv2d(image, 2), flat)


@corner
def a_view_of_an_input_that_is_an_output(net: Net) -> bytes:
    image = net.reshape(net.input((1, 64)), (1, 8, 8, 1))
    return net.model(net.conv2d(image, 3, kernel=(3, 3)), image)


@corner
def a_squeezed_image_read_pixel_by_pixel(net: Net) -> bytes:
    y = net.conv2d(net.input((1, 8, 1, 4)), 4)
    flat = net.op(
        "SQUEEZE", [y], [net.tensor((8, 4), affine=net.affine(y))], schema.SqueezeOptionsT(squeezeDims=[0, 2])
    )
    return net.model(net.fully_connected(flat, 3, batches=8))


# ---- rewrites ----


@corner
def a_transposed_map_that_is_also_an_output(net: Net) -> bytes:
    """The mean must not be moved before the transposition, which must stay."""
    x = net.transpose(net.conv2d(net.input((1, 14, 6, 4)), 5, kernel=(3, 3)), (0, 3, 1, 2))
    y = net.mean(x, (2,), keep=False, out=(0.07, 1))
    return net.model(x, net.mean(y, (2,), keep=False))


# ---- windows ----


@corner
def a_window_higher_than_a_kernel_takes(net: Net) -> bytes:
    return net.model(net.conv2d(net.input((1, 100, 4, 2)), 4, kernel=(100, 4), padding="VALID"))


# ---- builtin operators ----


@corner
def a_path_around_a_builtin_operator(net: Net) -> bytes:
    x = net.conv2d(net.input((1, 9, 9, 4)), 4, kernel=(3, 3))
    gate = net.normalized(x)
    y = net.add_n(gate, net.conv2d(x, 4, out=net.affine(gate)))
    return net.model(net.conv2d(y, 3), x)


@corner
def a_variable_that_is_an_output(net: Net) -> bytes:
    x, state = net.input((1, 4)), net.tensor((1, 4))
    net.graph.tensors[state].isVariable = True
    y = net.op("MUL", [x, state], [net.tensor((1, 4))], schema.MulOptionsT())
    return net.model(net.fully_connected(y, 3), state)


# ---- data movement ----


@slow_corner
def a_concatenation_of_ten(net: Net) -> bytes:
    """Our operator cannot have ten operands. With one operator per group, TFLM places tensors between groups."""
    x = net.conv2d(net.input((1, 8, 7, 3)), 10, kernel=(3, 3))
    return net.model(net.conv2d(concatenation(net, split(net, x, 3, 10)[::-1], 3), 4))


@corner
def only_the_last_row_is_wanted(net: Net) -> bytes:
    """The rows before the last one are written over bytes that no operator reads any more."""
    x = net.conv2d(net.conv2d(net.input((1, 9, 9, 6)), 6, kernel=(3, 3)), 6)
    return net.model(slice_(net, x, [0, 8, 0, 0], [1, 1, -1, -1]))
