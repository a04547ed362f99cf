"""Test elementwise operators against TFLM: tables over all bytes, two operands in odd shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from models import Affine, Net
from numpy.typing import NDArray
from property.oracle import assert_same_bytes, convert
from tflm.test_operators import EVERY, EXAMPLES, activations, affines, assert_equal, oracle, zero_points

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.graph import Op, Quantization
from tflm_memopt.model.reader import read
from tflm_memopt.ops import lookup, quant
from tflm_memopt.ops.elementwise import ARITHMETIC
from tflm_memopt.plan.plan import Builtin

TABLES = examples(75)
"""Random scales and zero points per operator."""


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
    assert_equal(net.model(net.unary(kind, net.input(shape, (0.05, -3)), out=target, options=options)))


def float32_multipliers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute as TFLM's source of August 2026 does; the wheel does not."""

    def single(real: float, *, exactly: Any = quant.quantize_multiplier) -> quant.Multiplier:
        multiplier: quant.Multiplier = exactly(float(np.float32(real)))
        return multiplier

    monkeypatch.setattr(quant, "quantize_multiplier", single)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ABS", "LEAKY_RELU", "HARD_SWISH"])
def test_ties(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For these scales, a byte shows that factors are computed in double."""
    rng = np.random.default_rng(5)
    zero_point = {"LEAKY_RELU": 127, "HARD_SWISH": 0}.get(kind, -128)
    cases = [
        ((scale(rng, -3, 0), zero_point), (scale(rng, -3, 0), zero_point), scale(rng, -3, 0)) for _ in range(20000)
    ]
    decisive = []
    for case in cases:
        with monkeypatch.context() as patch:
            exact = lookup_or_none(kind, *case)
            float32_multipliers(patch)
            if exact is not None and not np.array_equal(exact, table(kind, *case)):
                decisive.append((case, exact))
    assert decisive, "scales that decide nothing"
    for case, exact in decisive:
        np.testing.assert_array_equal(oracle(unary(kind, *case), [EVERY])[0][0], exact, str(case))


def lookup_or_none(kind: str, source: Affine, target: Affine, alpha: float) -> NDArray[np.int8] | None:
    try:
        return table(kind, source, target, alpha)
    except lookup.OutOfRange:
        return None


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


def test_gelu_in_tflite_s_composition() -> None:
    """The TANH approximation: all its multiplications, additions and constants are in one region."""
    net = Net(3)
    x = net.conv2d(net.input((1, 6, 5, 3)), 4, kernel=(3, 3), out=(0.05, 3))

    def constant(value: float) -> int:
        return net.tensor((1,), affine=(value / 100, 0), data=[100])

    cube = net.binary("MUL", net.binary("MUL", x, x, out=(0.15, -128)), x, out=(1.5, 2))
    inner = net.binary("ADD", x, net.binary("MUL", cube, constant(0.044715), out=(0.07, 1)), out=(0.1, 2))
    scaled = net.binary("MUL", inner, constant(0.7978845608), out=(0.08, 2))
    gate = net.binary("ADD", net.unary("TANH", scaled, out=(1 / 128, 0)), constant(1.0), out=(2 / 255, -128))
    y = net.binary("MUL", net.binary("MUL", x, constant(0.5), out=(0.025, 3)), gate, out=(0.03, -100))
    data = net.model(net.conv2d(y, 2))
    new, planned = convert(data, ConversionOptions(tiles=None, seconds=0.2)) or (b"", None)
    assert planned is not None and not any(isinstance(step, Builtin) for step in planned.plan.steps)
    assert [op.type for op in read(new).graph.ops] == ["CUSTOM"]
    assert_same_bytes(data, new)
