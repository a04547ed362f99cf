"""Attention with several heads runs row by row, however long its sequences are."""

from __future__ import annotations

from models import Net
from property.floats import examine_float
from property.layers import Layer
from property.networks import Recipe

import tflm_memopt
from tflm_memopt.convert.pipeline import ConversionOptions


def attention(tokens: int, heads: int, *, late: bool) -> bytes:
    """Return a network of the kind that Keras' MultiHeadAttention makes. With `late`, the values are computed last."""
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


def test_products_read_the_left_matrix_first() -> None:
    """Demanding rows of the right matrix first would need the fewest bytes, but no kernel supports this."""
    layers = (
        Layer("attention", channels=1, kernel=(1, 1), flag=False),
        Layer("attention", other=1, kernel=(4, 1), flag=False),
    )
    assert examine_float(Recipe(((1, 2, 1),), layers, seed=1), ConversionOptions("group", seconds=0, effort=1.0))


def test_no_matrix_of_scores_is_whole() -> None:
    """The values are needed as a whole, so that the values are computed before the scores."""
    assert tflm_memopt.optimize(attention(48, 2, late=True)).report.arena.head < 48 * 48 * 2
