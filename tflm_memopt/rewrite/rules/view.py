"""Marks RESHAPE, SQUEEZE and EXPAND_DIMS as views of their input's bytes."""

from dataclasses import replace

from tflm_memopt.model.graph import ABSENT, OPERANDS, VIEW, VIEW_OF, Graph, Op
from tflm_memopt.rewrite.rules.rule import replace_ops


def rewrite(graph: Graph, op: Op) -> Graph | None:
    if op.type not in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS"):
        return None
    x, y = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if x.dtype not in ("INT8", "INT16", "INT32", "UINT8", "FLOAT32", "BOOL") or x.dtype != y.dtype:
        return None
    if x.elements != y.elements or any(t.dynamic or t.constant or t.variable for t in (x, y)):
        return None
    if any(i != ABSENT and not graph.tensors[i].constant for i in op.inputs[1:]):
        return None
    options = {OPERANDS: op.inputs[1:], VIEW_OF: op.type}
    view = replace(op, type=VIEW, inputs=op.inputs[:1], options=options, sources=op.stands_for)
    return replace_ops(graph, {op.index: (view,)})
