"""Compare shapes in a file with shapes that follow from the inputs, and with what the official wheel does."""

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
    """Return shapes with the same number of elements, and shapes that are longer by 1 in one dimension."""
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
    """Return the output's shape after TFLM prepared the model, or None if TFLM refuses it."""
    try:
        return tuple(oracle.interpreter(data).get_output(0).shape)
    except RuntimeError:
        return None


@pytest.mark.parametrize("name", thinned(sorted(ZOO), 12))
def test_other_shapes_are_found(name: str) -> None:
    """The check finds shapes with a wrong number of elements, and shapes that TFLM replaces."""
    model = read(ZOO[name]())
    assert wrong_shape((model.graph,)) == ""
    for op in model.graph.ops:
        for tensor in op.outputs if op.type in RULES else ():
            right = model.graph.tensors[tensor]
            for shape in other_shapes(right.shape):
                data = up_to(model, op, tensor, shape)
                if math.prod(shape) != right.elements or prepared(data) not in (None, shape):
                    assert wrong_shape(read(data).graphs).startswith(f"operator {op.index} {op.type}"), shape
