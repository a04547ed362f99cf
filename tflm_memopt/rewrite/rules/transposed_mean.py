"""Replaces TRANSPOSE to NCHW, followed by MEAN over height and width, by MEAN on NHWC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import AXES, OperatorContext
from tflm_memopt.ops.opset import refusal
from tflm_memopt.rewrite.rules.rule import Ops, Rule, has, replace_ops, same_numbers, sole_readers

NHWC_TO_NCHW = (0, 3, 1, 2)


def match(graph: Graph, op: Op) -> Ops | None:
    """Match TRANSPOSE(0, 3, 1, 2) followed by one or two MEANs. Each MEAN must be the only reader of its input."""
    if op.type != "TRANSPOSE" or not has(op, 1) or len(graph.tensors[op.inputs[0]].shape) != 4:
        return None
    perm = graph.tensors[op.inputs[1]].data
    if perm is None or tuple(perm.flatten().tolist()) != NHWC_TO_NCHW:
        return None
    chain = list(sole_readers(graph, op, ("MEAN",), 2))
    return (op, *chain) if chain else None


def rewrite(graph: Graph, ops: Ops) -> Graph | str:
    """Apply the same MEANs on NHWC. The tensor between them is kept, so that its scale rounds as before."""
    transpose, *means = ops
    if not same_numbers(graph.tensors[transpose.inputs[0]], graph.tensors[transpose.outputs[0]]):
        return "it changes scale or zero point"
    steps = _steps(graph, ops)
    if steps is None or sorted(axis for step in steps for axis in step) != [1, 2]:
        return "they are not a mean over height and width, each once"
    extended, new = _with_middle(graph, ops, steps), _mean_ops(graph, ops, steps)
    for op in new:
        reason = refusal(OperatorContext(extended, op))
        if reason is not None:
            return f"operator {op.index} MEAN stays builtin: {reason}"
    return replace_ops(
        extended, {transpose.index: (), **{old.index: (op,) for old, op in zip(means, new, strict=True)}}
    )


def _steps(graph: Graph, ops: Ops) -> tuple[tuple[int, ...], ...] | None:
    """Return the NHWC axes that each MEAN reduces, or None if they are not constant or the shapes do not match."""
    transpose, *means = ops
    sizes = list(graph.tensors[transpose.inputs[0]].shape)
    left = list(NHWC_TO_NCHW)
    """NHWC axes of the current tensor's dimensions."""
    if graph.tensors[transpose.outputs[0]].shape != tuple(sizes[n] for n in left):
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


def _mean_ops(graph: Graph, ops: Ops, steps: Sequence[tuple[int, ...]]) -> Ops:
    """Return the MEANs on NHWC, connected by the tensor of _with_middle()."""
    transpose, *means = ops
    middle = max(graph.tensors) + 1
    result = []
    for k, (op, axes) in enumerate(zip(means, steps, strict=True)):
        source = transpose.inputs[0] if k == 0 else middle
        outputs = op.outputs if k == len(means) - 1 else (middle,)
        sources = (*transpose.stands_for, *op.stands_for) if k == 0 else op.stands_for
        result.append(
            replace(op, inputs=(source,), outputs=outputs, options={**op.options, AXES: axes}, sources=sources)
        )
    return tuple(result)


def _with_middle(graph: Graph, ops: Ops, steps: Sequence[tuple[int, ...]]) -> Graph:
    """Add the tensor between two MEANs on NHWC. The first MEAN keeps the reduced dimensions as 1."""
    transpose, *means = ops
    if len(means) == 1:
        return graph
    original, middle = graph.tensors[means[0].outputs[0]], max(graph.tensors) + 1
    shape = tuple(1 if a in steps[0] else d for a, d in enumerate(graph.tensors[transpose.inputs[0]].shape))
    tensor = replace(original, id=middle, name=f"{original.name}_nhwc", shape=shape)
    return replace(graph, tensors={**graph.tensors, middle: tensor})


RULE = Rule("transposed-mean", match, rewrite)
