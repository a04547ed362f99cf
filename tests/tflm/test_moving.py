"""Networks with operators that move data, such as CONCATENATION, GATHER and TRANSPOSE, have the same output bytes as in
TFLM.
"""

from itertools import product

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Net
from moving import arg_max, concatenation, constant, like, strided_slice
from poses import cast
from property import oracle
from tflm.test_operators import assert_equal
from typed import bases, retyped

import tflm_memopt
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.plan.plan import Builtin

EXAMPLES = settings(max_examples=examples(6))
TYPES = st.sampled_from(["INT8", "INT16", "FLOAT32"])


def assert_all(net: Net, *outputs: int) -> None:
    data = net.model(*outputs)
    assert_equal(data)
    converted = oracle.rewrite(data, ConversionOptions(tiles=None, seconds=0.2))
    new, planned = converted
    assert not [step for step in planned.plan.steps if isinstance(step, Builtin)]
    oracle.assert_same_bytes(data, new)


def slices(size: int) -> st.SearchStrategy[slice]:
    bounds = st.none() | st.integers(-size, size)
    made = st.builds(slice, bounds, bounds, st.sampled_from([1, 1, 2, 3, -1, -2]))
    return made.filter(lambda s: len(range(*s.indices(size))) > 0 and (s.stop is None or s.step > 0 or s.stop >= 0))


@EXAMPLES
@given(data=st.data(), rank=st.integers(5, 6), transposed=st.booleans(), dtype=TYPES)
def test_more_dimensions_than_tflm_takes(data: st.DataObject, rank: int, *, transposed: bool, dtype: str) -> None:
    """TFLM lacks STRIDED_SLICE of more than four dimensions and TRANSPOSE of more than five, but our custom operator
    runs them.
    """
    shape = (1, *(data.draw(st.integers(1, 4)) for _ in range(rank - 1)))
    net = Net()
    x = net.input(shape, (0.05, 0) if dtype != "FLOAT32" else None, dtype=dtype)
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype.lower())
    if transposed:
        order = (0, *data.draw(st.permutations(range(1, rank))))
        y, expected = net.transpose(x, order), values.transpose(order)
    else:
        chosen = [slice(None), *(data.draw(slices(d)) for d in shape[1:])]
        y, expected = strided_slice(net, x, chosen), values[tuple(chosen)]
    model = net.model(y)
    (found,) = oracle.run(oracle.original(model), [values], 1)
    np.testing.assert_array_equal(found, expected)
    result = tflm_memopt.optimize(model, effort=0.05)
    assert tflm_memopt.verify(model, result.model, runs=2).bit_exact


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("GATHER", "INT16"),
        *product(("GATHER", "TRANSPOSE", "RESIZE_NEAREST_NEIGHBOR"), ("BOOL", "INT32")),
        *product(("PACK", "PAD", "SPLIT", "SPLIT_V", "UNPACK"), ["BOOL"]),
    ],
)
def test_types_that_tflm_does_not_move(kind: str, dtype: str) -> None:
    """The custom operator moves int16, int32 and bool values, which some of TFLM's kernels do not take."""
    (base, *_) = bases()[kind]
    types = ([dtype if name == base.outputs[0] else name for name in ends] for ends in (base.inputs, base.outputs))
    data = retyped(base, *types)
    result = tflm_memopt.optimize(data, effort=0.05, if_worthwhile=False)
    given: list[np.ndarray] = []
    if dtype == "INT32":
        shape, lowest = base.graph.tensors[base.op.inputs[0]].shape, -(2**31)
        steps = np.arange(np.prod(shape), dtype=np.int64) * 0x01234567 + (lowest - 1)
        given = [steps.astype(np.int32).reshape(shape)]
    assert tflm_memopt.verify(data, result.model, runs=2, inputs=given).bit_exact


@pytest.mark.parametrize("ops", ["region", "builtin"])
def test_heads_of_a_detector_are_written_where_they_are_joined(ops: str) -> None:
    net = Net()
    body = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3))
    small = net.conv2d(net.conv2d(body, 16, kernel=(3, 3), stride=(2, 2)), 32, out=(0.05, 3))
    large = net.conv2d(body, 32, kernel=(2, 2), out=(0.05, 3))
    joined = concatenation(net, [net.reshape(small, (1, 144, 32)), net.reshape(large, (1, 576, 32))], 1)
    data = net.model(joined)
    result = tflm_memopt.optimize(data, ops=ops)
    output = 720 * 32
    assert result.report.original_arena.head > 2 * output - 32 * 144
    assert result.report.arena.head < output + (1_500 if ops == "region" else 24 * 24 * 8 + 4_500)
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact


@pytest.mark.parametrize(
    ("axis", "indices"), [(3, [2, 1, 0]), (3, [0, 0, 5]), (1, [3, 4, 5, 1]), (2, [[1, 2], [2, 3]]), (-1, [4, 2])]
)
def test_constant_indices_select_parts(axis: int, indices: list[int]) -> None:
    net = Net()
    x = net.conv2d(net.input((1, 8, 6, 3)), 6, kernel=(3, 3))
    shape = list(net.shape(x))
    shape[axis : axis % 4 + 1] = np.shape(indices)
    y = net.op("GATHER", [x, constant(net, indices)], [like(net, x, shape)], schema.GatherOptionsT(axis=axis))
    assert_all(net, y)


def test_shuffled_pixels_go_directly_to_their_places() -> None:
    result = tflm_memopt.optimize(Net.model(*shuffled_pixels(Net(), (1, 24, 24, 3), 2)), effort=0.05)
    both = 24 * 24 * 3 + 24 * 24 * 12
    assert result.report.arena.total < 1.3 * both


def shuffled_pixels(net: Net, shape: tuple[int, ...], block: int) -> tuple[Net, int]:
    _, h, w, c = shape
    x = net.conv2d(net.conv2d(net.input(shape), 4, kernel=(3, 3), padding="SAME"), c * block**2)
    x = net.reshape(net.transpose(x, (0, 3, 1, 2)), (c, block, block, h, w))
    return net, net.reshape(net.transpose(x, (0, 3, 1, 4, 2)), (1, c, h * block, w * block))


def test_an_operator_that_stays_builtin_reads_the_padded_steps() -> None:
    net = Net(3)
    padded = net.pad(net.input((1, 20, 3)), [(0, 0), (2, 1), (0, 0)])
    row = net.reshape(padded, (1, *net.shape(padded)))
    data = net.model(net.normalized(row), net.conv2d(row, 4, kernel=(1, 3)))
    new, planned = oracle.rewrite(data, ConversionOptions(seconds=0))
    assert len(planned.graph.builtins) == 1
    oracle.assert_same_bytes(data, new)


CASTS = [("INT8", "FLOAT32"), ("INT16", "FLOAT32"), ("INT8", "INT16"), ("INT16", "INT8")]


@EXAMPLES
@given(types=st.sampled_from(CASTS), size=st.tuples(*[st.integers(1, 9)] * 2), streamed=st.booleans())
def test_casts(types: tuple[str, str], size: tuple[int, int], streamed: bool) -> None:
    net = Net(activations=types[0])
    x = net.input((1, *size, 3))
    assert_all(net, cast(net, net.conv2d(x, 3, kernel=(3, 3)) if streamed else x, types[1]))


def test_lower_bytes_of_any_index() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 2, 2, 1)), 300)
    y = arg_max(net, x)
    data = net.model(cast(net, y, "INT8"))
    result = tflm_memopt.optimize(data, if_worthwhile=False)
    assert tflm_memopt.verify(data, result.model, inputs=[np.full((1, 2, 2, 1), 77, np.int8)]).bit_exact
