"""Single operators have the same output bytes as in TFLM for random inputs, and for inputs at which one rounding
decides the output.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from hypothesis import strategies as st
from models import Net
from moving import transpose_conv
from numpy.typing import NDArray

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.ops import quant
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import Unsupported, to_row_ops
from tflm_memopt.runtime import host_model
from tflm_memopt.runtime.stand_in import runnable

tflm = pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed").runtime

ARENA = 1 << 20
RUNS = 3

affines = st.tuples(st.floats(2**-10, 0.25, width=32), st.integers(-128, 127))
seeds = st.integers(0, 1 << 16)


def oracle(data: bytes, inputs: list[NDArray[Any]]) -> list[NDArray[Any]]:
    interpreter = tflm.Interpreter.from_bytes(runnable(data), arena_size=ARENA)
    for k, values in enumerate(inputs):
        interpreter.set_input(values, k)
    interpreter.invoke()
    return [interpreter.get_output(k).copy() for k in range(len(read(data).graph.outputs))]


def assert_equal(data: bytes, *, also: Sequence[NDArray[Any]] = ()) -> None:
    graph = read(data).graph
    support = to_row_ops(canonicalise(graph))
    refused = [str(s) for s in support.values() if isinstance(s, Unsupported)]
    assert not refused, refused
    rng = np.random.default_rng(0)
    blank = [np.zeros(graph.tensors[t].shape, graph.tensors[t].dtype.lower()) for t in graph.inputs]
    ends = np.iinfo(blank[0].dtype)
    drawn = [[rng.integers(ends.min, ends.max + 1, z.shape, z.dtype) for z in blank] for _ in range(RUNS)]
    extremes = [[np.full_like(z, value) for z in blank] for value in (ends.min, ends.max)]
    for inputs in (*drawn, *extremes, *([list(also)] if also else [])):
        expected = oracle(data, inputs)
        got = host_model.run_model(graph, [values[None] for values in inputs], 1)
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_array_equal(b[0], a)


# The search finds inputs whose outputs show whether TFLM computes a factor in float32 or in double.


def rescaled(x: NDArray[np.int64], multiplier: quant.Multiplier) -> NDArray[np.int64]:
    """Compute MultiplyByQuantizedMultiplier() with two roundings, as TFLM's kernels/internal/common.cc does."""
    high = ((x << max(multiplier.shift, 0)) * multiplier.value + (1 << 30)) >> 31
    right = max(-multiplier.shift, 0)
    return np.sign(high) * ((np.abs(high) + ((1 << right) >> 1)) >> right)


@pytest.mark.parametrize("kind", ["FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D"])
def test_ties_of_sums(kind: str) -> None:
    rng = np.random.default_rng(7)
    net, count = Net(), 96
    a, b, out = (float(np.float32(v)) for v in (rng.uniform(0.1, 0.2), rng.uniform(1e-3, 2e-3), 1500.0))
    single, double = (quant.quantize_multiplier(p / out) for p in (float(np.float32(a) * np.float32(b)), a * b))
    ties = ((rng.integers(20, 120, 4000) + 0.5) * out / (a * b)).astype(np.int64) + rng.integers(-8, 9, 4000)
    decisive = ties[rescaled(ties, single) != rescaled(ties, double)]
    assert len(decisive) >= count, "scales that decide nothing"
    x = net.input((1, 1, 1, count if kind == "DEPTHWISE_CONV_2D" else 1), (a, 0))
    shapes = {"FULLY_CONNECTED": (count, 1), "CONV_2D": (count, 1, 1, 1), "DEPTHWISE_CONV_2D": (1, 1, 1, count)}
    filter_ = net.tensor(shapes[kind], affine=(b, 0), data=np.zeros(shapes[kind]))
    bias = net.tensor((count,), "INT32", (a * b, 0), data=decisive[:count])
    options = {
        "FULLY_CONNECTED": schema.FullyConnectedOptionsT(),
        "CONV_2D": schema.Conv2DOptionsT(strideH=1, strideW=1),
        "DEPTHWISE_CONV_2D": schema.DepthwiseConv2DOptionsT(strideH=1, strideW=1, depthMultiplier=1),
    }
    y = net.tensor((1, count) if kind == "FULLY_CONNECTED" else (1, 1, 1, count), affine=(out, 0))
    assert_equal(net.model(net.op(kind, [x, filter_, bias], [y], options[kind])))


EVERY = np.arange(-128, 128).astype(np.int8).reshape(1, 256)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["RELU", "QUANTIZE"])
def test_ties_of_rescaled_values(kind: str) -> None:
    rng = np.random.default_rng(8)
    x = np.arange(256)
    found = 0
    for a, b in rng.uniform(0.1, 0.9, (40_000, 2)).astype(np.float32).astype(float):
        single = quant.quantize_multiplier(quant.float32_quotient(a, b))
        differs = rescaled(x, single) != rescaled(x, quant.quantize_multiplier(a / b))
        if differs[: int(255 * b / a)].any():
            net = Net()
            y = net.unary(kind, net.input((1, 256), (a, -128)), out=(b, -128))
            assert_equal(net.model(y), also=[EVERY])
            found += 1
    assert found >= 3, "scales that decide nothing"


@pytest.mark.parametrize("target", ["generic", "rv32-v"])
def test_int4_filters_take_half_a_byte_each(target: str) -> None:
    net = Net(1)
    x = net.int4(net.conv2d(net.input((1, 24, 20, 3)), 32, kernel=(3, 3), stride=(2, 2)))
    x = net.int4(net.conv2d(net.int4(net.depthwise_conv2d(x)), 48, kernel=(3, 3)))
    data = net.model(net.int4(net.fully_connected(net.mean(x, (1, 2)), 33)))
    result = tflm_memopt.optimize(data, target=target, if_worthwhile=False)
    assert target != "generic" or len(result.model) < len(data)
    assert tflm_memopt.verify(data, result.model, runs=2).bit_exact


EVERY_INT16 = np.arange(-(1 << 15), 1 << 15, dtype=np.int16).reshape(1, 256, 16, 16)


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("scale", [2**-12, 2**-11, 1.0004 * 2**-12, 1.002 * 2**-12, 0.0004, 1e-8, 0.01, 2.5])
def test_curves_of_every_value(kind: str, scale: float) -> None:
    net = Net(activations="INT16")
    y = net.unary(kind, net.input(EVERY_INT16.shape, (scale, 0)), dtype="INT16", out=(2**-15, 0))
    assert_equal(net.model(y), also=[EVERY_INT16])


@pytest.mark.parametrize("kind", ["RELU", "RELU6", "ABS"])
@pytest.mark.parametrize("out", [0.001, 0.0004, 0.0031])
def test_slopes_of_every_value(kind: str, out: float) -> None:
    net = Net(activations="INT16")
    y = net.unary(kind, net.input(EVERY_INT16.shape, (0.001, 0)), dtype="INT16", out=(out, 0))
    assert_equal(net.model(y), also=[EVERY_INT16])


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
@pytest.mark.parametrize("scale", [1e-8, 4e-12])
def test_the_output_of_a_dead_layer_may_have_any_scale(activation: str, scale: float) -> None:
    """Quantizers choose a tiny scale for an output that is 0 for all calibration inputs. The bounds of the
    activations NONE and RELU do not depend on the scale of the output.
    """
    net = Net(1)
    x = net.conv2d(net.input((1, 6, 5, 4)), 3, kernel=(3, 3), activation=activation, out=(scale, -128))
    assert_equal(net.model(net.depthwise_conv2d(x, kernel=(3, 3), activation=activation, out=(0.05, 3))))


@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("bias_type", ["INT64", "INT32"])
def test_operators_without_bias_say_how_many_bits_their_sums_have(kind: str, bias_type: str) -> None:
    net = Net(activations="INT16")
    x = net.input((1, 6, 5, 4))
    made = {
        "CONV_2D": lambda: net.conv2d(x, 5, kernel=(3, 3), bias=False),
        "DEPTHWISE_CONV_2D": lambda: net.depthwise_conv2d(x, bias=False),
        "FULLY_CONNECTED": lambda: net.fully_connected(x, 5, bias=False),
        "TRANSPOSE_CONV": lambda: transpose_conv(net, x, 5, kernel=(3, 3), stride=(2, 2), bias=False),
    }[kind]()
    options = net.graph.operators[-1].builtinOptions
    if hasattr(options, "quantizedBiasType"):
        options.quantizedBiasType = getattr(schema.TensorType, bias_type)
    if kind in ("CONV_2D", "FULLY_CONNECTED") and bias_type == "INT32":
        (support,) = to_row_ops(canonicalise(read(net.model(made)).graph)).values()
        assert getattr(support, "code", "") == "int32_bias"
    else:
        assert_equal(net.model(made))
