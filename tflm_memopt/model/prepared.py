"""Shapes that TFLM gives outputs when it prepares them, whatever the file says.

What reads such an output then sees another shape than we do: DEPTH_TO_SPACE, GATHER, ... call
CreateWritableTensorDimsWithCopy() (micro/kernels/kernel_util.cc). A converter states the very shapes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import describe

Shape = tuple[int, ...]


def other_shape(graph: Graph) -> str:
    """Where the file contradicts TFLM; "" when it does nowhere, or TFLM refuses the operands."""
    for op in graph.ops:
        if op.type in PREPARED and len(op.outputs) == 1:
            stated = graph.tensors[op.outputs[0]].shape
            with contextlib.suppress(KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
                given = PREPARED[op.type](op, [graph.tensors[t].shape for t in op.inputs])
                if given != stated:
                    return f"{describe(op)} makes {list(given)}, the model says {list(stated)}: it is left whole"
    return ""


def depth_to_space(op: Op, shapes: Sequence[Shape]) -> Shape:
    (n, h, w, c), b = shapes[0], op.options["blockSize"]
    return n, h * b, w * b, c // (b * b)


def space_to_depth(op: Op, shapes: Sequence[Shape]) -> Shape:
    (n, h, w, c), b = shapes[0], op.options["blockSize"]
    return n, h // b, w // b, c * b * b


def gather(op: Op, shapes: Sequence[Shape]) -> Shape:
    source, positions = shapes
    axis = op.options["axis"] % len(source)
    batches = op.options.get("batchDims", 0) % len(positions) if positions else 0
    return *source[:axis], *positions[batches:], *source[axis + 1 :]


def gather_nd(_: Op, shapes: Sequence[Shape]) -> Shape:
    source, positions = shapes
    return *positions[:-1], *source[positions[-1] :]


def embedding_lookup(_: Op, shapes: Sequence[Shape]) -> Shape:
    positions, source = shapes
    return positions[0], *source[1:]


def batch_matmul(op: Op, shapes: Sequence[Shape]) -> Shape:
    a, b = shapes
    rows, columns = a[-1 if op.options["adjX"] else -2], b[-2 if op.options["adjY"] else -1]
    return *np.broadcast_shapes(a[:-2], b[:-2]), rows, columns


def l2_pool(op: Op, shapes: Sequence[Shape]) -> Shape:
    n, h, w, c = shapes[0]
    same = op.options["padding"] == "SAME"
    high, wide = (
        -(-(d - (0 if same else op.options[f"filter{side}"] - 1)) // op.options[f"stride{side[0]}"])
        for d, side in ((h, "Height"), (w, "Width"))
    )
    return n, high, wide, c


PREPARED: Mapping[str, Callable[[Op, Sequence[Shape]], Shape]] = {
    "DEPTH_TO_SPACE": depth_to_space,
    "SPACE_TO_DEPTH": space_to_depth,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "BATCH_MATMUL": batch_matmul,
    "L2_POOL_2D": l2_pool,
}
