"""The check of shapes finds the wrong shapes that the official TFLM wheel refuses or replaces."""

import math

import numpy as np
import pytest
from conftest import thinned
from property import oracle
from unit.analysis.arena_zoo import ZOO

from tflm_memopt.model import writer
from tflm_memopt.model.graph import Op
from tflm_memopt.model.reader import Model, read
from tflm_memopt.tflm.shapes import RULES, wrong_shape

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")
Shape = tuple[int, ...]


def other_shapes(shape: Shape) -> list[Shape]:
    orders = [shape[k:] + shape[:k] for k in range(1, len(shape))]
    longer = [tuple(d + (k == axis) for k, d in enumerate(shape)) for axis in range(len(shape))]
    return [s for s in (shape[::-1], *orders, (math.prod(shape),), (1, *shape), *longer) if s != shape]


def up_to(model: Model, op: Op, tensor: int, shape: Shape) -> bytes:
    tree = writer.edit(model)
    (subgraph, *_) = tree.subgraphs
    subgraph.operators = subgraph.operators[: op.index + 1]
    subgraph.tensors[tensor].shape = np.array(shape, np.int32)
    subgraph.outputs = np.array([tensor], np.int32)
    return writer.write(tree)


def prepared(data: bytes) -> Shape | None:
    try:
        return tuple(oracle.interpreter(data).get_output(0).shape)
    except RuntimeError:
        return None


@pytest.mark.parametrize("name", thinned(sorted(ZOO), 12))
def test_other_shapes_are_found(name: str) -> None:
    model = read(ZOO[name]())
    assert wrong_shape((model.graph,)) == ""
    for op in model.graph.ops:
        for tensor in op.outputs if op.type in RULES else ():
            right = model.graph.tensors[tensor]
            for shape in other_shapes(right.shape):
                data = up_to(model, op, tensor, shape)
                if math.prod(shape) != right.elements or prepared(data) not in (None, shape):
                    assert wrong_shape(read(data).graphs).startswith(f"operator {op.index} {op.type}"), shape
