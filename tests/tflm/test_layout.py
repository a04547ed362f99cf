"""The converter removes the transpositions from PyTorch's networks, and changes no output byte."""

from collections.abc import Callable

import pytest
from conftest import examples
from hypothesis import HealthCheck, given, settings
from models import Net
from moving import concatenation
from property import oracle
from property.networks import Recipe, recipes
from property.test_random_models import examine

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.canonicalise import canonicalise

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)
PADDING = [(0, 0), (0, 0), (1, 1), (1, 1)]


def planes(net: Net, x: int, channels: int) -> int:
    x = net.transpose(net.pad(x, PADDING), LAST)
    y = net.conv2d(x, channels, kernel=(3, 3), padding="VALID")
    return net.transpose(y, FIRST)


def residual(activations: str) -> bytes:
    net = Net(activations=activations)
    x = planes(net, net.input((1, 3, 32, 30)), 8)
    x = net.add(x, planes(net, planes(net, x, 8), 8))
    x = net.unary("RELU", x, dtype=activations, out=net.affine(x))
    return net.model(net.mean(net.transpose(x, LAST), (1, 2)))


def joined(activations: str) -> bytes:
    net = Net(activations=activations)
    x = planes(net, net.input((1, 3, 32, 30)), 8)
    both = concatenation(net, [x, x], 1)
    return net.model(net.mean(net.transpose(planes(net, both, 4), LAST), (1, 2)))


def squeezed(activations: str) -> bytes:
    net = Net(activations=activations)
    x = planes(net, net.input((1, 3, 32, 30)), 8)
    gate = net.unary("RELU", net.mean(x, (2, 3)), dtype=activations, out=net.affine(x))
    return net.model(net.mean(net.binary("MUL", x, gate), (2, 3), keep=False))


@pytest.mark.parametrize("activations", ["INT8", "INT16"])
@pytest.mark.parametrize("build", [residual, joined, squeezed])
def test_only_the_input_is_transposed(build: Callable[[str], bytes], activations: str) -> None:
    data = build(activations)
    graph = canonicalise(read(data).graph)
    assert [op.index for op in graph.ops if op.type in ("TRANSPOSE", "PAD")] == [graph.ops[0].index]
    result = tflm_memopt.optimize(data, effort=0.05)
    item = 2 if activations == "INT16" else 1
    assert result.report.arena.total < item * 32 * 30 * 9
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact
    oracle.assert_arena_as_predicted(result.model)


def test_a_transposition_that_stays() -> None:
    net = Net()
    x = net.input((1, 9, 8, 6))
    y = net.add(net.conv2d(x, 6), x)
    graph = read(net.model(net.conv2d(net.transpose(y, LAST), 4))).graph
    assert [op.index for op in canonicalise(graph).ops if op.type == "TRANSPOSE"] == [2]


@pytest.mark.slow
@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(recipes(sets=(("channels first", "channels first", "conv", "depthwise", "add", "slice", "masked", "columns"),)))
def test_random_networks(recipe: Recipe) -> None:
    examine(recipe)
