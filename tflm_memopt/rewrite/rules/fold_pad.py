"""Folds PAD into the convolutions that read the padded tensor."""

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import CONVOLUTIONS, EXPLICIT_PADDING, OperatorContext
from tflm_memopt.rewrite.rules.rule import has, has_rows, integers_of, refused, replace_ops, same_numbers


def rewrite(graph: Graph, op: Op) -> Graph | None:
    readers = graph.consumers(op.outputs[0]) if op.type in ("PAD", "PADV2") else ()
    if not readers or not _adds_zero_points(graph, op) or not all(_can_pad(graph, op, one) for one in readers):
        return None
    return replace_ops(graph, {op.index: (), **{one.index: (_padded(graph, op, one),) for one in readers}})


def _can_pad(graph: Graph, pad: Op, op: Op) -> bool:
    reads_once = op.inputs[0] == pad.outputs[0] and op.inputs.count(op.inputs[0]) == 1
    return (
        op.type in CONVOLUTIONS and reads_once and not refused(graph, op) and has_rows(graph, _padded(graph, pad, op))
    )


def _adds_zero_points(graph: Graph, pad: Op) -> bool:
    """Return whether a PAD adds only rows and columns, and fills them with the zero point."""
    source, padded = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    amounts, value = integers_of(graph, pad, 1) or [], _pad_value(graph, pad)
    if len(source.shape) != 4 or len(amounts) != 8 or padded.id in graph.outputs:
        return False
    if any(a < 0 or (a and i not in (2, 3, 4, 5)) for i, a in enumerate(amounts)):
        return False
    is_zero = value is not None and padded.quantization is not None and value == padded.quantization.zero_point[0]
    return is_zero and same_numbers(source, padded)


def _padded(graph: Graph, pad: Op, op: Op) -> Op:
    _, _, top, bottom, left, right, _, _ = integers_of(graph, pad, 1) or (0,) * 8
    vertical, horizontal = OperatorContext(graph, op).spans()
    padding = (top + vertical.before, bottom + vertical.after, left + horizontal.before, right + horizontal.after)
    return replace(
        op,
        inputs=(pad.inputs[0], *op.inputs[1:]),
        options={**op.options, EXPLICIT_PADDING: padding},
        sources=(*pad.stands_for, *op.stands_for),
    )


def _pad_value(graph: Graph, pad: Op) -> int | None:
    """Return the padding value, which is an operand or the output's zero point (micro/kernels/pad.cc)."""
    value = graph.tensors[pad.inputs[2]] if has(pad, 2) else None
    if value is None:
        quantization = graph.tensors[pad.outputs[0]].quantization
        return None if quantization is None else quantization.zero_point[0]
    return (
        int(value.data.flatten()[0])
        if value.data is not None and value.dtype == "INT8" and value.elements == 1
        else None
    )
