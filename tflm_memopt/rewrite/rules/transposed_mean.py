"""Replaces a TRANSPOSE to NCHW and a MEAN over height and width by a MEAN on the NHWC tensor."""

from collections.abc import Sequence
from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import AXES, OperatorContext
from tflm_memopt.rewrite.rules.rule import NewOps, integers_of, same_numbers, sole_readers, supported

NHWC_TO_NCHW = [0, 3, 1, 2]


def rewrite(graph: Graph, transpose: Op) -> Graph | None:
    """Remove a TRANSPOSE to NCHW before one or two MEANs, which then read the NHWC tensor. Each MEAN must be the only
    reader of its input. A tensor between two MEANs keeps its scale, so that its values are rounded as before.
    """
    if transpose.type != "TRANSPOSE" or integers_of(graph, transpose, 1) != NHWC_TO_NCHW:
        return None
    means = list(sole_readers(graph, transpose, ("MEAN",), 2))
    same = same_numbers(graph.tensors[transpose.inputs[0]], graph.tensors[transpose.outputs[0]])
    steps = _steps(graph, transpose, means) if same else None
    if steps is None or sorted(axis for step in steps for axis in step) != [1, 2]:
        return None
    made, x, sources = NewOps(graph, transpose), transpose.inputs[0], transpose.stands_for
    shape = graph.tensors[x].shape
    for op, axes in zip(means, steps, strict=True):
        y, options = op.outputs[0], {**op.options, AXES: axes}
        if op is not means[-1]:  # The first of two MEANs keeps its reduced dimensions with size 1.
            y = made.put(graph.tensors[y], tuple(1 if a in axes else d for a, d in enumerate(shape)))
        made.ops.append(replace(op, inputs=(x,), outputs=(y,), options=options, sources=(*sources, *op.stands_for)))
        x, sources = y, ()
    return supported(made.extended, {transpose.index: (), **{op.index: (op,) for op in made.ops}})


def _steps(graph: Graph, transpose: Op, means: Sequence[Op]) -> tuple[tuple[int, ...], ...] | None:
    """Return the NHWC axes that each MEAN reduces, or None if the axes are not constant or the shapes do not match."""
    sizes = list(graph.tensors[transpose.inputs[0]].shape)
    left = NHWC_TO_NCHW
    if len(sizes) != 4 or graph.tensors[transpose.outputs[0]].shape != tuple(sizes[n] for n in left):
        return None
    steps = []
    for op in means:
        context = OperatorContext(graph, op)
        axis = context.tensor(1)
        if axis is None or axis.data is None or axis.data.dtype.kind != "i":
            return None
        axes = context.axes()
        if not axes <= set(range(len(left))):
            return None
        steps.append(tuple(sorted(left[a] for a in axes)))
        for n in steps[-1]:
            sizes[n] = 1
        left = [n for a, n in enumerate(left) if a not in axes] if not op.options.get("keepDims") else left
        if context.output.shape != tuple(sizes[n] for n in left):
            return None
    return tuple(steps)
