"""Every kind of model is diagnosed correctly, with advice."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from unit.cli.test_cli_refusals import dynamic_range
from unit.command import float_io, small, unsupported

import tflm_memopt
from tflm_memopt.analysis.diagnosis import diagnose
from tflm_memopt.model.reader import read


def edge_tpu() -> bytes:
    net = Net()
    return net.model(net.op("CUSTOM", [net.input((1, 8))], [net.tensor((1, 4))], custom_code="edgetpu-custom-op"))


def ethos_u() -> bytes:
    """A file as Vela writes it: commands, scratch and weights in one custom operator."""
    net = Net()
    x, y = net.input((1, 8, 8, 3)), net.tensor((1, 4))
    commands = net.tensor((64,), "UINT8", None, data=[0] * 64)
    return net.model(net.op("CUSTOM", [commands, x], [y], custom_code="ethos-u"))


def with_variable() -> bytes:
    net = Net(2)
    x = net.conv2d(net.input((1, 8, 8, 3)), 3)
    state = net.tensor((1, 8, 8, 3))
    net.graph.tensors[state].isVariable = True
    y = net.op("ADD", [x, state], [net.tensor((1, 8, 8, 3))], schema.AddOptionsT())
    return net.model(y)


def several_subgraphs() -> bytes:
    net = Net(3)
    y = net.conv2d(net.input((1, 8, 8, 3)), 3)
    tree = net.finished(y)
    own = schema.TensorT(shape=np.array([1, 4], np.int32), type=schema.TensorType.INT8, buffer=0, name="own")
    tree.subgraphs.append(schema.SubGraphT(tensors=[own], inputs=[], outputs=[], operators=[], name="never called"))
    return net.model(y)


def of_type(dtype: str) -> bytes:
    net = Net(4)
    x = net.input((1, 8, 8, 2), (0.05, 0), dtype=dtype)
    return net.model(net.op("LOGISTIC", [x], [net.tensor((1, 8, 8, 2), dtype, (0.01, 0))]))


def mixed() -> bytes:
    net = Net(5)
    x = net.conv2d(net.input((1, 8, 8, 3)), 4)
    middle = net.unary("ABS", net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None), dtype="FLOAT32", out=None)
    return net.model(net.conv2d(net.unary("QUANTIZE", middle), 2))


def copies() -> bytes:
    net = Net(6)
    x = net.input((1, 4), None, dtype="INT32")
    return net.model(net.op("CAST", [x], [net.tensor((1, 4), "INT64", None)], schema.CastOptionsT()))


def wrong_shape() -> bytes:
    net = Net(7)
    y = net.conv2d(net.input((1, 8, 8, 3)), 4)
    net.graph.tensors[y].shape = np.array([1, 9, 8, 4], np.int32)
    return net.model(y)


KINDS: Mapping[str, tuple[Callable[[], bytes], str]] = {
    "int8": (small, "int8 from input to output"),
    "int8_io": (float_io, "int8 with float32 input and output: --int8-io saves 12,096 of the 16,128 B that these take"),
    "int16": (lambda: of_type("INT16"), "int16 activations: int8 would take half the RAM"),
    "uint8": (lambda: of_type("UINT8"), "uint8 activations: quantize it to int8"),
    "float32": (unsupported, "float32: int8 would take about a quarter of the RAM, if"),
    "float16": (lambda: dynamic_range("FLOAT16"), "float32 with float16 weights: TFLM has no kernels for it"),
    "dynamic_range": (lambda: dynamic_range("CONV_2D"), "float32 with int8 weights (dynamic range quantization): "),
    "mixed": (mixed, "int8 and float32 (ABS): quantize all of it"),
    "state": (with_variable, "int8 from input to output, with state in 1 variable tensor: "),
    "subgraphs": (several_subgraphs, "int8 from input to output, in 2 subgraphs: it stays unchanged"),
    "undefined": (
        wrong_shape,
        "the file has a wrong shape, operator 0 CONV_2D: its inputs give [1, 8, 8, 4], the file says [1, 9, 8, 4]",
    ),
    "edge_tpu": (edge_tpu, "compiled for the Edge TPU: optimize what went into its compiler"),
    "ethos_u": (ethos_u, "compiled for Arm's Ethos-U: Vela has planned its memory"),
    "rewritten": (lambda: tflm_memopt.optimize(small()).model, "rewritten by tflm-memopt: optimize the original"),
    "other": (copies, "no operators that compute"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    make, says = KINDS[kind]
    found = diagnose(read(make()))
    assert found.kind == kind
    assert str(found).startswith(says)
