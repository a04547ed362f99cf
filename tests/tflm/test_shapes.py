"""Compare shapes in a file with shapes that follow from the inputs. The official wheel shows what TFLM does if two
shapes differ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from conftest import thinned
from models import Net
from moving import batch_to_space, space_to_batch
from property import oracle
from unit.analysis.arena_zoo import ZOO

import tflm_memopt
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
    """Remove the operators after `op`, and let the model return `tensor` in another shape."""
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
    """A wrong shape is found if it has another number of elements or if TFLM replaces it."""
    model = read(ZOO[name]())
    assert wrong_shape((model.graph,)) == ""
    for op in model.graph.ops:
        for tensor in op.outputs if op.type in RULES else ():
            right = model.graph.tensors[tensor]
            for shape in other_shapes(right.shape):
                data = up_to(model, op, tensor, shape)
                if math.prod(shape) != right.elements or prepared(data) not in (None, shape):
                    assert wrong_shape(read(data).graphs).startswith(f"operator {op.index} {op.type}"), shape


def dilated(batch: int, pads: int = 0) -> bytes:
    """Return a dilated convolution as Keras converts it, with this batch after SPACE_TO_BATCH_ND."""
    net = Net(1)
    x = net.input((1, 8, 8, 2))
    net.graph.tensors[x].shapeSignature = np.array([-1, 8, 8, 2], np.int32)
    y = space_to_batch(net, x, (2, 2), ((pads, 0), (pads, 0)))
    net.graph.tensors[y].shape = np.array([batch, *net.shape(y)[1:]], np.int32)
    y = net.conv2d(y, 3, kernel=(2, 2), padding="VALID")
    return net.model(batch_to_space(net, y, (2, 2), ((0, 0), (0, 0))) if batch == 4 else y)


@pytest.mark.parametrize("ops", ["region", "builtin"])
def test_dilated_convolutions_of_a_free_batch(ops: Any) -> None:
    right, wrong, padded = (
        tflm_memopt.optimize(data, seconds=0, ops=ops).report.why_unchanged
        for data in (dilated(4), dilated(1), dilated(4, 2))
    )
    assert "SPACE_TO_BATCH_ND" not in right
    assert "its inputs give [4, 4, 4, 2], the file says [1, 4, 4, 2]" in wrong
    assert "SPACE_TO_BATCH_ND pads with a value that TFLM never sets" in padded
    assert "batch_size=1" in wrong and "batch_size=1" in padded


def test_verify_reports_that_results_are_undefined() -> None:
    """Two runs of a model with a wrong batch may differ, even if the model was left unchanged."""
    model = dilated(1)
    found = tflm_memopt.verify(model, model, runs=1)
    assert "its inputs give [4, 4, 4, 2]" in found.undefined and "batch_size=1" in found.undefined
    assert found.bit_exact or found.answer.startswith("DIFFERENT, but TFLM's results of the original are undefined")
    assert not tflm_memopt.verify(dilated(4), dilated(4), runs=1).undefined
