"""QUANTIZE and DEQUANTIZE of all types have the same output bytes as in TFLM for random values and for values at
rounding limits.
"""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Affine, Net
from tflm.test_operators import affines, assert_equal, oracle, seeds

import tflm_memopt
from tflm_memopt.model.graph import ITEM_BYTES
from tflm_memopt.model.reader import read
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.supported import to_row_ops
from tflm_memopt.runtime import host_model

shapes = st.one_of(
    st.tuples(st.just(1), st.integers(1, 9), st.integers(1, 7), st.integers(1, 5)),
    st.tuples(st.just(1), st.integers(1, 70)),
    st.tuples(st.integers(1, 9), st.integers(1, 7)),
)
QUANTIZED = [("INT8", "INT8"), ("INT8", "UINT8"), ("UINT8", "INT8"), ("INT8", "INT16"), ("INT16", "INT8"),
             ("INT16", "INT16")]  # fmt: skip
CLOSE = settings(max_examples=examples(13))


def affine_of(dtype: str, affine: Affine) -> Affine:
    scale, zero_point = affine
    return scale, {"UINT8": zero_point + 128, "INT16": 0}.get(dtype, zero_point)


@CLOSE
@given(shape=shapes, dtype=st.sampled_from(["INT8", "INT16"]), affine=affines, seed=seeds)
def test_from_float32(shape: tuple[int, ...], dtype: str, affine: Affine, seed: int) -> None:
    net = Net(seed)
    x = net.input(shape, None, dtype="FLOAT32")
    size, (scale, zero_point) = int(np.prod(shape)), affine_of(dtype, affine)
    limits = np.iinfo(dtype.lower())
    steps = net.rng.integers(limits.min - zero_point - 3, limits.max - zero_point + 4, size) + net.rng.choice(
        [0, 0.5], size
    )
    near = (steps * np.float64(scale)).astype(np.float32).reshape(shape)
    further = np.nextafter(near, np.where(net.rng.random(shape) < 0.5, np.float32(-1e9), np.float32(1e9)))
    largest = min(1e6, scale * 2.0**30)
    wide = net.rng.uniform(-largest, largest, size=shape).astype(np.float32)
    data = net.model(net.unary("QUANTIZE", x, dtype=dtype, out=(scale, zero_point)))
    graph = read(data).graph
    assert all(isinstance(op, RowOp) for op in to_row_ops(graph).values())
    for values in (near, further, wide):
        (expected,), ((got,),) = oracle(data, [values]), host_model.run_model(graph, [values[None]], 1)
        np.testing.assert_array_equal(got, expected)


@CLOSE
@given(shape=shapes, dtype=st.sampled_from(["INT8", "INT16"]), affine=affines, seed=seeds)
def test_to_float32(shape: tuple[int, ...], dtype: str, affine: Affine, seed: int) -> None:
    net = Net(seed)
    x = net.input(shape, affine_of(dtype, affine), dtype=dtype)
    assert_equal(net.model(net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None)))


@CLOSE
@given(shape=shapes, types=st.sampled_from(QUANTIZED), before=affines, after=affines, alike=st.booleans(), seed=seeds)
def test_between_integers(
    shape: tuple[int, ...], types: tuple[str, str], before: Affine, after: Affine, alike: bool, seed: int
) -> None:
    net = Net(seed)
    x = net.input(shape, affine_of(types[0], before), dtype=types[0])
    out = affine_of(types[1], before if alike else after)
    assert_equal(net.model(net.unary("QUANTIZE", x, dtype=types[1], out=out)))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["FLOAT32", "UINT8"])
@pytest.mark.parametrize("where", ["arena", "stream", "external"])
def test_a_border_takes_no_second_copy(dtype: str, where: str) -> None:
    net = Net(3)
    image, row = 24 * 20 * 3, 20 * 3
    x = net.input((1, 24, 20, 3), None if dtype == "FLOAT32" else (0.02, 128), dtype=dtype, name="image")
    y = net.conv2d(net.unary("QUANTIZE", x, out=(0.02, 0)), 8, kernel=(3, 3), stride=(2, 2))
    y = net.fully_connected(net.mean(net.conv2d(y, 12, kernel=(3, 3)), (1, 2)), 4, out=(0.1, 3))
    back = ("QUANTIZE", "UINT8", (0.1, 131)) if dtype == "UINT8" else ("DEQUANTIZE", "FLOAT32", None)
    data = net.model(net.unary(back[0], y, dtype=back[1], out=back[2]))
    plain, inner = (tflm_memopt.optimize(data, input=where, int8_io=io, seconds=0.05) for io in (False, True))
    assert plain.report.kept_builtin == ()
    larger = image * (ITEM_BYTES[dtype] - 1) if where == "arena" else row * (ITEM_BYTES[dtype] - 1)
    assert plain.report.arena.head <= inner.report.arena.head + larger + 3 * row
    assert len(read(plain.model).graph.ops) == 1
    assert tflm_memopt.verify(data, plain.model, runs=1).bit_exact
