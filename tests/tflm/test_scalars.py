"""Scalars run row by row, like vectors of one number, and have the same output bytes as in TFLM."""

import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from property.oracle import assert_same_bytes, rewrite_whole

from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.scalars import with_dimension

IMAGE = (1, 8, 6, 4)


def reduced(net: Net, kind: str, x: int, dtype: str) -> int:
    axes = net.tensor((4,), "INT32", None, data=[0, 1, 2, 3])
    affine = net.affine(x) if dtype == "INT8" else None
    return net.op(kind, [x, axes], [net.tensor((), dtype, affine)], schema.ReducerOptionsT(keepDims=False))


def standardized(dtype: str) -> bytes:
    net = Net(1)
    x = net.input(IMAGE, (0.05, -3) if dtype == "INT8" else None, dtype=dtype)
    y = net.binary("SUB", x, reduced(net, "MEAN", x, dtype))
    y = net.binary("MUL", y, net.unary("ABS", reduced(net, "REDUCE_MAX", y, dtype), dtype=dtype))
    return net.model(y, reduced(net, "SUM", y, dtype))


@pytest.mark.parametrize("dtype", ["INT8", "FLOAT32"])
def test_an_image_is_standardized(dtype: str) -> None:
    data = standardized(dtype)
    assert_same_bytes(data, rewrite_whole(data))


def test_other_readers_get_a_scalar() -> None:
    net = Net(1)
    x = net.input(IMAGE)
    read_by_pack, other = reduced(net, "MEAN", x, "INT8"), reduced(net, "REDUCE_MIN", x, "INT8")
    pair = [read_by_pack, read_by_pack]
    both = net.op("PACK", pair, [net.tensor((2,))], schema.PackOptionsT(valuesCount=2, axis=0))
    graph = read(net.model(both, net.binary("ADD", x, other))).graph
    found = with_dimension(graph)
    assert (found.tensors[read_by_pack].shape, found.tensors[other].shape) == ((), (1,))
    assert with_dimension(graph, [graph.ops[1].index]) == graph
