"""Test data-moving operators in odd shapes against TFLM, alone and after convolutions whose rows they stream."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import examples
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from models import Net, Pair
from moving import (
    broadcast_to,
    concatenation,
    constant,
    depth_to_space,
    like,
    mirror_pad,
    pack,
    resize,
    reverse,
    space_to_depth,
    split,
    split_v,
    strided_slice,
    tile,
    unpack,
)
from property import oracle
from property.layers.reshaping import shuffled
from tflm.test_operators import assert_equal

import tflm_memopt
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.plan.plan import Builtin

EXAMPLES = settings(max_examples=examples(6))
Shape = tuple[int, ...]
shapes = st.tuples(st.just(1), st.integers(1, 7), st.integers(1, 6), st.integers(1, 5))
types = st.sampled_from(["INT8", "INT16"])
pads = st.tuples(st.integers(0, 3), st.integers(0, 3))


def assert_all(net: Net, *outputs: int) -> None:
    """Compare the network on this machine with its planned and lowered form under TFLM, which must be one region."""
    data = net.model(*outputs)
    assert_equal(data)
    converted = oracle.rewrite(data, ConversionOptions(tiles=None, seconds=0.2))
    new, planned = converted
    assert not [step for step in planned.plan.steps if isinstance(step, Builtin)]
    oracle.assert_same_bytes(data, new)


def image(net: Net, shape: tuple[int, ...], *, streamed: bool) -> int:
    """Return an input, or a convolution's output that is made row by row."""
    x = net.input(shape)
    return net.conv2d(x, shape[-1], kernel=(3, 3)) if streamed else x


@EXAMPLES
@given(
    shape=shapes,
    height=pads,
    width=pads,
    depth=pads,
    value=st.none() | st.integers(-128, 127),
    streamed=st.booleans(),
    dtype=types,
)
def test_pad(
    shape: Shape, height: Pair, width: Pair, depth: Pair, value: int | None, streamed: bool, dtype: str
) -> None:
    net = Net(activations=dtype)
    if value is not None and dtype == "INT16":
        value = 256 * value + value % 256  # an int16 of twice the same byte
    y = net.pad(image(net, shape, streamed=streamed), [(0, 0), height, width, depth], value=value)
    assert_all(net, y)


@EXAMPLES
@given(shape=shapes, height=pads, width=pads, depth=pads, reflect=st.booleans(), streamed=st.booleans())
def test_mirror_pad(shape: Shape, height: Pair, width: Pair, depth: Pair, reflect: bool, streamed: bool) -> None:
    amounts = [(0, 0)]
    for d, (a, b) in zip(shape[1:], (height, width, depth), strict=True):
        amounts.append((min(a, d - reflect), min(b, d - reflect)))
    net = Net()
    assert_all(net, mirror_pad(net, image(net, shape, streamed=streamed), amounts, reflect=reflect))


@EXAMPLES
@given(shape=shapes, axis=st.integers(1, 3), others=st.lists(st.integers(1, 4), max_size=6), negative=st.booleans(),
       streamed=st.booleans(), dtype=types)  # fmt: skip
def test_concatenation(shape: Shape, axis: int, others: list[int], negative: bool, streamed: bool, dtype: str) -> None:
    net = Net(activations=dtype)
    xs = [image(net, shape, streamed=streamed)]
    for n in others:
        part = tuple(n if a == axis else d for a, d in enumerate(shape))
        y = image(net, part, streamed=streamed)
        net.graph.tensors[y].quantization = net.graph.tensors[xs[0]].quantization
        xs.append(y)
    assert_all(net, concatenation(net, xs, axis - 4 * negative))


@pytest.mark.slow
@EXAMPLES
@given(shape=shapes, axis=st.integers(1, 3), count=st.integers(1, 3),
       form=st.sampled_from(["SPLIT", "SPLIT_V", "UNPACK"]), streamed=st.booleans(), dtype=types)  # fmt: skip
def test_split(shape: Shape, axis: int, count: int, form: str, streamed: bool, dtype: str) -> None:
    net = Net(activations=dtype)
    if form == "SPLIT":
        shape = tuple(d * count if a == axis else d for a, d in enumerate(shape))
        parts = split(net, image(net, shape, streamed=streamed), axis, count)
    elif form == "SPLIT_V":
        x = image(net, shape, streamed=streamed)
        first = shape[axis] // 2
        assume(first > 0)
        parts = split_v(net, x, axis - 4, [first, shape[axis] - first])
    else:
        parts = unpack(net, image(net, shape, streamed=streamed), axis)
    assert_all(net, *parts)


@pytest.mark.slow
@EXAMPLES
@example((1, 1, 2, 1), 3, 1, True, "INT8")  # an iteration must not wait for an operand that it does not read
@example((1, 3, 2, 2), 9, 1, True, "INT8")  # more tensors than an operator reads
@given(shape=shapes, count=st.integers(1, 9), axis=st.integers(1, 3), streamed=st.booleans(), dtype=types)
def test_pack(shape: Shape, count: int, axis: int, streamed: bool, dtype: str) -> None:
    net = Net(activations=dtype)
    xs = [net.reshape(image(net, shape, streamed=streamed), shape[1:]) for _ in range(count)]
    for x in xs:
        net.graph.tensors[x].quantization = net.graph.tensors[xs[0]].quantization
    assert_all(net, pack(net, xs, axis - 1))


def slices(size: int) -> st.SearchStrategy[slice]:
    bounds = st.none() | st.integers(-size, size)
    made = st.builds(slice, bounds, bounds, st.sampled_from([1, 1, 2, 3, -1, -2]))
    return made.filter(lambda s: len(range(*s.indices(size))) > 0 and (s.stop is None or s.step > 0 or s.stop >= 0))


@EXAMPLES
@given(data=st.data(), shape=shapes, streamed=st.booleans(), dtype=types)
def test_strided_slice(data: st.DataObject, shape: Shape, streamed: bool, dtype: str) -> None:
    chosen = [slice(None), *(data.draw(slices(d)) for d in shape[1:])]
    net = Net(activations=dtype)
    assert_all(net, strided_slice(net, image(net, shape, streamed=streamed), chosen))


@EXAMPLES
@given(shape=shapes, block=st.integers(1, 3), down=st.booleans(), streamed=st.booleans())
def test_depth_and_space(shape: Shape, block: int, down: bool, streamed: bool) -> None:
    net = Net()
    n, h, w, c = shape
    if down:
        y = space_to_depth(net, image(net, (n, h * block, w * block, c), streamed=streamed), block)
    else:
        y = depth_to_space(net, image(net, (n, h, w, c * block**2), streamed=streamed), block)
    assert_all(net, y)


@EXAMPLES
@given(shape=shapes, order=st.permutations([1, 2, 3]), streamed=st.booleans(), dtype=types)
def test_transpose(shape: Shape, order: list[int], streamed: bool, dtype: str) -> None:
    net = Net(activations=dtype)
    assert_all(net, net.transpose(image(net, shape, streamed=streamed), (0, *order)))


@EXAMPLES
@given(data=st.data(), rank=st.integers(5, 6), transposed=st.booleans(), dtype=st.sampled_from(["INT8", "FLOAT32"]))
def test_more_dimensions_than_tflm_takes(data: st.DataObject, rank: int, *, transposed: bool, dtype: str) -> None:
    """STRIDED_SLICE of more than four dimensions and TRANSPOSE of more than five, which run only in our operator."""
    shape = (1, *(data.draw(st.integers(1, 4)) for _ in range(rank - 1)))
    net = Net()
    x = net.input(shape, (0.05, 0) if dtype == "INT8" else None, dtype=dtype)
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


@EXAMPLES
@given(heights=st.tuples(st.integers(1, 40), st.integers(1, 7)), channels=st.integers(1, 7),
       first=st.booleans(), dtype=types)  # fmt: skip
def test_joined_heads_end_as_channels(heights: Pair, channels: int, first: bool, dtype: str) -> None:
    """A detector's last TRANSPOSE copies each row of its heads to its places in the output."""
    net = Net(activations=dtype)
    maps = [image(net, (1, h, 3, 4), streamed=True) for h in heights]
    heads = [net.reshape(net.conv2d(m, channels, out=(0.05, 0)), (1, net.shape(m)[1] * 3, channels)) for m in maps]
    y = net.transpose(concatenation(net, heads[:: 1 if first else -1], 1), (0, 2, 1))
    assert_all(net, y if first else net.unary("LOGISTIC", y, dtype=dtype, out=net.share(y)))


@pytest.mark.parametrize("dtype", ["INT8", "INT16"])
@pytest.mark.parametrize("groups", [2, 3])
def test_channels_are_shuffled_row_by_row(groups: int, dtype: str) -> None:
    """Exchanging a row's channels needs more moves than an operator can have, but all pixels share the same moves."""
    net = Net(1, activations=dtype)
    x = net.input((1, 12, 30, 2))
    y = shuffled(net, net.conv2d(x, 24, kernel=(3, 3)), groups)
    data = net.model(net.depthwise_conv2d(y, stride=(2, 2)))
    made = oracle.rewrite(data)
    assert made[1].plan.head < 12 * 30 * 24 * (2 if dtype == "INT16" else 1)
    oracle.assert_same_bytes(data, made[0])


def test_a_map_whose_channels_come_first_is_never_whole_before() -> None:
    net = Net()
    y = net.conv2d(net.conv2d(net.input((1, 24, 24, 2)), 16, kernel=(3, 3)), 8)
    data = net.model(net.reshape(net.transpose(y, (0, 3, 1, 2)), (1, 8, 576)))
    result = tflm_memopt.optimize(data)
    assert result.report.arena.total < 24 * 24 * 8 + 2_500
    assert tflm_memopt.verify(data, result.model, runs=3).bit_exact


@pytest.mark.parametrize("dtype", ["INT8", "INT16"])
@pytest.mark.parametrize("shape", [(1, 4, 5, 1), (1, 1, 5, 3), (1, 4, 1, 3), (1, 1, 1, 1)])
def test_broadcast_to(shape: tuple[int, ...], dtype: str) -> None:
    net = Net(activations=dtype)
    assert_all(net, broadcast_to(net, net.input(shape), (1, 4, 5, 3)))


@EXAMPLES
@given(shape=shapes, multiples=st.tuples(*(st.integers(1, 3),) * 3), streamed=st.booleans(), dtype=types)
def test_tile(shape: Shape, multiples: Shape, streamed: bool, dtype: str) -> None:
    net = Net(activations=dtype)
    assert_all(net, tile(net, image(net, shape, streamed=streamed), (1, *multiples)))


@EXAMPLES
@given(
    shape=shapes, axes=st.sampled_from([(1,), (2,), (3,), (-1,), (2, 1), (2, 3)]), streamed=st.booleans(), dtype=types
)
def test_reverse(shape: Shape, axes: Shape, streamed: bool, dtype: str) -> None:
    net = Net(activations=dtype)
    assert_all(net, reverse(net, image(net, shape, streamed=streamed), axes))


@EXAMPLES
@given(shape=shapes, size=st.tuples(st.integers(1, 15), st.integers(1, 13)),
       mode=st.sampled_from(["", "corners", "half"]), streamed=st.booleans(), dtype=types)  # fmt: skip
def test_resize_nearest(shape: Shape, size: Pair, mode: str, streamed: bool, dtype: str) -> None:
    net = Net(activations=dtype)
    x = image(net, shape, streamed=streamed)
    assert_all(net, resize(net, x, size, corners=mode == "corners", half=mode == "half"))


@pytest.mark.parametrize("ops", ["region", "builtin"])
def test_heads_of_a_detector_are_written_where_they_are_joined(ops: str) -> None:
    """Besides the output, the plan has no copy of a head's map, and the map that both heads read is not kept whole."""
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


@pytest.mark.parametrize("small_first", [False, True])
def test_joined_heads_take_little_more_than_the_output(small_first: bool) -> None:
    """A row of the output overwrites the bytes of a head's rows that are already copied."""
    net = Net()
    large = net.conv2d(net.input((1, 48, 48, 3)), 8, kernel=(3, 3), stride=(2, 2))
    small = net.conv2d(net.conv2d(large, 16, kernel=(3, 3), stride=(2, 2)), 32, kernel=(3, 3))
    parts = [net.conv2d(large, 32, kernel=(3, 3)), small]
    for part in parts:
        net.graph.tensors[part].quantization = net.graph.tensors[parts[0]].quantization
    heads = [net.reshape(part, (1, net.shape(part)[1] ** 2, 32)) for part in parts]
    data = net.model(concatenation(net, heads[::-1] if small_first else heads, 1))
    result = tflm_memopt.optimize(data)
    assert result.report.arena.head < 23_040 + 500
    assert tflm_memopt.verify(data, result.model, runs=2).bit_exact


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


@EXAMPLES
@given(size=st.tuples(st.integers(1, 9), st.integers(1, 9)), c=st.integers(1, 3), block=st.integers(1, 3), dtype=types)
def test_pixel_shuffle_of_pytorch(size: Pair, c: int, block: int, dtype: str) -> None:
    assert_all(*shuffled_pixels(Net(activations=dtype), (1, *size, c), block))


def test_shuffled_pixels_go_directly_to_their_places() -> None:
    result = tflm_memopt.optimize(Net.model(*shuffled_pixels(Net(), (1, 24, 24, 3), 2)), effort=0.05)
    both = 24 * 24 * 3 + 24 * 24 * 12  # input and output
    assert result.report.arena.total < 1.3 * both


def shuffled_pixels(net: Net, shape: Shape, block: int) -> tuple[Net, int]:
    """Build a network that ends in PyTorch's PixelShuffle, in NCHW."""
    _, h, w, c = shape
    x = net.conv2d(net.conv2d(net.input(shape), 4, kernel=(3, 3), padding="SAME"), c * block**2)
    x = net.reshape(net.transpose(x, (0, 3, 1, 2)), (c, block, block, h, w))
    return net, net.reshape(net.transpose(x, (0, 3, 1, 4, 2)), (1, c, h * block, w * block))


def test_an_operator_that_stays_builtin_reads_the_padded_steps() -> None:
    """The PAD and the RESHAPE stay as in the file, because a builtin operator reads their result."""
    net = Net(3)
    padded = net.pad(net.input((1, 20, 3)), [(0, 0), (2, 1), (0, 0)])
    row = net.reshape(padded, (1, *net.shape(padded)))
    data = net.model(net.normalized(row), net.conv2d(row, 4, kernel=(1, 3)))
    new, planned = oracle.rewrite(data, ConversionOptions(seconds=0))
    assert len(planned.graph.builtins) == 1
    oracle.assert_same_bytes(data, new)
