"""Operators on batches and on more than four dimensions run row by row and have the same output bytes as in TFLM."""

import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Affine, Net
from property.oracle import assert_same_bytes, rewrite_whole

SHAPES = ((1, 2, 3, 4, 5), (2, 2, 1, 3, 4, 5), (70, 3, 5), (66, 2, 3, 4))
OUTPUTS: dict[str, Affine] = {
    "ABS": (0.05, -3), "LOGISTIC": (1 / 256, -128), "LOG_SOFTMAX": (16 / 256, 127), "SOFTMAX": (1 / 256, -128),
}  # fmt: skip
FLOATS = ("CEIL", "EXP", "FLOOR", "LOG_SOFTMAX", "ROUND", "SOFTMAX", "SQUARE")


def applied(net: Net, kind: str, x: int, dtype: str, out: Affine | None) -> int:
    options = schema.SoftmaxOptionsT(beta=1.0) if kind == "SOFTMAX" else None
    return net.unary(kind, x, dtype=dtype, out=out, options=options)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", OUTPUTS)
def test_int8(kind: str, shape: tuple[int, ...]) -> None:
    net = Net()
    data = net.model(applied(net, kind, net.input(shape), "INT8", OUTPUTS[kind]))
    assert_same_bytes(data, rewrite_whole(data))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", FLOATS)
def test_float32(kind: str, shape: tuple[int, ...]) -> None:
    net = Net()
    data = net.model(applied(net, kind, net.input(shape, None, dtype="FLOAT32"), "FLOAT32", None))
    assert_same_bytes(data, rewrite_whole(data))


@pytest.mark.parametrize("shape", SHAPES)
def test_operands_that_are_broadcast(shape: tuple[int, ...]) -> None:
    net = Net()
    x = net.input(shape)
    for size in (shape[-1:], (*shape[:-1], 1), (1,) * len(shape)):
        x = net.binary("MUL", x, net.tensor(size, data=net.rng.integers(-128, 128, size)))
    data = net.model(net.binary("ADD", x, net.input(shape)))
    assert_same_bytes(data, rewrite_whole(data))


def test_windows_of_an_image() -> None:
    """In a window transformer, the matrices of attention have one batch for each window and head."""
    net = Net(2)
    x = net.reshape(net.input((1, 16, 16, 4)), (8, 2, 8, 2, 4))
    x = net.reshape(net.transpose(x, (0, 2, 1, 3, 4)), (64, 4, 4))
    rows = net.op("FULLY_CONNECTED", _dense(net, x, 8), [net.tensor((64, 4, 8))], _kept())
    halves = net.transpose(net.reshape(rows, (64, 4, 2, 4)), (0, 2, 1, 3))
    y = net.reshape(halves, (128, 4, 4))
    y = net.op("SOFTMAX", [y], [net.tensor((128, 4, 4), affine=(1 / 256, -128))], schema.SoftmaxOptionsT(beta=1.0))
    data = net.model(net.reshape(y, (1, 512, 4)))
    assert_same_bytes(data, rewrite_whole(data))


def _dense(net: Net, x: int, channels: int) -> list[int]:
    shape = (channels, net.shape(x)[-1])
    return [x, net.tensor(shape, affine=(0.01, 0), data=net.rng.integers(-127, 128, shape)), -1]


def _kept() -> schema.FullyConnectedOptionsT:
    return schema.FullyConnectedOptionsT(keepNumDims=True)
