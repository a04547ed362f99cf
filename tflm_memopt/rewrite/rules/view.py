"""Marks RESHAPE, SQUEEZE and EXPAND_DIMS as views of their input's bytes."""

from __future__ import annotations

from dataclasses import replace

from tflm_memopt.model.graph import ABSENT, OPERANDS, VIEW, VIEW_OF, Graph, Op
from tflm_memopt.rewrite.rules.rule import Ops, Rule, replace_ops


def match(graph: Graph, op: Op) -> Ops | None:
    return (op,) if op.type in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS") else None


def rewrite(graph: Graph, ops: Ops) -> Graph | str:
    (op,) = ops
    for t in (graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]):
        if t.dtype not in ("INT8", "INT16", "INT32", "UINT8", "FLOAT32", "BOOL"):
            return f"tensor {t.id} '{t.label}' is {t.dtype}"
        if t.dynamic or t.constant or t.variable:
            return (
                f"tensor {t.id} '{t.label}' is {'dynamic' if t.dynamic else 'constant' if t.constant else 'a variable'}"
            )
    types = [graph.tensors[i].dtype for i in (op.inputs[0], op.outputs[0])]
    if types[0] != types[1]:
        return f"{types[0]} becomes {types[1]}"
    shapes = [graph.tensors[i].shape for i in (op.inputs[0], op.outputs[0])]
    if graph.tensors[op.inputs[0]].elements != graph.tensors[op.outputs[0]].elements:
        return f"{list(shapes[0])} and {list(shapes[1])} have different sizes"
    if any(i != ABSENT and not graph.tensors[i].constant for i in op.inputs[1:]):
        return "the shape is computed at run time"
    options = {OPERANDS: op.inputs[1:], VIEW_OF: op.type}
    view = replace(op, type=VIEW, inputs=op.inputs[:1], options=options, sources=op.stands_for)
    return replace_ops(graph, {op.index: (view,)})


RULE = Rule("view", match, rewrite)
