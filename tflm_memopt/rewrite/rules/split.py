"""Replaces SPLIT, SPLIT_V and UNPACK by one operator per output."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.constraints.moving import MAX_MOVED
from tflm_memopt.ops.context import PIECE
from tflm_memopt.rewrite.rules.rule import Ops, has, has_rows, integers_of, replace_ops


def rewrite(graph: Graph, op: Op) -> Graph | None:
    is_split = op.type in ("SPLIT", "SPLIT_V", "UNPACK") and PIECE not in op.options
    parts = _parts(graph, op) if is_split and has(op, int(op.type == "SPLIT")) else None
    if parts is None or len(parts) * sum(graph.tensors[t].elements for t in op.outputs) > MAX_MOVED:
        return None
    pieces = _pieces(graph, op, parts)
    return replace_ops(graph, {op.index: pieces}) if all(has_rows(graph, piece) for piece in pieces) else None


def _pieces(graph: Graph, op: Op, parts: Sequence[tuple[int, int, int]]) -> Ops:
    new = max(o.index for o in graph.ops) + 1
    source = op.inputs[int(op.type == "SPLIT")]
    return tuple(
        replace(
            op,
            index=new + k - 1 if k else op.index,
            inputs=(source,),
            outputs=(output,),
            options={PIECE: part},
            sources=op.stands_for,
        )
        for k, (output, part) in enumerate(zip(op.outputs, parts, strict=True))
    )


def _parts(graph: Graph, op: Op) -> list[tuple[int, int, int]] | None:
    """Return axis, begin and end of each output, or None if the axis or a size is unknown before run time."""
    axis_operand = {"SPLIT": 0, "SPLIT_V": 2}.get(op.type)
    source = graph.tensors[op.inputs[int(op.type == "SPLIT")]]
    axes = [op.options.get("axis")] if axis_operand is None else integers_of(graph, op, axis_operand) or []
    if len(axes) != 1 or axes[0] is None or not -len(source.shape) <= axes[0] < len(source.shape):
        return None
    axis = axes[0] % len(source.shape)
    if op.type == "UNPACK":
        sizes = [1] * len(op.outputs) if op.options.get("num") == len(op.outputs) else []
    else:
        shapes = [graph.tensors[t].shape for t in op.outputs]
        if any(len(s) != len(source.shape) for s in shapes):
            return None
        sizes = [s[axis] for s in shapes]
    ends = list(itertools.accumulate(sizes))
    if not ends or ends[-1] != source.shape[axis]:
        return None
    return [(axis, end - size, end) for size, end in zip(sizes, ends, strict=True)]
