"""Folds PAD into the convolutions that read it."""

from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import CONVOLUTIONS, EXPLICIT_PADDING, OperatorContext
from tflm_memopt.ops.opset import Unsupported, refusal, row_op
from tflm_memopt.rewrite.rules.rule import Ops, has, integers_of, replace_ops, same_numbers


def match(graph: Graph, op: Op) -> Ops | None:
    if op.type not in ("PAD", "PADV2"):
        return None
    readers = graph.consumers(op.outputs[0])
    return (op, *readers) if any(r.type in CONVOLUTIONS for r in readers) else None


def rewrite(graph: Graph, ops: Ops) -> Graph | str:
    pad, *readers = ops
    source, padded = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    amounts = integers_of(graph, pad, 1) or []
    if len(source.shape) != 4 or len(amounts) != 8:
        return "its paddings are not constant, or not four pairs"
    if any(a < 0 or (a and i not in (2, 3, 4, 5)) for i, a in enumerate(amounts)):
        return "it pads more than height and width"
    value = _pad_value(graph, pad)
    if value is None or padded.quantization is None or value != padded.quantization.zero_point[0]:
        return f"its value is {value}, not the zero point"
    if not same_numbers(source, padded):
        return "it changes scale or zero point"
    if padded.id in graph.outputs:
        return "its output is an output of the model"
    for reader in readers:
        if reader.type not in CONVOLUTIONS or reader.inputs.count(padded.id) != 1 or reader.inputs[0] != padded.id:
            return f"operator {reader.index} {reader.kind} also reads it"
        reason = refusal(OperatorContext(graph, reader)) or row_op(OperatorContext(graph, _padded(graph, pad, reader)))
        if isinstance(reason, Unsupported):
            return f"operator {reader.index} {reader.kind} stays builtin: {reason}"
    return replace_ops(graph, {pad.index: (), **{op.index: (_padded(graph, pad, op),) for op in readers}})


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
