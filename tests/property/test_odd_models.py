"""Models that converters rarely make are rewritten bit-exactly for each target, or stay unchanged with a reason."""

from collections.abc import Callable
from copy import copy, deepcopy
from functools import reduce
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import QUICKLY, thinned
from models import DEFAULT, Net
from moving import batch_to_space, concatenation, mirror_pad, slice_, space_to_batch, split
from property.oracle import assert_arena_as_predicted, assert_same_bytes, convert
from unit.analysis.arena_zoo import ZOO, with_subgraphs

import tflm_memopt
from tflm_memopt.convert.annotation import CONSTANT_INPUT, DYNAMIC, UNWRITTEN
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.model import writer
from tflm_memopt.model.names import ONLINE
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.tflm.choices import KERNELS, Kernels
from tflm_memopt.tflm.lifetimes import offline_offsets

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

Build = Callable[[Net], bytes]
ODD: list[Build] = []
IMAGE = (1, 8, 8, 4)
WAYS = [*product(sorted(TARGETS), (False, True))]


def odd(build: Build) -> Build:
    ODD.append(build)
    return build


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "way" in metafunc.fixturenames:
        ways = [(b, WAYS[(n + k) % len(WAYS)]) for k in range(2) for n, b in enumerate(ODD)]
        names = [f"{b.__name__}-{target}-{'group' if group else 'region'}" for b, (target, group) in ways]
        metafunc.parametrize(("build", "way"), thinned(ways, len(ODD) // 2), ids=names)


def test_odd(build: Build, way: tuple[str, bool]) -> None:
    data, (target, op_per_group) = build(Net(seed=1)), way
    converted = convert(
        data, ConversionOptions("group" if op_per_group else "region", seconds=0.05, effort=QUICKLY, target=target)
    )
    assert converted is not None
    assert_arena_as_predicted(converted[0], assert_same_bytes(data, converted[0]))


def first(net: Net, *, out: Any = DEFAULT) -> int:
    return net.conv2d(net.input(IMAGE), 4, kernel=(3, 3), out=out)


def last_constant(net: Net, operand: int) -> Any:
    return net.graph.tensors[int(net.graph.operators[-1].inputs[operand])]


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_windows_of_one_pixel_may_be_dilated(target: str) -> None:
    net = Net(seed=1)
    y = net.input((1, 8, 1, 1))
    for _ in range(4):
        y = net.conv2d(y, 1)
    data = net.model(net.conv2d(y, 2, dilation=(1, 2)))
    converted = convert(data, ConversionOptions("group", seconds=0, target=target))
    assert converted is not None
    assert_same_bytes(data, converted[0])


@odd
def a_transposed_map_that_is_also_an_output(net: Net) -> bytes:
    x = net.transpose(net.conv2d(net.input((1, 14, 6, 4)), 5, kernel=(3, 3)), (0, 3, 1, 2))
    y = net.mean(x, (2,), keep=False, out=(0.07, 1))
    return net.model(x, net.mean(y, (2,), keep=False))


@odd
def strides_that_leap_twice(net: Net) -> bytes:
    """With two large strides, an output row would need 2^30 input rows, but the input has eight rows."""
    y = net.conv2d(first(net), 3, kernel=(3, 3), stride=(32767, 32767))
    return net.model(net.conv2d(y, 3, kernel=(3, 3), stride=(32767, 32767)))


@odd
def taps_far_outside_the_map(net: Net) -> bytes:
    return net.model(net.conv2d(first(net), 3, kernel=(3, 3), dilation=(50, 60)))


@odd
def an_empty_input_that_nobody_reads(net: Net) -> bytes:
    net.input((0,))
    return net.model(net.conv2d(first(net), 5))


@odd
def rows_above_an_image_that_lies_in_one_row(net: Net) -> bytes:
    y = mirror_pad(
        net, net.reshape(net.input((1, 1, 5, 3)), (1, 3, 5, 1)), [(0, 0), (1, 2), (1, 2), (0, 0)], reflect=False
    )
    return net.model(net.conv2d(net.pad(y, [(0, 0), (2, 1), (0, 1), (0, 1)], value=3), 1))


@odd
def a_scalar_operand(net: Net) -> bytes:
    y = net.binary("MUL", first(net), net.tensor((), data=np.int8(5)))
    return net.model(net.binary("SUB", net.tensor((), data=np.int8(-7)), y))


@odd
def vectors_of_one_dimension(net: Net) -> bytes:
    x = net.input((12,))
    return net.model(net.softmax(net.unary("RELU", net.add(x, x))), net.fully_connected(x, 3))


@odd
def batches_of_matrices(net: Net) -> bytes:
    a, b = net.input((2, 3, 4, 5)), net.input((2, 3, 5, 2))
    return net.model(net.op("BATCH_MATMUL", [a, b], [net.tensor((2, 3, 4, 2))], schema.BatchMatMulOptionsT()))


@odd
def one_buffer_of_two_scales(net: Net) -> bytes:
    """Two layers read the same weights and bias with different scales."""
    x = first(net)
    w, b = (deepcopy(last_constant(net, k)) for k in (1, 2))
    w.quantization.scale = np.array([0.003] * 4, np.float32)
    b.quantization.scale = w.quantization.scale * np.float32(DEFAULT[0])
    net.graph.tensors += [w, b]
    n = len(net.graph.tensors)
    options = schema.Conv2DOptionsT(strideH=1, strideW=1)
    return net.model(net.op("CONV_2D", [x, n - 2, n - 1], [net.tensor(IMAGE)], options), x)


@odd
def one_buffer_of_two_types(net: Net) -> bytes:
    """One buffer holds the weights and the bias."""
    x = net.conv2d(net.input(IMAGE), 16, bias=False)
    bias = deepcopy(last_constant(net, 1))
    bias.type, bias.shape = schema.TensorType.INT32, np.array([16], np.int32)
    net.graph.tensors.append(bias)
    operator = net.graph.operators[-1]
    operator.inputs = np.array([*operator.inputs, len(net.graph.tensors) - 1], np.int32)
    return net.model(net.conv2d(x, 3))


@odd
def weights_that_are_an_output(net: Net) -> bytes:
    x = first(net)
    return net.model(net.conv2d(x, 4), int(net.graph.operators[0].inputs[1]))


@odd
def weights_that_are_an_input(net: Net) -> bytes:
    y = net.conv2d(net.input(IMAGE), 4)
    last_constant(net, 1).buffer = 0
    net.graph.inputs.append(int(net.graph.operators[-1].inputs[1]))
    return net.model(net.conv2d(y, 3))


@odd
def biases_without_a_scale(net: Net) -> bytes:
    y = first(net)
    last_constant(net, 2).quantization = None
    return net.model(net.conv2d(y, 3))


@odd
def biases_that_are_absent_and_listed(net: Net) -> bytes:
    y = net.conv2d(net.input(IMAGE), 4, kernel=(3, 3), bias=False)
    z = net.fully_connected(y, 4, bias=False)
    for operator in net.graph.operators:
        operator.inputs = np.array([*operator.inputs, -1], np.int32)
    return net.model(z)


@odd
def an_activation_without_a_scale(net: Net) -> bytes:
    y = net.conv2d(net.input(IMAGE), 4)
    z = net.transpose(y, (0, 2, 1, 3))
    for tensor in (y, z):
        net.graph.tensors[tensor].quantization = schema.QuantizationParametersT()
    return net.model(z, net.conv2d(net.input(IMAGE), 4))


@odd
def one_input_listed_twice(net: Net) -> bytes:
    y = net.conv2d(first(net), 3)
    net.graph.inputs.append(net.graph.inputs[0])
    return net.model(y)


@odd
def names_that_are_absent(net: Net) -> bytes:
    y = net.conv2d(first(net), 4)
    for tensor in net.graph.tensors:
        tensor.name = None
    net.graph.name = net.tree.description = None
    return net.model(y)


@odd
def names_that_are_alike_and_no_text(net: Net) -> bytes:
    y = net.conv2d(first(net), 4)
    for tensor in net.graph.tensors:
        tensor.name = "NAME"
    return net.model(y).replace(b"NAME", b"\xff\xfe[b")


@odd
def operator_codes_listed_twice(net: Net) -> bytes:
    y = net.conv2d(first(net), 4)
    net.tree.operatorCodes.append(deepcopy(net.tree.operatorCodes[0]))
    net.graph.operators[1].opcodeIndex = 1
    return net.model(y)


@odd
def tensors_placed_by_another_tool(net: Net) -> bytes:
    tree = net.finished(net.conv2d(first(net), 4))
    at = [n * 512 if tensor.buffer == 0 else -1 for n, tensor in enumerate(net.graph.tensors)]
    writer.set_metadata(tree, "OfflineMemoryAllocation", np.array([1, 0, len(at), *at], "<i4"))
    return writer.write(tree)


@odd
def weights_that_are_all_alike(net: Net) -> bytes:
    """All weights of the first filter are -128, which no converter writes, and all weights of the second filter are
    0.
    """
    y = net.conv2d(net.input((1, 8, 8, 64)), 8, kernel=(3, 3))
    net.tree.buffers[last_constant(net, 1).buffer].data = np.full(8 * 9 * 64, 0x80, np.uint8)
    z = net.depthwise_conv2d(y)
    net.tree.buffers[last_constant(net, 1).buffer].data = np.zeros(9 * 8, np.uint8)
    return net.model(net.fully_connected(z, 4), net.conv2d(y, 2))


@odd
def a_view_of_another_scale(net: Net) -> bytes:
    y = net.reshape(first(net), (1, 16, 4, 4))
    net.graph.tensors[y].quantization.scale = np.array([0.9], np.float32)
    return net.model(net.conv2d(y, 3, kernel=(3, 3)))


@odd
def padded_views_of_another_zero_point(net: Net) -> bytes:
    """TFLM pads with the zero point of PAD's output, which differs from the zero point of the reshaped tensor."""
    steps = net.reshape(net.pad(net.input((1, 24, 4)), [(0, 0), (1, 2), (0, 0)]), (1, 1, 27, 4))
    image = net.reshape(net.pad(first(net), [(0, 0), (1, 0), (0, 2), (0, 0)]), (1, 9, 10, 4))
    for view in steps, image:
        net.graph.tensors[view].quantization.zeroPoint = np.array([100], np.int64)
    return net.model(net.conv2d(steps, 3, kernel=(1, 3)), net.conv2d(image, 3, kernel=(3, 3)))


@odd
def a_dilated_convolution_whose_parts_have_another_zero_point(net: Net) -> bytes:
    """TFLM's SPACE_TO_BATCH_ND copies bytes, and ignores the zero point of its output."""
    x = net.pad(first(net), [(0, 0), (2, 2), (2, 2), (0, 0)])
    blocks = space_to_batch(net, x, (2, 2), [(0, 0), (0, 0)])
    net.graph.tensors[blocks].quantization.zeroPoint = np.array([90], np.int64)
    y = net.conv2d(blocks, 4, kernel=(3, 3), padding="VALID")
    return net.model(batch_to_space(net, y, (2, 2), [(0, 0), (0, 0)]))


@odd
def parts_of_one_and_sums_of_one(net: Net) -> bytes:
    y = concatenation(net, split(net, first(net), 3, 1), 3)
    net.graph.operators[-1].builtinOptions.axis = -1
    return net.model(net.mean(net.pad(y, [(0, 0)] * 4), (3, -1)))


@odd
def a_shape_that_is_an_input(net: Net) -> bytes:
    """TFLM's RESHAPE ignores the operator's options, and uses the shape of the output tensor."""
    x = first(net)
    y = net.tensor((1, 16, 4, 4), affine=net.affine(x))
    net.op("RESHAPE", [x, net.input((4,), None, dtype="INT32")], [y], schema.ReshapeOptionsT())
    return net.model(net.conv2d(y, 3, kernel=(3, 3)))


@odd
def biases_scaled_along_a_dimension_that_they_lack(net: Net) -> bytes:
    """In TFLM's person_detect.tflite, a depthwise bias has one dimension, but its quantized dimension is 3."""
    y = net.depthwise_conv2d(net.conv2d(net.input((1, 18, 14, 3)), 8, kernel=(3, 3)))
    for op in net.graph.operators:
        _, filter_, bias = (net.graph.tensors[t].quantization for t in op.inputs)
        bias.scale, bias.zeroPoint = filter_.scale * net.affine(op.inputs[0])[0], filter_.zeroPoint
        bias.quantizedDimension = 3
    return net.model(y)


@pytest.mark.parametrize(("name", "kernels"), thinned(zip(ZOO, cycle(KERNELS), strict=False), 20))
def test_models_of_every_sort(name: str, kernels: Kernels) -> None:
    data = ZOO[name]()
    done = tflm_memopt.optimize(data, seconds=0.1, kernels=kernels)
    assert done.report.arena.total <= done.report.original_arena.total
    if done.report.changed:
        assert_same_bytes(data, done.model)
    else:
        assert done.model == data
        assert done.report.why_unchanged
    assert done.report.changed or name not in ("network", "branches", "unused_tensors")


def filter_at_run_time(net: Net, rows: int, units: int, depth: int) -> bytes:
    x = net.reshape(net.conv2d(net.input((1, rows, 1, 4)), depth), (1, rows, depth))
    weights = net.reshape(net.conv2d(net.input((1, units, 1, 3)), depth), (units, depth))
    y = net.tensor((rows, units), affine=(0.3, -13))
    options = schema.FullyConnectedOptionsT(fusedActivationFunction=0)
    return net.model(net.softmax(net.op("FULLY_CONNECTED", [x, weights, -1], [y], options)))


@odd
def a_dense_layer_whose_filter_is_computed(net: Net) -> bytes:
    return filter_at_run_time(net, 9, 80, 12)


@odd
def a_dense_layer_whose_filter_is_too_large(net: Net) -> bytes:
    return filter_at_run_time(net, 1, 300, 70)


@odd
def attention_of_many_wide_tokens(net: Net) -> bytes:
    """Both matrices of each product have more rows and columns than the library reads at once."""
    x = net.conv2d(net.input((1, 70, 1, 4)), 3 * 2 * 64)
    heads = net.transpose(net.reshape(x, (1, 70, 6, 64)), (0, 2, 1, 3))
    query, key, value = split(net, heads, 1, 3)
    found = net.softmax(net.batch_matmul(query, key, adjoint=True, out=(0.2, 3)))
    return net.model(net.mean(net.batch_matmul(found, value, adjoint=False, out=(0.02, -3)), (1, 2)))


def test_attention_of_many_wide_tokens() -> None:
    done = tflm_memopt.optimize(attention_of_many_wide_tokens(Net(seed=1)), seconds=0)
    assert not done.report.kept_builtin


def test_a_dense_layer_whose_filter_is_computed_runs_row_by_row() -> None:
    data = a_dense_layer_whose_filter_is_computed(Net(seed=1))
    done = tflm_memopt.optimize(data, seconds=0)
    assert not done.report.kept_builtin
    assert tflm_memopt.verify(data, done.model, runs=2).bit_exact


@odd
def a_call_once(net: Net) -> bytes:
    x = net.input((1, 8, 8, 4))
    net.op("CALL_ONCE", [], [x], schema.CallOnceOptionsT(initSubgraphIndex=1))
    net.graph.operators[-1].outputs = []
    return with_subgraphs(net, net.conv2d(x, 4), lambda: net.unary("RELU", net.input((1, 4))))


@odd
def layers_before_a_loop(net: Net) -> bytes:
    y = net.conv2d(net.conv2d(net.input((1, 16, 16, 3)), 8, kernel=(3, 3)), 4, kernel=(3, 3), stride=(2, 2))
    shape, options = net.shape(y), schema.WhileOptionsT(condSubgraphIndex=1, bodySubgraphIndex=2)
    y = net.op("WHILE", [y], [net.tensor(shape)], options)

    def condition() -> int:
        mean = net.mean(net.input(shape), (1, 2, 3))
        return net.op("LESS", [mean, net.tensor((1,), data=[50])], [net.tensor(net.shape(mean), "BOOL", None)])

    def body() -> int:
        return net.binary("MAXIMUM", net.input(shape), net.tensor((1,), data=[100]), out=DEFAULT)

    return with_subgraphs(net, net.fully_connected(net.conv2d(y, 4, kernel=(3, 3)), 5), condition, body)


def test_layers_before_a_loop() -> None:
    data = layers_before_a_loop(Net(seed=1))
    done = tflm_memopt.optimize(data, seconds=0.1)
    assert done.report.arena.head <= 0.8 * done.report.original_arena.head
    assert_arena_as_predicted(done.model, assert_same_bytes(data, done.model))
    source = read(done.model)
    offsets = offline_offsets(source.tree, sum(len(graph.tensors) for graph in source.graphs)) or ()
    placed, others = [i for i, offset in enumerate(offsets) if offset != ONLINE], source.graphs[1:]
    assert min(placed) >= max(sum(not t.constant for t in other.tensors.values()) for other in others)


def a_size_that_is_known_when_it_runs(net: Net) -> bytes:
    y = net.normalized(net.conv2d(net.input((1, 8, 8, 2)), 4))
    net.graph.tensors[y].shape = np.array([1, -1, 8, 4], np.int32)
    return net.model(y)


def an_input_that_is_a_constant(net: Net) -> bytes:
    constant = net.tensor((1, 4, 4, 2), data=np.zeros((1, 4, 4, 2)))
    net.graph.inputs.append(constant)
    return net.model(net.conv2d(net.input((1, 4, 4, 2)), 2), net.normalized(net.conv2d(constant, 2)))


@odd
def two_layers_with_the_same_weights(net: Net) -> bytes:
    """Three operators have the same weights, and two tensors of the file share the buffer of the weights."""
    x = net.conv2d(net.input((1, 8, 8, 4)), 4, kernel=(3, 3), out=DEFAULT)
    first = net.graph.operators[-1]
    options = schema.Conv2DOptionsT(strideH=1, strideW=1)
    y = net.op("CONV_2D", [x, *first.inputs[1:]], [net.tensor((1, 8, 8, 4))], options)
    twin = copy(net.graph.tensors[first.inputs[1]])
    twin.name = "twin"
    net.graph.tensors.append(twin)
    z = net.op("CONV_2D", [y, len(net.graph.tensors) - 1, first.inputs[2]], [net.tensor((1, 8, 8, 4))], options)
    return net.model(z, y)


@odd
def more_tensors_between_two_groups_than_an_operator_takes(net: Net) -> bytes:
    x = net.conv2d(net.input((1, 8, 8, 4)), 4)
    heads = [net.conv2d(x, 4, kernel=(3, 3), stride=(4, 4), out=(0.1, k)) for k in range(MAX_IO + 2)]
    return net.model(reduce(lambda a, b: net.add(a, b, out=(0.2, 0)), heads))


@odd
def a_chain_of_views_with_names_that_are_wanted(net: Net) -> bytes:
    flat = net.reshape(net.conv2d(net.input((1, 8, 8, 4)), 4), (1, 256))
    image = net.reshape(flat, (1, 16, 16, 1))
    return net.model(image, net.conv2d(image, 2), flat)


@odd
def a_view_of_an_input_that_is_an_output(net: Net) -> bytes:
    image = net.reshape(net.input((1, 64)), (1, 8, 8, 1))
    return net.model(net.conv2d(image, 3, kernel=(3, 3)), image)


@odd
def a_squeezed_image_read_pixel_by_pixel(net: Net) -> bytes:
    y = net.conv2d(net.input((1, 8, 1, 4)), 4)
    flat = net.op(
        "SQUEEZE", [y], [net.tensor((8, 4), affine=net.affine(y))], schema.SqueezeOptionsT(squeezeDims=[0, 2])
    )
    return net.model(net.fully_connected(flat, 3, batches=8))


@odd
def a_window_higher_than_a_kernel_takes(net: Net) -> bytes:
    return net.model(net.conv2d(net.input((1, 100, 4, 2)), 4, kernel=(100, 4), padding="VALID"))


@odd
def a_path_around_a_builtin_operator(net: Net) -> bytes:
    x = net.conv2d(net.input((1, 9, 9, 4)), 4, kernel=(3, 3))
    gate = net.normalized(x)
    y = net.add_n(gate, net.conv2d(x, 4, out=net.affine(gate)))
    return net.model(net.conv2d(y, 3), x)


@odd
def a_variable_that_is_an_output(net: Net) -> bytes:
    x, state = net.input((1, 4)), net.tensor((1, 4))
    net.graph.tensors[state].isVariable = True
    y = net.op("MUL", [x, state], [net.tensor((1, 4))], schema.MulOptionsT())
    return net.model(net.fully_connected(y, 3), state)


@odd
def a_concatenation_of_ten(net: Net) -> bytes:
    x = net.conv2d(net.input((1, 8, 7, 3)), 10, kernel=(3, 3))
    return net.model(net.conv2d(concatenation(net, split(net, x, 3, 10)[::-1], 3), 4))


@odd
def only_the_last_row_is_wanted(net: Net) -> bytes:
    x = net.conv2d(net.conv2d(net.input((1, 9, 9, 6)), 6, kernel=(3, 3)), 6)
    return net.model(slice_(net, x, [0, 8, 0, 0], [1, 1, -1, -1]))


def a_tensor_that_nothing_writes(net: Net) -> bytes:
    x = first(net)
    return net.model(net.add(x, net.tensor(IMAGE)))


def an_output_that_nothing_writes(net: Net) -> bytes:
    return net.model(net.conv2d(first(net), 4), net.tensor(IMAGE))


def a_subgraph_that_nobody_calls(net: Net) -> bytes:
    tree = net.finished(net.conv2d(first(net), 4))
    tree.subgraphs.append(deepcopy(tree.subgraphs[0]))
    return writer.write(tree)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        pytest.param(lambda _: ZOO["while"](), "a wrong shape, operator 0 LESS", id="while"),
        pytest.param(a_size_that_is_known_when_it_runs, str(DYNAMIC), id="dynamic"),
        pytest.param(an_input_that_is_a_constant, str(CONSTANT_INPUT), id="constant input"),
        pytest.param(a_subgraph_that_nobody_calls, "no operator calls subgraph 1", id="a subgraph that nobody calls"),
        pytest.param(a_tensor_that_nothing_writes, UNWRITTEN.why, id="a tensor that nothing writes"),
        pytest.param(an_output_that_nothing_writes, UNWRITTEN.why, id="an output that nothing writes"),
        pytest.param(lambda net: net.model(net.input(IMAGE)), "", id="no operator"),
        pytest.param(lambda net: net.model() if first(net) else b"", "", id="no output"),
        pytest.param(lambda net: net.model(net.conv2d(net.input((1, 0, 8, 4)), 5)), "", id="no rows"),
    ],
)
def test_left_as_it_is(build: Build, why: str) -> None:
    data = build(Net(seed=1))
    done = tflm_memopt.optimize(data, seconds=0)
    assert done.model == data
    assert why in done.report.why_unchanged != ""
