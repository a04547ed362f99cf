"""Marks RESHAPE, SQUEEZE and EXPAND_DIMS as views of their input's bytes."""

from dataclasses import replace

from tflm_memopt.model.graph import OPERANDS, VIEW, VIEW_OF, Graph, Op
from tflm_memopt.ops.constraints.moving import plain_view
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.opset import VIEWS
from tflm_memopt.rewrite.rules.rule import replace_ops


def rewrite(graph: Graph, op: Op) -> Graph | None:
    if op.type not in VIEWS or plain_view(OperatorContext(graph, op)) is not None:
        return None
    options = {OPERANDS: op.inputs[1:], VIEW_OF: op.type}
    view = replace(op, type=VIEW, inputs=op.inputs[:1], options=options, sources=op.stands_for)
    return replace_ops(graph, {op.index: (view,)})
