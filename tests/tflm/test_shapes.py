"""Compare shapes in the file with shapes inferred from inputs: the wheel shows what TFLM does if they differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import streaming
from ai_edge_litert import schema_py_generated as schema
from conftest import thinned
from models import Net
from moving import batch_to_space, space_to_batch
from property import oracle
from unit.analysis.arena_zoo import ZOO

import tflm_memopt
from tflm_memopt.model import writer
from tflm_memopt.model.graph import Op
from tflm_memopt.model.reader import Model, read
from tflm_memopt.tflm.builtin_memory import KERNELS
from tflm_memopt.tflm.shapes import RULES, wrong_shape

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")
Shape = tuple[int, ...]
NO_RULE = frozenset({
    "ASSIGN_VARIABLE", "CALL_ONCE", "CIRCULAR_BUFFER", "IF", "READ_VARIABLE", "VAR_HANDLE", "WHILE",
    "TMO_CONV_2D", "TMO_FULLY_CONNECTED", "TMO_GROUP", "TMO_REGION",
})  # fmt: skip
"""Operators whose outputs may have any shape, and our operators, which check theirs."""


def other_shapes(shape: Shape) -> list[Shape]:
    """Shapes with the same number of elements, in fewer or more dimensions, and shapes with one more row per
    dimension.
    """
    orders = [shape[k:] + shape[:k] for k in range(1, len(shape))]
    longer = [tuple(d + (k == axis) for k, d in enumerate(shape)) for axis in range(len(shape))]
    return [s for s in (shape[::-1], *orders, (math.prod(shape),), (1, *shape), *longer) if s != shape]


def up_to(model: Model, op: Op, tensor: int, shape: Shape) -> bytes:
    """Cut the model after this operator, with its output in this shape as the model's."""
    tree = writer.edit(model)
    (subgraph, *_) = tree.subgraphs
    subgraph.operators = subgraph.operators[: op.index + 1]
    subgraph.tensors[tensor].shape = np.array(shape, np.int32)
    subgraph.outputs = np.array([tensor], np.int32)
    return writer.write(tree)


def prepared(data: bytes) -> Shape | None:
    """Return the output's shape after TFLM prepared the model; None if TFLM refuses it."""
    try:
        return tuple(oracle.interpreter(data).get_output(0).shape)
    except RuntimeError:
        return None


def test_every_operator_has_a_rule() -> None:
    assert KERNELS.keys() - RULES.keys() == NO_RULE


@pytest.mark.parametrize("name", thinned(sorted(ZOO), 12))
def test_other_shapes_are_found(name: str) -> None:
    """These have another number of elements, or TFLM replaces them."""
    model = read(ZOO[name]())
    assert wrong_shape((model.graph,)) == ""
    for op in model.graph.ops:
        for tensor in op.outputs if op.type in RULES else ():
            right = model.graph.tensors[tensor]
            for shape in other_shapes(right.shape):
                data = up_to(model, op, tensor, shape)
                if math.prod(shape) != right.elements or prepared(data) not in (None, shape):
                    assert wrong_shape(read(data).graphs).startswith(f"operator {op.index} {op.type}"), shape


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
    assert wrong_shape(read(data).graphs) == ""
    tree = writer.edit(read(data))
    output = tree.subgraphs[0].tensors[tree.subgraphs[0].outputs[1]]
    right = tuple(output.shape.tolist())
    output.shape = np.array(right[::-1], np.int32)
    wrong = writer.write(tree)
    assert tuple(oracle.interpreter(wrong).get_output(1).shape) == right
    done = tflm_memopt.optimize(wrong, seconds=0)
    assert not done.report.changed
    assert f"its inputs give {[*right]}, the file says {[*right[::-1]]}" in done.report.why_unchanged


def dilated(batch: int, pads: int = 0) -> bytes:
    """A dilated convolution as Keras converts it: the batch is free, and the file states 1 after SPACE_TO_BATCH_ND."""
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


def test_inputs_that_do_not_fit_together() -> None:
    net = Net(1)
    y = net.conv2d(net.input((1, 8, 8, 2)), 3)
    net.graph.tensors[0].shape = np.array([1, 8, 8, 3], np.int32)
    assert wrong_shape(read(net.model(y)).graphs).endswith("the input has 3 channels, the filter is for 2")


def test_sizes_of_a_resource_variable() -> None:
    """TFLM copies as many bytes as the reader states."""
    net = Net(1)
    stream = streaming.Streaming(net)
    x = net.input((1, 4))
    read_back = stream.read("a", (1, 4))
    stream.assign("a", x)
    assert wrong_shape(read(net.model(read_back)).graphs) == ""
    net.graph.tensors[read_back].shape = np.array([1, 5], np.int32)
    assert "its value has 4 B, the same variable's elsewhere 5 B" in wrong_shape(read(net.model(read_back)).graphs)
