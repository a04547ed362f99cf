"""Operators of int16 that compute element by element, against the oracle: repeated, constant, of all scales."""

from __future__ import annotations

import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Net
from tflm.test_operators import activations, assert_equal

from tflm_memopt.model.reader import read
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import to_row_ops

EXAMPLES = settings(max_examples=examples(40), deadline=None)
images = st.tuples(st.just(1), st.integers(1, 5), st.integers(1, 4), st.integers(1, 5))
scales = st.floats(2**-12, 2**-2, width=32)
PARTS = [(1, 2, 3), (1,), (2,), (3,), (1, 2), (2, 3), (1, 3), ()]
"""Dimensions in which an operand is as large as the output."""


@EXAMPLES
@given(kind=st.sampled_from(["ADD", "SUB"]), shape=images, parts=st.tuples(*[st.sampled_from(PARTS)] * 2),
       constant=st.sampled_from([None, 0, 1]), short=st.booleans(), activation=activations, a=scales, b=scales,
       ratio=st.floats(2**-4, 4, width=32), seed=st.integers(0, 99))  # fmt: skip
def test_sums_and_differences(
    kind: str, shape: tuple[int, ...], parts: tuple[tuple[int, ...], ...], constant: int | None, short: bool,
    activation: str, a: float, b: float, ratio: float, seed: int,
) -> None:  # fmt: skip
    net = Net(seed, activations="INT16")
    operands = []
    for k, scale in enumerate((a, b)):
        size = [d if n in (0, *(parts[k] if constant != 1 - k else PARTS[0])) else 1 for n, d in enumerate(shape)]
        while short and constant == k and len(size) > 1 and size[0] == 1:
            size = size[1:]
        if constant == k:
            values = net.rng.integers(-32768, 32768, size)
            operands.append(net.tensor(size, "INT16", (scale, 0), data=values))
        else:
            operands.append(net.input(size, (scale, 0)))
    out = 2 * max(a, b) * ratio
    assert_equal(net.model(net.binary(kind, *operands, activation=activation, out=(out, 0))))


@EXAMPLES
@given(shape=images, alpha=st.floats(0, 4, width=32), a=scales, b=scales)
def test_leaky_relu(shape: tuple[int, ...], alpha: float, a: float, b: float) -> None:
    net = Net(activations="INT16")
    options = schema.LeakyReluOptionsT(alpha=alpha)
    y = net.unary("LEAKY_RELU", net.input(shape, (a, 0)), dtype="INT16", out=(b, 0), options=options)
    assert_equal(net.model(y))


@pytest.mark.parametrize(
    ("alpha", "out", "runs"),
    [(0.3, 2**-10, True), (-0.3, 2**-10, False), (0.3, 2**-27, False), (float("inf"), 1, False)],
)
def test_scales_of_leaky_relu(alpha: float, out: float, runs: bool) -> None:
    net = Net(activations="INT16")
    options = schema.LeakyReluOptionsT(alpha=alpha)
    y = net.unary("LEAKY_RELU", net.input((1, 4), (2**-12, 0)), dtype="INT16", out=(out, 0), options=options)
    (support,) = to_row_ops(canonicalise(read(net.model(y)).graph).graph).values()
    assert isinstance(support, Unsupported) is not runs
    assert runs or getattr(support, "code", "") == "leaky_scales"


def test_padding_of_int16_is_one_byte_twice() -> None:
    net = Net(activations="INT16")
    x = net.input((1, 4, 3))
    padded = [net.pad(x, [(0, 0), (1, 1), (0, 0)], value=value) for value in (0, -1, 0x0505, 5)]
    support = to_row_ops(canonicalise(read(net.model(*padded)).graph).graph)
    refused = [str(s) for s in support.values() if isinstance(s, Unsupported)]
    assert len(refused) == 1
    assert refused[0].endswith("(it pads with 5)")
