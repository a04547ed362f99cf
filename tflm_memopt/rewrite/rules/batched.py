"""Splits operators on a batch of images into one operator per image, which can then run row by row.

If an operator or the model's caller needs the whole batch, a CONCATENATION joins the images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tflm_memopt.model.graph import ABSENT, Graph, Op, Tensor, TensorId, without_dead
from tflm_memopt.ops.context import COMPARISONS, PIECE, REDUCTIONS
from tflm_memopt.ops.opset import OPSET
from tflm_memopt.rewrite.rules import grouped
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, has_rows

MAX_IMAGES = 64
"""Maximum number of images in a batch, because each image has its own operators in the program."""
MAX_OPERATORS = 2_048
"""Maximum number of operators in the graph after batches were split."""
JOINED = "CONCATENATION"
ALONE = frozenset(
    {
        "ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "DEQUANTIZE", "DIV", "ELU",
        "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "LOG_SOFTMAX", "MAXIMUM", "MAX_POOL_2D", "MINIMUM", "MUL", "PRELU",
        "QUANTIZE", "RELU", "RELU6", "RELU_N1_TO_1", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SELECT_V2",
        "SOFTMAX", "SPACE_TO_DEPTH", "SQUARED_DIFFERENCE", "SUB", "TANH", "TRANSPOSE_CONV", *COMPARISONS,
    }
) | REDUCTIONS  # fmt: skip


def _has_batch(graph: Graph, op: Op) -> bool:
    """Return whether the operator must be copied for each image of a batch."""
    if op.type not in ALONE or op.type not in OPSET or len(op.outputs) != 1 or PIECE in op.options:
        return False
    output = graph.tensors[op.outputs[0]]
    images = output.shape[0] if len(output.shape) > 1 else 1
    if not 1 < images <= MAX_IMAGES or not all(_fits(graph.tensors[t], images) for t in op.inputs if t != ABSENT):
        return False
    return not _joins(graph, images).keys().isdisjoint(op.inputs) or not has_rows(graph, op)


def _joins(graph: Graph, images: int) -> dict[TensorId, Op]:
    return {
        op.outputs[0]: op
        for op in graph.ops
        if op.type == JOINED
        and len(op.inputs) == images
        and int(op.options.get("axis", -1)) == 0
        and all(t != ABSENT and graph.tensors[t].shape[:1] == (1,) for t in op.inputs)
    }


def _fits(tensor: Tensor, images: int) -> bool:
    return tensor.constant or (len(tensor.shape) > 1 and tensor.shape[0] == images)


def rewrite(graph: Graph, op: Op) -> Graph | None:
    """Copy the operator for each image. All operators for one image come before the operators for the next image."""
    if not _has_batch(graph, op):
        return None
    images = graph.tensors[op.outputs[0]].shape[0]
    if _depends_on_image(graph, op) or len(graph.ops) + images * (1 + len(op.inputs)) > MAX_OPERATORS:
        return None
    extended, each, join = _each(graph, op)
    if not all(has_rows(extended, part) or grouped.rewrite(extended, part) is not None for part in each[0]):
        return None
    made = {t: n for n, o in enumerate(graph.ops) for t in o.outputs}
    place = graph.ops.index(op)
    behind: dict[int, list[Op]] = {}
    for image in each:
        makers = [made[t] for o in image for t in o.inputs if t in made]
        behind.setdefault(max(makers, default=place), []).extend(image)
    order: list[Op] = []
    for n, o in enumerate(graph.ops):
        order += [*behind.get(n, ()), join] if n == place else [o, *behind.get(n, ())]
    joined = replace(extended, ops=tuple(order))
    return without_dead(joined, lambda o: o.type != JOINED or o.outputs[0] not in op.inputs)


def _depends_on_image(graph: Graph, op: Op) -> bool:
    if op.type in REDUCTIONS:
        rank, axes = len(graph.tensors[op.inputs[0]].shape), graph.tensors[op.inputs[1]].data
        return axes is None or 0 in {int(axis) % rank for axis in axes.ravel()}
    return any(_varies(graph, op, t) for t in op.inputs if t != ABSENT)


def _varies(graph: Graph, op: Op, operand: TensorId) -> bool:
    tensor, output = graph.tensors[operand], graph.tensors[op.outputs[0]]
    alike = tensor.constant and len(tensor.shape) == len(output.shape) and tensor.shape[0] == output.shape[0]
    return alike and op.type not in ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")


def _each(graph: Graph, op: Op) -> tuple[Graph, list[Ops], Op]:
    made, each, images = NewOps(graph, op), list[Ops](), graph.tensors[op.outputs[0]].shape[0]
    joins = _joins(graph, images)

    def add(kind: str, inputs: Sequence[TensorId], whole: TensorId, options: Mapping[str, Any]) -> TensorId:
        like = graph.tensors[whole]
        return made.add(kind, inputs, made.put(like, (1, *like.shape[1:]), str(len(each)), data=None), **options)

    parts = []
    for n in range(images):
        made.ops, inputs = [], []
        for operand in op.inputs:
            if operand in joins:
                inputs.append(joins[operand].inputs[n])
            elif operand == ABSENT or graph.tensors[operand].constant:
                inputs.append(operand)
            else:
                inputs.append(add("SPLIT", [operand], operand, {PIECE: (0, n, n + 1)}))
        parts.append(add(op.type, inputs, op.outputs[0], op.options))
        each.append(tuple(made.ops))
    options = {"axis": 0, "fusedActivationFunction": "NONE"}
    join = replace(op, type=JOINED, inputs=tuple(parts), options=options, sources=op.stands_for)
    return made.extended, each, join
