"""Test int16 operators against TFLM: functions of every value, and sums without a bias."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from moving import transpose_conv
from tflm.test_operators import assert_equal

from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import to_row_ops

EVERY = np.arange(-(1 << 15), 1 << 15, dtype=np.int16).reshape(1, 256, 16, 16)


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("scale", [2**-12, 2**-11, 1.0004 * 2**-12, 1.002 * 2**-12, 0.0004, 1e-8, 0.01, 2.5])
def test_curves_of_every_value(kind: str, scale: float) -> None:
    net = Net(activations="INT16")
    y = net.unary(kind, net.input(EVERY.shape, (scale, 0)), dtype="INT16", out=(2**-15, 0))
    assert_equal(net.model(y), also=[EVERY])


@pytest.mark.parametrize("kind", ["RELU", "RELU6", "ABS"])
@pytest.mark.parametrize("out", [0.001, 0.0004, 0.0031])
def test_slopes_of_every_value(kind: str, out: float) -> None:
    net = Net(activations="INT16")
    y = net.unary(kind, net.input(EVERY.shape, (0.001, 0)), dtype="INT16", out=(out, 0))
    assert_equal(net.model(y), also=[EVERY])


@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("bias_type", ["INT64", "INT32"])
def test_operators_without_bias_say_how_many_bits_their_sums_have(kind: str, bias_type: str) -> None:
    """An operator without a bias stays builtin only if TFLM would sum in int32."""
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
        (support,) = to_row_ops(canonicalise(read(net.model(made)).graph).graph).values()
        assert getattr(support, "code", "") == "int32_bias"
    else:
        assert_equal(net.model(made))
