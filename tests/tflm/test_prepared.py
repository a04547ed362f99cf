"""Shapes that TFLM gives outputs, whatever the file says: the wheel shows them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import thinned
from models import Net
from property import oracle
from unit.analysis.arena_zoo import ZOO

import tflm_memopt
from tflm_memopt.model import writer
from tflm_memopt.model.graph import Op
from tflm_memopt.model.prepared import PREPARED, other_shape
from tflm_memopt.model.reader import Model, read

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")
Shape = tuple[int, ...]
STRICT = frozenset({
    "BROADCAST_TO", "CEIL", "CUMSUM", "EXP", "EXPAND_DIMS", "FILL", "LOG_SOFTMAX", "PAD", "PADV2", "ROUND",
    "STRIDED_SLICE", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM",
})  # fmt: skip
"""Whose outputs TFLM refuses in any shape but their own."""


def other_shapes(shape: Shape) -> list[Shape]:
    """As many elements in another order, in fewer dimensions or in more; and one row more in each dimension."""
    orders = [shape[k:] + shape[:k] for k in range(1, len(shape))]
    longer = [tuple(d + (k == axis) for k, d in enumerate(shape)) for axis in range(len(shape))]
    return [s for s in (shape[::-1], *orders, (math.prod(shape),), (1, *shape), *longer) if s != shape]


def up_to(model: Model, op: Op, tensor: int, shape: Shape) -> bytes:
    """The model's operators up to this one, with its output in this shape as the model's."""
    tree = writer.edit(model)
    (subgraph, *_) = tree.subgraphs
    subgraph.operators = subgraph.operators[: op.index + 1]
    subgraph.tensors[tensor].shape = np.array(shape, np.int32)
    subgraph.outputs = np.array([tensor], np.int32)
    return writer.write(tree)


def prepared(data: bytes) -> Shape | None:
    """The output's shape when TFLM has prepared the model; None where it refuses it."""
    try:
        return tuple(oracle.interpreter(data).get_output(0).shape)
    except RuntimeError:
        return None


@pytest.mark.parametrize("name", thinned(sorted(ZOO), 12))
def test_no_other_operator_gives_its_output_another_shape(name: str) -> None:
    model = read(ZOO[name]())
    for op in model.graph.ops:
        for tensor in op.outputs if op.type not in PREPARED else ():
            if model.graph.tensors[tensor].dtype == "RESOURCE":
                continue  # no output of a model: it has no shape that anybody could ask for
            shapes = other_shapes(model.graph.tensors[tensor].shape)
            given = [prepared(up_to(model, op, tensor, shape)) for shape in shapes]
            assert all(one in (None, shape) for one, shape in zip(given, shapes, strict=True)), op
            assert any(given) == (op.type not in STRICT), op


def depth_to_space(net: Net) -> int:
    x = net.input((1, 2, 3, 8))
    return net.op("DEPTH_TO_SPACE", [x], [net.tensor((1, 4, 6, 2))], schema.DepthToSpaceOptionsT(blockSize=2))


def space_to_depth(net: Net) -> int:
    x = net.input((1, 4, 6, 2))
    return net.op("SPACE_TO_DEPTH", [x], [net.tensor((1, 2, 3, 8))], schema.SpaceToDepthOptionsT(blockSize=2))


def gather(shape: Shape, positions: Shape, output: Shape, axis: int, batches: int = 0) -> Callable[[Net], int]:
    def build(net: Net) -> int:
        which = net.tensor(positions, "INT32", None, data=np.zeros(positions))
        options = schema.GatherOptionsT(axis=axis, batchDims=batches)
        return net.op("GATHER", [net.input(shape), which], [net.tensor(output)], options)

    return build


def gather_nd(net: Net) -> int:
    which = net.tensor((5, 2), "INT32", None, data=np.zeros((5, 2)))
    return net.op("GATHER_ND", [net.input((2, 3, 4)), which], [net.tensor((5, 4))], schema.GatherNdOptionsT())


def embedding_lookup(net: Net) -> int:
    table = net.tensor((4, 3, 2), data=np.zeros((4, 3, 2)))
    return net.op("EMBEDDING_LOOKUP", [net.input((5,), None, dtype="INT32"), table], [net.tensor((5, 3, 2))])


def batch_matmul(a: Shape, b: Shape, output: Shape, *, x: bool = False, y: bool = False) -> Callable[[Net], int]:
    def build(net: Net) -> int:
        options = schema.BatchMatMulOptionsT(adjX=x, adjY=y)
        return net.op("BATCH_MATMUL", [net.input(a), net.input(b)], [net.tensor(output)], options)

    return build


def l2_pool(padding: int, output: Shape) -> Callable[[Net], int]:
    def build(net: Net) -> int:
        x, y = net.input((1, 7, 8, 2), None, dtype="FLOAT32"), net.tensor(output, "FLOAT32", None)
        options = schema.Pool2DOptionsT(padding=padding, strideH=2, strideW=3, filterHeight=3, filterWidth=2)
        return net.op("L2_POOL_2D", [x], [y], options)

    return build


@pytest.mark.parametrize(
    "build",
    [
        depth_to_space,
        space_to_depth,
        gather((3, 4, 5), (2, 6), (3, 2, 6, 5), 1),
        gather((3, 4, 5), (2,), (3, 4, 2), -1),
        gather((3, 4, 5), (3, 2), (3, 2, 5), 1, 1),
        gather((3, 4, 5), (3, 2), (3, 2, 5), 1, -1),
        gather_nd,
        embedding_lookup,
        batch_matmul((2, 3, 4), (2, 4, 5), (2, 3, 5)),
        batch_matmul((1, 4, 3), (6, 5, 4), (6, 3, 5), x=True, y=True),
        batch_matmul((6, 3, 4), (4, 5), (6, 3, 5)),
        l2_pool(schema.Padding.SAME, (1, 4, 3, 2)),
        l2_pool(schema.Padding.VALID, (1, 3, 3, 2)),
    ],
)
def test_models_that_contradict_tflm_are_left_whole(build: Callable[[Net], Any]) -> None:
    net = Net()
    data = net.model(net.conv2d(net.input((1, 6, 5, 4)), 4), build(net))
    assert other_shape(read(data).graph) == ""
    tree = writer.edit(read(data))
    output = tree.subgraphs[0].tensors[tree.subgraphs[0].outputs[1]]
    right = tuple(output.shape.tolist())
    output.shape = np.array(right[::-1], np.int32)
    wrong = writer.write(tree)
    assert tuple(oracle.interpreter(wrong).get_output(1).shape) == right
    done = tflm_memopt.optimize(wrong, seconds=0)
    assert not done.report.changed
    assert f"makes {[*right]}, the model says {[*right[::-1]]}" in done.report.why_unchanged
