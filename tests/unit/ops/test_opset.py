"""Test which operators the converter leaves to TFLM, and which reasons the messages state."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from memories import lstm, svdf
from models import Net
from moving import resize

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.rowgraph.supported import to_row_ops

Edit = Callable[[Net], None]


def conv(net: Net, **options: Any) -> int:
    """Tensors 0 to 3 are the convolution's input, filter, output and bias."""
    return net.conv2d(net.input((1, 6, 5, 4)), 3, kernel=(3, 3), **options)


def batch_matmul(net: Net) -> int:
    matrices = net.input((2, 3, 4)), net.input((2, 4, 5))
    return net.op("BATCH_MATMUL", matrices, [net.tensor((2, 3, 5))], schema.BatchMatMulOptionsT(adjX=False, adjY=False))


def remembering(net: Net) -> int:
    """Tensors 0 to 5 are the SVDF's input, feature weights, time weights, bias, state and output."""
    return svdf(net, net.input((1, 6)), 4, rank=2, memory=3)


def recurrent(net: Net) -> int:
    """Tensors 1 to 8 are the LSTM's weights, tensors 9 to 12 are the biases, tensor 13 is the last output, and tensor
    14 is the cell state.
    """
    return lstm(net, net.input((1, 3, 6)), 4)


def without(*operands: int) -> Edit:
    def edit(net: Net) -> None:
        net.graph.operators[0].inputs[[*operands]] = -1

    return edit


def sharing(net: Net) -> int:
    y = svdf(net, net.input((1, 6)), 6, memory=3)
    z = svdf(net, y, 6, memory=3)
    net.graph.operators[1].inputs[4] = net.graph.operators[0].inputs[4]
    return z


def fields_of(found: Callable[[Net], Any], fields: Mapping[str, Any]) -> Edit:
    def edit(net: Net) -> None:
        for name, value in fields.items():
            setattr(found(net), name, value)

    return edit


def tensor(index: int, **fields: Any) -> Edit:
    return fields_of(lambda net: net.graph.tensors[index], fields)


def affine(index: int, scales: list[float], zero_points: list[int] | None = None) -> Edit:
    def edit(net: Net) -> None:
        q = net.graph.tensors[index].quantization
        q.scale = np.array(scales, np.float32)
        q.zeroPoint = np.array(zero_points or [0] * len(scales), np.int64)

    return edit


def option(**fields: Any) -> Edit:
    return fields_of(lambda net: net.graph.operators[0].builtinOptions, fields)


def operator(**fields: Any) -> Edit:
    return fields_of(lambda net: net.graph.operators[0], fields)


INT16, UINT8 = schema.TensorType.INT16, schema.TensorType.UINT8

MODELS: dict[str, Callable[[Net], int]] = {
    "depthwise": lambda net: net.depthwise_conv2d(net.input((1, 6, 5, 4))),
    "dense": lambda net: net.fully_connected(net.input((1, 20)), 3),
    "add": lambda net: net.add(net.input((1, 4, 4, 2)), net.input((1, 4, 4, 2))),
    "shifted_wide": lambda net: net.binary("SUB", net.input((1, 4, 4, 2)), net.tensor((2,), "INT16", data=[1, 2])),
    "pool": lambda net: net.pool(net.input((1, 4, 4, 2))),
    "mean": lambda net: net.mean(net.input((1, 4, 4, 2)), (1, 2)),
    "softmax": lambda net: net.softmax(net.input((1, 10))),
    "relu": lambda net: net.unary("RELU", net.input((1, 4, 4, 2))),
    "relu6": lambda net: net.unary("RELU6", net.input((1, 4, 4, 2))),
    "logistic": lambda net: net.unary("LOGISTIC", net.input((1, 4, 4, 2)), out=(1 / 256, -128)),
    "padded": lambda net: net.pad(net.input((1, 4, 5, 2)), [(0, 0), (1, 1), (0, 0), (0, 0)]),
    "resized": lambda net: resize(net, net.input((1, 4, 5, 2)), (6, 5), bilinear=True),
    "quantize": lambda net: net.unary("QUANTIZE", net.input((1, 4), None, dtype="FLOAT32")),
    "widen": lambda net: net.unary("QUANTIZE", net.input((1, 4)), dtype="INT16", out=(0.01, 0)),
    "dequantize": lambda net: net.unary("DEQUANTIZE", net.input((1, 4)), dtype="FLOAT32", out=None),
    "reshape": lambda net: net.reshape(net.input((1, 4, 4, 2)), (1, 32)),
    "conv": conv,
    "relu6 conv": lambda net: net.conv2d(net.input((1, 6, 5, 4)), 3, activation="RELU6"),
    "batch_matmul": batch_matmul,
    "remembering": remembering,
    "recurrent": recurrent,
}
CASES: list[tuple[str, Edit, str, str]] = [
    ("conv", operator(inputs=np.array([0], np.int32)), "count_of_operands", "1 inputs, 1 outputs"),
    ("conv", tensor(2, type=schema.TensorType.FLOAT32), "int8_or_int16", "tensor 2 't2' is FLOAT32"),
    ("conv", operator(builtinOptions=None, builtinOptionsType=0), "complete_options", "padding, strideH, strideW, "),
    ("conv", tensor(0, shape=np.array([-1, 6, 5, 4], np.int32)), "static_shapes", "tensor 0 'input0' has shape [-1, 6"),
    (
        "conv",
        tensor(0, shape=np.array([2, 6, 5, 4], np.int32)),
        "rank_four",
        "tensor 0 'input0' has shape [2, 6, 5, 4]",
    ),
    ("conv", tensor(0, quantization=None), "quantized", "tensor 0 'input0' has no scale"),
    ("conv", tensor(0, isVariable=True), "stateless", "tensor 0 'input0' is a variable"),
    ("conv", tensor(1, buffer=0), "int8_filter", "tensor 1 't1' is computed at run time"),
    ("conv", tensor(1, shape=np.array([27, 4], np.int32)), "filter_dimensions", "tensor 1 't1' has shape [27, 4]"),
    ("conv", affine(1, [0.1], [3]), "symmetric_filter", "tensor 1 't1' has zero point 3"),
    ("conv", tensor(3, buffer=0), "int32_bias", "tensor 3 't3' has no values"),
    ("conv", option(strideH=0), "window", "stride 0x1"),
    ("conv", option(fusedActivationFunction=4), "fused_activation", "it is TANH"),
    ("relu6 conv", affine(2, [1e-12]), "fused_activation", "scale 1e-12 of tensor 2 't2' is too small"),
    ("dense", option(weightsFormat=1), "default_weights_format", "weightsFormat 1"),
    ("dense", affine(3, [5.0]), "bias_scale", "tensor 3 't3' has scale 5, not "),
    ("add", tensor(1, shape=np.array([2, 2, 4, 2], np.int32)), "broadcast", "[1, 4, 4, 2] and [2, 2, 4, 2] and [1, 4"),
    ("shifted_wide", lambda _: None, "constant_operand", "tensor 1 't1' is INT16 [2]"),
    ("add", affine(2, [1e-9]), "add_scales", "inputs 0.05 and 0.05, output 1e-09"),
    ("pool", affine(1, [0.3]), "pool_keeps_scale", "scales 0.05 and 0.3, zero points -3 and 0"),
    ("mean", tensor(1, buffer=0), "reduced_axes", "its axes are not a constant int32 tensor"),
    ("softmax", affine(1, [0.01]), "softmax_output", "scale 0.01, zero point 0"),
    ("softmax", affine(0, [1e-9]), "softmax_scale", "scale 1e-09, beta 1"),
    ("softmax", affine(0, [1e9]), "executable", "a rescaling by 2^31, at most 2^30"),
    (
        "relu",
        tensor(0, shape=np.array([2, 4, 2, 2], np.int32)),
        "batch_one",
        "tensor 0 'input0' has shape [2, 4, 2, 2]",
    ),
    ("relu6", affine(0, [1e-45]), "tabulated", "input scale 1.4"),
    ("logistic", affine(1, [1 / 256], [3]), "logistic_output", "zero point 3"),
    ("batch_matmul", option(adjX=True), "plain_matrices", "adj_x is set"),
    ("padded", affine(2, [0.1], [300]), "regular_moves", "its operands and shapes do not fit (it pads with 300)"),
    ("quantize", tensor(1, type=UINT8), "quantize_types", "FLOAT32 to UINT8"),
    ("quantize", tensor(0, shape=np.array([2, 2], np.int32)), "same_shape", "[2, 2] and [1, 4]"),
    ("quantize", affine(1, [0.1, 0.2]), "one_scale", "tensor 1 't1' has 2 scales"),
    ("widen", affine(1, [1e-12]), "rescalable", "a rescaling by 2^36"),
    ("dequantize", tensor(0, type=UINT8), "dequantize_types", "UINT8 to FLOAT32"),
    ("reshape", tensor(1, buffer=0), "plain_view", "tensor 1 't1' is computed at run time"),
    ("reshape", tensor(2, type=UINT8), "plain_view", "INT8 to UINT8"),
    ("reshape", tensor(2, shape=np.array([1, 30], np.int32)), "plain_view", "[1, 4, 4, 2] to [1, 30]"),
    ("reshape", tensor(0, isVariable=True), "plain_view", "tensor 0 'input0' is a variable"),
    ("remembering", tensor(4, isVariable=False), "own_variables", "tensor 4 't4' is not a variable"),
    ("remembering", tensor(4, type=INT16), "int8_svdf", "tensor 4 't4' is INT16, not INT8"),
    ("remembering", option(rank=3), "svdf_shapes", "8 filters of rank 3"),
    ("remembering", affine(3, [0.1]), "svdf_bias_scale", "tensor 3 't3' has scale 0.1, the sums 0.001"),
    ("remembering", lambda _: None, "one_region", ""),
    ("recurrent", without(1, 5, 12), "lstm_operands", "operand 1 is missing"),
    ("recurrent", tensor(14, type=schema.TensorType.INT8), "int8_lstm", "tensor 14 't14' is INT8, not INT16"),
    ("recurrent", tensor(14, shape=np.array([1, 5], np.int32)), "lstm_shapes", "tensor 14 't14' has shape [1, 5]"),
    ("recurrent", affine(14, [0.001]), "cell_scale", "tensor 14 't14' has scale 0.001"),
    ("recurrent", option(fusedActivationFunction=1), "cell_activation", "it is RELU"),
]


def test_a_state_has_one_owner() -> None:
    net = Net()
    support = to_row_ops(read(net.model(sharing(net))).graph)
    assert [(s.code, s.detail) for s in support.values() if isinstance(s, Unsupported)] == [
        ("own_variables", "tensor 4 't4' is also used elsewhere")
    ] * 2


@pytest.mark.parametrize(("name", "edit", "code", "detail"), CASES, ids=[f"{c[0]}-{c[2]}-{c[3]}" for c in CASES])
def test_what_stays_builtin_and_why(name: str, edit: Edit, code: str, detail: str) -> None:
    net = Net()
    y = MODELS[name](net)
    edit(net)
    (result,) = to_row_ops(read(net.model(y)).graph).values()
    assert isinstance(result, Unsupported)
    assert result.code == code
    assert result.detail.startswith(detail)
    assert result.reason
    assert result.hint
    assert "builtin" not in result.hint, "that it stays builtin is what happened, and no advice"


def test_the_operator_of_a_rewritten_model_is_not_called_unsupported() -> None:
    net = Net()
    once = tflm_memopt.optimize(net.model(net.conv2d(conv(net), 4, kernel=(3, 3))), effort=0.05)
    (kept,) = tflm_memopt.optimize(once.model, effort=0.05).report.kept_builtin
    assert (kept.code, kept.hint) == ("rewritten", "optimize the original model")


def test_int16_that_tflm_would_compute_in_another_way() -> None:
    def refused(net: Net, y: int) -> Unsupported:
        (result,) = to_row_ops(read(net.model(y)).graph).values()
        assert isinstance(result, Unsupported)
        return result

    net = Net(activations="INT16")
    y = conv(net)
    net.graph.tensors[0].quantization.zeroPoint = np.array([5])
    assert (refused(net, y).code, refused(net, y).detail) == ("int8_or_int16", "tensor 0 'input0' has zero point 5")
    net = Net(activations="INT16")
    y = net.binary("SUB", net.input((1, 4, 4, 2)), net.tensor((2,), "INT16", (0.1, 3), data=[1, 2]))
    assert (refused(net, y).code, refused(net, y).detail) == (
        "constant_operand",
        "tensor 1 't1' has scale 0.1, zero point 3",
    )
    net = Net(activations="INT16")
    y = conv(net, bias=False)
    net.graph.operators[0].builtinOptions.quantizedBiasType = schema.TensorType.INT32
    assert refused(net, y).code == "int32_bias"
    net = Net(activations="INT16")
    y = conv(net)
    net.graph.tensors[2].quantization.scale = np.array([2e-6], np.float32)
    assert refused(net, y).code == "executable"
