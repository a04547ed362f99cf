"""Test elementwise operators against TFLM: tables over all bytes, and two operands in odd shapes."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from models import Affine, Net
from numpy.typing import NDArray
from property.oracle import assert_same_bytes, rewrite
from tflm.test_operators import EVERY, EXAMPLES, activations, affines, assert_equal, oracle, zero_points

from tflm_memopt.model.graph import Op, Quantization
from tflm_memopt.ops import lookup
from tflm_memopt.ops.elementwise import ARITHMETIC
from tflm_memopt.plan.plan import Builtin

TABLES = examples(75)
"""Number of random scales and zero points per operator."""


def unary(kind: str, source: Affine, target: Affine, alpha: float) -> bytes:
    net = Net()
    options = schema.LeakyReluOptionsT(alpha=alpha) if kind == "LEAKY_RELU" else None
    return net.model(net.unary(kind, net.input(EVERY.shape, source), out=target, options=options))


def table(kind: str, source: Affine, target: Affine, alpha: float) -> NDArray[np.int8]:
    a, b = (Quantization((scale,), (zero_point,)) for scale, zero_point in (source, target))
    return lookup.table(Op(0, kind, (), (), {"alpha": alpha}), a, b)


def scale(rng: np.random.Generator, low: float = -9, high: float = 1) -> float:
    return float(np.float32(2.0 ** rng.uniform(low, high)))


@pytest.mark.parametrize("kind", sorted(lookup.TABLES))
def test_tables_over_all_bytes(kind: str) -> None:
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(TABLES):
        (a, b), zeros = (
            (scale(rng, high=5 if kind in ("LOGISTIC", "TANH") else 1), scale(rng)),
            rng.integers(-128, 128, 2).tolist(),
        )
        source, target = (a, zeros[0]), (a if rng.random() < 0.1 else b, zeros[1])
        if kind == "LOGISTIC":
            target = (1 / 256, -128)
        elif kind == "RSQRT":
            source = (a, -128)
        alpha = float(np.float32(rng.uniform(-0.2, 1.5)))
        try:
            expected = table(kind, source, target, alpha)
        except lookup.OutOfRange:
            continue
        (got,) = oracle(unary(kind, source, target, alpha), [EVERY])
        np.testing.assert_array_equal(expected, got[0], f"{kind}, {source} to {target}, alpha {alpha}")
        compared += 1
    assert compared > TABLES * 0.9


@pytest.mark.parametrize("kind", sorted(lookup.TABLES))
@pytest.mark.parametrize("shape", [(1, 4, 3, 2), (1, 7), (3, 5)])
def test_tables_in_programs(kind: str, shape: tuple[int, ...]) -> None:
    net, target = Net(), (1 / 256, -128) if kind == "LOGISTIC" else (0.07, 11)
    options = schema.LeakyReluOptionsT(alpha=0.3) if kind == "LEAKY_RELU" else None
    zero_point = -128 if kind == "RSQRT" else -3
    assert_equal(net.model(net.unary(kind, net.input(shape, (0.05, zero_point)), out=target, options=options)))


# ---- two operands ----

images = st.tuples(st.just(1), st.integers(1, 5), st.integers(1, 4), st.integers(1, 5))
PARTS = [(1, 2, 3), (1,), (2,), (3,), (1, 2), (2, 3), (1, 3), ()]
"""Dimensions in which an operand is as large as the output."""


@EXAMPLES
@given(kind=st.sampled_from(sorted(ARITHMETIC)), shape=images, parts=st.tuples(*[st.sampled_from(PARTS)] * 2),
       constant=st.sampled_from([None, 0, 1]), short=st.booleans(), activation=activations, a=affines, b=affines,
       ratio=st.floats(2**-5, 32, width=32), zero_point=zero_points, seed=st.integers(0, 99))  # fmt: skip
def test_two_operands(
    kind: str, shape: tuple[int, ...], parts: tuple[tuple[int, ...], ...], constant: int | None, short: bool,
    activation: str, a: Affine, b: Affine, ratio: float, zero_point: int, seed: int,
) -> None:  # fmt: skip
    rng, net, operands = np.random.default_rng(seed), Net(), []
    for k, (part, affine) in enumerate(zip(parts, (a, b), strict=True)):
        size = tuple(d if i in part else 1 for i, d in enumerate(shape))
        size = size[min((i for i in range(1, 4) if size[i] > 1), default=3) :] if short else size
        data = rng.integers(-128, 128, size) if k == constant else None
        operands.append(net.input(size, affine) if data is None else net.tensor(size, affine=affine, data=data))
    wanted = {
        "MUL": a[0] * b[0] * 60,
        "PRELU": a[0] * max(1.0, b[0] * 60),
        "SQUARED_DIFFERENCE": max(a[0], b[0]) ** 2 * 99,
    }
    out = (float(np.float32(wanted.get(kind, max(a[0], b[0])) * ratio)), zero_point)
    assert_equal(net.model(net.binary(kind, *operands, activation=activation, out=out)))


def test_a_layer_norm_of_tokens_keeps_the_rows_of_the_image() -> None:
    """The tokens are a view of an image, so that no tensor between the convolutions is kept whole."""
    net = Net(1)
    x = net.conv2d(net.input((1, 16, 16, 3)), 24, kernel=(3, 3), stride=(2, 2))
    x = net.reshape(x, (1, 64, 24))
    mean = net.mean(x, (2,))
    spread = net.binary("SQUARED_DIFFERENCE", x, mean, out=(0.2, -128))
    scale = net.unary("RSQRT", net.mean(spread, (2,), out=(0.05, -128)), out=(0.05, -128))
    gamma = net.tensor((24,), affine=(0.02, 3), data=range(-12, 12))
    scale = net.binary("MUL", scale, gamma, out=(0.02, 0))
    x, mean = (net.binary("MUL", t, scale, out=(0.05, 0)) for t in (x, mean))
    y = net.reshape(net.binary("SUB", x, mean, out=(0.1, 0)), (1, 8, 8, 24))
    data = net.model(net.conv2d(y, 4, kernel=(3, 3)))
    made = rewrite(data)
    assert made[1].plan.head < 2000  # the input takes 768 B
    assert_same_bytes(data, made[0])


@pytest.mark.parametrize("groups", [1, 4, 8])
def test_a_group_norm_keeps_only_its_image_whole(groups: int) -> None:
    net = Net(1)
    x = net.conv2d(net.input((1, 24, 24, 1)), 8, kernel=(3, 3))
    y = net.reshape(x, (1, 24, 24, groups, 8 // groups))
    mean = net.mean(y, (1, 2, 4))
    spread = net.binary("SQUARED_DIFFERENCE", y, mean, out=(0.2, -128))
    scale = net.unary("RSQRT", net.mean(spread, (1, 2, 4), out=(0.05, -128)), out=(0.05, -128))
    y = net.binary("MUL", net.binary("SUB", y, mean, out=(0.1, 0)), scale, out=(0.05, 0))
    gamma = net.tensor(
        (1, 1, 1, *net.shape(y)[3:]), affine=(0.02, 3), data=np.arange(-4, 4).reshape(1, 1, 1, groups, -1)
    )
    y = net.reshape(net.binary("MUL", y, gamma, out=(0.05, 0)), (1, 24, 24, 8))
    data = net.model(net.conv2d(y, 4, kernel=(3, 3), stride=(2, 2)))
    made = rewrite(data)
    assert not [step for step in made[1].plan.steps if isinstance(step, Builtin)]
    assert made[1].plan.head < 1.5 * 24 * 24 * 8
    assert_same_bytes(data, made[0])
