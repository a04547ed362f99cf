"""Attention with several heads runs row by row, however long its sequences are."""

from __future__ import annotations

import numpy as np
import pytest
from models import Net
from property.floats import examine_float, in_float, inputs_of, same_floats
from property.layers import Layer
from property.networks import Recipe
from property.oracle import assert_same_bytes, original, rewrite_whole, rewritten, run

import tflm_memopt
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.reader import read


def attention(tokens: int, heads: int, *, late: bool) -> bytes:
    """Return a network of the kind that Keras' MultiHeadAttention makes. late: whether the values are computed last."""
    net, depth = Net(3), 8
    x = net.input((1, tokens, 12), (0.02, 0))

    def projected(order: tuple[int, ...]) -> int:
        y = net.reshape(net.conv2d(net.reshape(x, (1, 1, tokens, 12)), heads * depth), (1, tokens, heads, depth))
        return net.transpose(y, order)

    values = -1 if late else projected((0, 2, 1, 3))
    scores = net.batch_matmul(projected((0, 2, 1, 3)), projected((0, 2, 3, 1)), adjoint=False, out=(0.05, 0))
    scale = net.tensor((), affine=(0.01, 0), data=[35])
    scores = net.softmax(net.binary("MUL", scores, scale, out=(0.02, 0)))
    y = net.batch_matmul(scores, values if values >= 0 else projected((0, 2, 1, 3)), adjoint=False, out=(0.02, 3))
    y = net.reshape(net.transpose(y, (0, 2, 1, 3)), (1, 1, tokens, heads * depth))
    return net.model(net.conv2d(y, 12))


@pytest.mark.parametrize(("tokens", "heads", "late"), [(20, 1, True), (24, 4, True), (66, 2, False), (130, 4, True)])
def test_heads(tokens: int, heads: int, late: bool) -> None:
    data = attention(tokens, heads, late=late)
    assert_same_bytes(data, rewrite_whole(data))


def test_products_read_the_left_matrix_first() -> None:
    """Demanding rows of the right matrix first would need the fewest bytes, but no kernel supports this."""
    layers = (
        Layer("attention", channels=1, kernel=(1, 1), flag=False),
        Layer("attention", other=1, kernel=(4, 1), flag=False),
    )
    assert examine_float(Recipe(((1, 2, 1),), layers, seed=1), ConversionOptions("group", seconds=0, effort=1.0))


def test_no_matrix_of_scores_is_whole() -> None:
    """The values are needed whole, so that they are computed before the scores."""
    assert tflm_memopt.optimize(attention(48, 2, late=True)).report.arena.head < 48 * 48 * 2


def test_heads_of_float32() -> None:
    data = in_float(attention(40, 2, late=True), 1)
    before, after = original(data), rewritten(rewrite_whole(data))
    for inputs in inputs_of(data, 1):
        same_floats(run(before, inputs, 1)[0], run(after, inputs, 1)[0], "attention")


@pytest.mark.parametrize("dtype", ["INT8", "INT16", "FLOAT32"])
@pytest.mark.parametrize(("channels", "outputs", "groups"), [(8, 12, 4), (6, 6, 2), (4, 8, 4)])
def test_convolutions_with_groups(dtype: str, channels: int, outputs: int, groups: int) -> None:
    net = Net(1, activations="INT16" if dtype == "INT16" else "INT8")
    x = net.input((1, 7, 6, channels))
    data = net.model(net.conv2d(x, outputs, kernel=(3, 3), stride=(2, 1), groups=groups, activation="RELU"))
    data = in_float(data, 1) if dtype == "FLOAT32" else data
    new = rewrite_whole(data)
    before, after = original(data), rewritten(new)
    rng = np.random.default_rng(0)
    for _ in range(3):
        x_ = rng.integers(-128, 128, (1, 7, 6, channels)).astype(dtype.lower())
        np.testing.assert_array_equal(run(before, [x_], 1)[0], run(after, [x_], 1)[0])
    assert read(new).graph.ops[0].options["custom_code"] == "TMO_REGION"


@pytest.mark.parametrize("dtype", ["INT8", "INT16", "FLOAT32"])
@pytest.mark.parametrize("tokens", [9, 70])
def test_linear_attention(dtype: str, tokens: int) -> None:
    """The keys are transposed within the product."""
    net = Net(2, activations="INT16" if dtype == "INT16" else "INT8")
    x = net.input((1, 1, tokens, 4))
    q, k, v = (net.reshape(net.conv2d(x, 8), (1, tokens, 8)) for _ in range(3))
    context = net.batch_matmul(k, v, adjoint=False, adj_x=True, out=(0.2, 2))
    data = net.model(net.batch_matmul(q, context, adjoint=False, out=(0.5, 0)))
    data = in_float(data, 1) if dtype == "FLOAT32" else data
    assert_same_bytes(data, rewrite_whole(data))
