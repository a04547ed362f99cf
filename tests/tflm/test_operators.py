"""Test every operator in odd shapes against TFLM in the official wheel, byte for byte.

A model of one operator (or of a few that interact) is built in memory and run twice: by TFLM, and by the C executor on
the RowOp that opset makes of it. This proves constraints, arithmetic constants, row views and kernels together.
Hypothesis prints the smallest failing case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Affine, Net, Pair, out_size
from numpy.typing import NDArray

import tflm_memopt
from tflm_memopt.model.graph import zeros_like
from tflm_memopt.model.reader import read
from tflm_memopt.ops import quant
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import Unsupported, to_row_ops
from tflm_memopt.runtime import host_model
from tflm_memopt.runtime.stand_in import runnable

tflm = pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed").runtime

EXAMPLES = settings(max_examples=examples(20))
ARENA = 1 << 20
RUNS = 3

pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))
dilations = st.tuples(st.integers(1, 2), st.integers(1, 3))
sizes = st.tuples(st.integers(1, 11), st.integers(1, 11))
channels = st.integers(1, 9)
paddings = st.sampled_from(["SAME", "VALID"])
activations = st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
zero_points = st.integers(-128, 127)
scales = st.floats(2**-10, 0.25, width=32)
affines = st.tuples(scales, zero_points)
types = st.sampled_from(["INT8", "INT16"])
seeds = st.integers(0, 1 << 16)


def oracle(data: bytes, inputs: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Run one inference under TFLM."""
    interpreter = tflm.Interpreter.from_bytes(runnable(data), arena_size=ARENA)
    for k, values in enumerate(inputs):
        interpreter.set_input(values, k)
    interpreter.invoke()
    return [interpreter.get_output(k).copy() for k in range(len(read(data).graph.outputs))]


def assert_equal(data: bytes, *, also: Sequence[NDArray[Any]] = ()) -> None:
    """Check that all operators run row by row and give TFLM's bytes for random and extreme inputs, and for `also`."""
    graph = read(data).graph
    support = to_row_ops(canonicalise(graph).graph)
    refused = [str(s) for s in support.values() if isinstance(s, Unsupported)]
    assert not refused, refused
    rng = np.random.default_rng(0)
    blank = [zeros_like(graph.tensors[t]) for t in graph.inputs]
    ends = np.iinfo(blank[0].dtype)
    drawn = [[rng.integers(ends.min, ends.max + 1, z.shape, z.dtype) for z in blank] for _ in range(RUNS)]
    extremes = [[np.full_like(z, value) for z in blank] for value in (ends.min, ends.max)]
    for inputs in (*drawn, *extremes, *([list(also)] if also else [])):
        expected = oracle(data, inputs)
        got = host_model.run_model(graph, [values[None] for values in inputs], 1)
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_array_equal(b[0], a)


POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
POOLED = {"kernel": pairs, "stride": pairs, "padding": paddings, "activation": activations}
WEIGHTED = {**POOLED, "dilation": dilations, "per_channel": st.booleans(), "bias": st.booleans()}
pools, windows = st.fixed_dictionaries(POOLED), st.fixed_dictionaries(WEIGHTED)
Options: TypeAlias = dict[str, Any]


def fitting(size: Pair, options: Options) -> Options:
    """Return the options of an operator, with SAME instead of VALID padding if its window is larger than the input."""
    spans = zip(size, options["kernel"], options.get("dilation", (1, 1)), strict=True)
    return options if all(out_size(n, k, 1, d, "VALID") > 0 for n, k, d in spans) else options | {"padding": "SAME"}


@EXAMPLES
@given(size=sizes, c=channels, out=channels, options=windows, affine=affines, seed=seeds)
def test_conv_2d(size: Pair, c: int, out: int, options: Options, affine: Affine, seed: int) -> None:
    net = Net(seed)
    assert_equal(net.model(net.conv2d(net.input((1, *size, c), affine), out, **fitting(size, options))))


@EXAMPLES
@given(size=sizes, c=channels, out=channels, multiplier=st.integers(1, 3), options=windows, scale=scales, seed=seeds)
def test_int16_activations(
    size: Pair, c: int, out: int, multiplier: int, options: Options, scale: float, seed: int
) -> None:
    net = Net(seed, activations="INT16")
    y = net.conv2d(net.input((1, *size, c), (scale, 0)), out, **fitting(size, options))
    same = options | {"stride": (1, 1), "padding": "SAME", "per_channel": True}
    z = net.depthwise_conv2d(y, multiplier=multiplier, **same)
    z = net.add(z, net.conv2d(z, net.shape(z)[-1]), activation=options["activation"])
    assert_equal(net.model(net.fully_connected(z, 5, per_channel=options["per_channel"], bias=options["bias"])))


@EXAMPLES
@given(size=sizes, c=channels, out=channels, kernel=pairs, affine=affines, seed=seeds)
def test_int4_filters(size: Pair, c: int, out: int, kernel: Pair, affine: Affine, seed: int) -> None:
    net = Net(seed)
    x = net.input((1, *size, c), affine)
    y = net.int4(net.conv2d(x, out, kernel=kernel))
    y = net.int4(net.depthwise_conv2d(y, kernel=kernel))
    assert_equal(net.model(net.int4(net.fully_connected(y, 5))))


@EXAMPLES
@given(size=sizes, c=st.integers(1, 5), multiplier=st.integers(1, 3), options=windows, affine=affines, seed=seeds)
def test_depthwise_conv_2d(size: Pair, c: int, multiplier: int, options: Options, affine: Affine, seed: int) -> None:
    net = Net(seed)
    x = net.input((1, *size, c), affine)
    assert_equal(net.model(net.depthwise_conv2d(x, multiplier=multiplier, **fitting(size, options))))


@EXAMPLES
@given(depth=st.integers(1, 70), units=st.integers(1, 40), batches=st.integers(1, 4), activation=activations,
       per_channel=st.booleans(), bias=st.booleans(), affine=affines, seed=seeds)  # fmt: skip
def test_fully_connected(
    depth: int, units: int, batches: int, activation: str, per_channel: bool, bias: bool, affine: Affine, seed: int
) -> None:
    net = Net(seed)
    x = net.input((batches, depth), affine)
    y = net.fully_connected(x, units, batches=batches, activation=activation, per_channel=per_channel, bias=bias)
    assert_equal(net.model(y))


@EXAMPLES
@given(shape=st.sampled_from([(1, 5, 4, 3), (1, 1, 7, 2), (1, 6, 5), (3, 4), (1, 9)]), activation=activations,
       a=affines, b=affines, ratio=st.floats(2**-5, 32, width=32), zero_point=zero_points)  # fmt: skip
def test_add(shape: tuple[int, ...], activation: str, a: Affine, b: Affine, ratio: float, zero_point: int) -> None:
    net = Net()
    x, y = net.input(shape, a), net.input(shape, b)
    out = (float(np.float32(max(a[0], b[0]) * ratio)), zero_point)
    assert_equal(net.model(net.add(x, y, activation=activation, out=out)))


@EXAMPLES
@given(kind=st.sampled_from(POOLS), size=sizes, c=channels, options=pools, affine=affines, dtype=types)
def test_pools(kind: str, size: Pair, c: int, options: Options, affine: Affine, dtype: str) -> None:
    net = Net(activations=dtype)
    assert_equal(net.model(net.pool(net.input((1, *size, c), affine), kind=kind, **fitting(size, options))))


@EXAMPLES
@given(shape=st.sampled_from([(1, 10), (1, 1), (4, 3), (1, 3, 2, 7), (1, 300)]), a=affines,
       beta=st.floats(0.125, 4, width=32))  # fmt: skip
def test_softmax(shape: tuple[int, ...], a: Affine, beta: float) -> None:
    net = Net()
    assert_equal(net.model(net.softmax(net.input(shape, a), beta=beta)))


@EXAMPLES
@given(size=st.tuples(st.integers(3, 8), st.integers(3, 8)), c=st.integers(1, 4),
       amounts=st.tuples(*[st.integers(0, 2)] * 4), depthwise=st.booleans(), stride=pairs, padding=paddings,
       explicit=st.booleans(), affine=affines, seed=seeds)  # fmt: skip
def test_folded_pad(
    size: Pair, c: int, amounts: tuple[int, int, int, int], depthwise: bool, stride: Pair,
    padding: str, explicit: bool, affine: Affine, seed: int,
) -> None:  # fmt: skip
    net, (top, bottom, left, right) = Net(seed), amounts
    x = net.input((1, *size, c), affine)
    x = net.pad(x, [(0, 0), (top, bottom), (left, right), (0, 0)], value=affine[1] if explicit else None)
    kernel = (5, 5) if padding == "SAME" else (3, 3)
    if depthwise:
        y = net.depthwise_conv2d(x, kernel=kernel, stride=stride, padding=padding)
    else:
        y = net.conv2d(x, 3, kernel=kernel, stride=stride, padding=padding)
    assert_equal(net.model(y))


@pytest.mark.slow
@EXAMPLES
@given(size=st.tuples(st.integers(1, 8), st.integers(1, 8)), c=st.integers(2, 5), multiplier=st.integers(1, 3),
       stride=pairs, padding=paddings, per_channel=st.booleans(), affine=affines, seed=seeds)  # fmt: skip
def test_a_group_for_each_channel(
    size: Pair, c: int, multiplier: int, stride: Pair, padding: str, per_channel: bool,
    affine: Affine, seed: int,
) -> None:  # fmt: skip
    net = Net(seed)
    x = net.pad(net.input((1, *size, c), affine), [(0, 0), (1, 1), (1, 1), (0, 0)])
    y = net.conv2d(x, c * multiplier, kernel=(3, 3), stride=stride, padding=padding, per_channel=per_channel, groups=c)
    assert_equal(net.model(y))


# Whether TFLM computes a factor in float32 or in double affects one result in a million, at a tie. These tests first
# search for such inputs, then compare the kernels with TFLM there.


def rescaled(x: NDArray[np.int64], multiplier: quant.Multiplier) -> NDArray[np.int64]:
    """Return MultiplyByQuantizedMultiplier with two roundings (kernels/internal/common.cc)."""
    high = ((x << max(multiplier.shift, 0)) * multiplier.value + (1 << 30)) >> 31
    right = max(-multiplier.shift, 0)
    return np.sign(high) * ((np.abs(high) + ((1 << right) >> 1)) >> right)


@pytest.mark.parametrize("kind", ["FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D"])
def test_ties_of_sums(kind: str) -> None:
    """The filter is 0, so only the bias determines the result."""
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
    """Unpacked operators read the weights from flash four bits at a time, in rows and in tiles."""
    net = Net(1)
    x = net.int4(net.conv2d(net.input((1, 24, 20, 3)), 32, kernel=(3, 3), stride=(2, 2)))
    x = net.int4(net.conv2d(net.int4(net.depthwise_conv2d(x)), 48, kernel=(3, 3)))
    data = net.model(net.int4(net.fully_connected(net.mean(x, (1, 2)), 33)))
    result = tflm_memopt.optimize(data, target=target, if_worthwhile=False)
    assert target != "generic" or len(result.model) < len(data)
    assert tflm_memopt.verify(data, result.model, runs=2).bit_exact
