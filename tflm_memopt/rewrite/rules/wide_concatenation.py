"""Splits a CONCATENATION or PACK of many tensors into a chain of smaller CONCATENATIONs."""

import numpy as np

from tflm_memopt.format.limits import MAX_INPUTS
from tflm_memopt.model.graph import ABSENT, Graph, Op, TensorId
from tflm_memopt.rewrite.rules.rule import NewOps


def rewrite(graph: Graph, op: Op) -> Graph | None:
    is_wide = op.type in ("CONCATENATION", "PACK") and len(op.inputs) > MAX_INPUTS and ABSENT not in op.inputs
    if not is_wide or (op.type == "PACK" and not _is_whole(graph, op)):
        return None
    return _chained(graph, op).supported()


def _is_whole(graph: Graph, op: Op) -> bool:
    """Return whether a PACK copies every input to the output."""
    shapes, output = {graph.tensors[t].shape for t in op.inputs}, graph.tensors[op.outputs[0]].shape
    axis, count = (int(op.options.get(name, 0)) for name in ("axis", "valuesCount"))
    if count != len(op.inputs) or not -len(output) <= axis < len(output):
        return False
    axis %= len(output)
    return shapes == {output[:axis] + output[axis + 1 :]} and output[axis] == count


def _chained(graph: Graph, op: Op) -> NewOps:
    made = NewOps(graph, op)
    inputs, axis = op.inputs, int(op.options.get("axis", 0))
    if op.type == "PACK":
        axis %= len(graph.tensors[op.outputs[0]].shape)
        inputs = tuple(_thick(made, t, axis) for t in op.inputs)
    shapes = [made.tensors[t].shape for t in inputs]
    joined, rest = inputs[0], inputs[1:]
    while rest:
        taken, rest = rest[: MAX_INPUTS - 1], rest[MAX_INPUTS - 1 :]
        output = op.outputs[0]
        if rest:
            sizes = list(shapes[0])
            if -len(sizes) <= axis < len(sizes):
                sizes[axis] = sum(s[axis] for s in shapes[: len(inputs) - len(rest)] if len(s) == len(sizes))
            output = made.put(graph.tensors[output], tuple(sizes))
        options = {"fusedActivationFunction": "NONE", **op.options, "axis": axis}
        joined = made.add("CONCATENATION", (joined, *taken), output, **options)
    return made


def _thick(made: NewOps, tensor: TensorId, axis: int) -> TensorId:
    old = made.tensors[tensor]
    shape = (*old.shape[:axis], 1, *old.shape[axis:])
    if old.data is None:
        return made.shaped(tensor, *shape)
    return made.put(old, shape, data=np.asarray(old.data).reshape(shape))
