"""The tables of element-wise operators give TFLM's output for each of the 256 possible input bytes."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import examples
from models import Affine, Net
from numpy.typing import NDArray
from property.oracle import assert_same_bytes, rewrite_whole
from tflm.test_operators import EVERY, oracle

from tflm_memopt.model.graph import Op, Quantization
from tflm_memopt.ops import lookup

TABLES = examples(75)


def unary(kind: str, source: Affine, target: Affine, alpha: float) -> bytes:
    net = Net()
    options = schema.LeakyReluOptionsT(alpha=alpha) if kind == "LEAKY_RELU" else None
    return net.model(net.unary(kind, net.input(EVERY.shape, source), out=target, options=options))


def table(kind: str, source: Affine, target: Affine, alpha: float) -> NDArray[np.int8]:
    a, b = (Quantization((scale,), (zero_point,)) for scale, zero_point in (source, target))
    return lookup.table(Op(0, kind, (), (), {"alpha": alpha} if kind == "LEAKY_RELU" else {}), a, b)


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


def test_roots_that_tflm_shifts_by_over_31_bits_stay_builtin() -> None:
    with pytest.raises(lookup.OutOfRange, match="31 bits"):
        table("RSQRT", (306.0, -128), (306.0, 3), 0)


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_curves_of_tiny_inputs_stay_builtin(kind: str) -> None:
    """With a tiny input scale, LOGISTIC and TANH stay builtin, because a fixed-point value of TFLM overflows int32."""
    with pytest.raises(lookup.OutOfRange):
        table(kind, (2.0**-29, 4), (1 / 256, -128), 0)


def test_a_relu_that_overflows() -> None:
    source, target = (2.0**25, 5), (1.0, -9)
    (got,) = oracle(unary("RELU", source, target, 0), [EVERY])
    np.testing.assert_array_equal(table("RELU", source, target, 0), got[0])


@pytest.mark.parametrize("kind", ["MAXIMUM", "MINIMUM"])
def test_extremes_of_int16(kind: str) -> None:
    net = Net(3, activations="INT16")
    x, y = (net.conv2d(net.input((1, 9, 6, 4)), 5, kernel=(3, 3)) for _ in range(2))
    column = net.tensor((1, 9, 1, 1), "INT16", (0.05, 0), data=net.rng.integers(-(1 << 15), 1 << 15, (1, 9, 1, 1)))
    y = net.binary(kind, column, net.binary(kind, x, y))
    data = net.model(net.binary(kind, y, net.mean(y, (1, 2))))
    assert_same_bytes(data, rewrite_whole(data))
