"""Test the addresses of slices that builtin operators need not copy (tflm/access_order.py)."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net

from tflm_memopt.model.reader import read
from tflm_memopt.rowgraph.graph import StoredIn
from tflm_memopt.tflm.access_order import parts

SHAPE = (1, 6, 4, 8)
Slice = tuple[list[int], list[int], list[int]]


def taken(begin: list[int], end: list[int], strides: list[int], mask: int = 0) -> StoredIn | None:
    """Return the place of a STRIDED_SLICE's output."""
    net = Net(1)
    x = net.conv2d(net.input(SHAPE), 8)
    shape = np.zeros(SHAPE, np.int8)[tuple(slice(*b) for b in zip(begin, end, strides, strict=True))].shape
    operands = [net.tensor((4,), "INT32", None, data=v) for v in (begin, end, strides)]
    y = net.tensor(shape, "INT8", net.affine(x))
    net.op("STRIDED_SLICE", [x, *operands], [y], schema.StridedSliceOptionsT(ellipsisMask=mask))
    graph = read(net.model(net.unary("RELU", y))).graph
    found = dict(parts(graph, graph.ops[1]))
    assert found.keys() <= {y} and all(part.storage == x for part in found.values())
    return found.get(y)


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        (([0, 2, 0, 0], [1, 6, 4, 8], [1, 1, 1, 1]), 64),
        (([0, 3, 2, 0], [1, 4, 4, 8], [1, 1, 1, 1]), 112),
        (([0, 3, 1, 0], [1, 4, 4, 8], [1, 1, 1, 1]), None),  # 104 is not a multiple of 16
        (([0, 0, 0, 0], [1, 6, 2, 8], [1, 1, 1, 1]), None),
        (([0, 0, 0, 0], [1, 6, 4, 8], [1, 2, 1, 1]), None),
        (([0, 0, 0, 0], [1, 6, 4, 4], [1, 1, 1, 1]), None),
    ],
)
def test_bytes_side_by_side_stay_where_they_are(wanted: Slice, first: int | None) -> None:
    found = taken(*wanted)
    assert (found and found.first) == first


def test_what_tflm_does_not_look_at_is_not_understood() -> None:
    assert taken([0, 2, 0, 0], [1, 6, 4, 8], [1, 1, 1, 1], mask=1) is None
