"""Splits a CONCATENATION of many tensors into a chain of smaller ones."""

from __future__ import annotations

from dataclasses import replace

from tflm_memopt.format.limits import MAX_INPUTS
from tflm_memopt.model.graph import ABSENT, Graph, Op
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.opset import refusal
from tflm_memopt.rewrite.rules.rule import Ops, Rule, replace_ops


def match(graph: Graph, op: Op) -> Ops | None:
    wide = op.type == "CONCATENATION" and len(op.inputs) > MAX_INPUTS
    return (op,) if wide and ABSENT not in op.inputs else None


def check(graph: Graph, ops: Ops) -> str | None:
    (op,) = ops
    extended, chain = _chained(graph, op)
    for part in chain:
        reason = refusal(OperatorContext(extended, part))
        if reason is not None:
            return f"it cannot be made row by row: {reason}"
    return None


def rewrite(graph: Graph, ops: Ops) -> Graph:
    (op,) = ops
    extended, chain = _chained(graph, op)
    return replace_ops(extended, {op.index: chain})


def _chained(graph: Graph, op: Op) -> tuple[Graph, Ops]:
    """Return the graph with tensors for intermediate results, and the chain. Its last operator has the old index."""
    shapes = [graph.tensors[t].shape for t in op.inputs]
    axis = int(op.options.get("axis", 0))
    tensors, chain = dict(graph.tensors), list[Op]()
    joined, rest = op.inputs[:1], op.inputs[1:]
    while rest:
        taken, rest = rest[: MAX_INPUTS - 1], rest[MAX_INPUTS - 1 :]
        done = len(op.inputs) - len(rest)
        index, output = op.index, op.outputs[0]
        if rest:
            index, output = max(o.index for o in (*graph.ops, *chain)) + 1, max(tensors) + 1
            sizes = list(shapes[0])
            if -len(sizes) <= axis < len(sizes):
                sizes[axis] = sum(s[axis] for s in shapes[:done] if len(s) == len(sizes))
            result = graph.tensors[op.outputs[0]]
            tensors[output] = replace(result, id=output, name=f"{result.name}_{done}", shape=tuple(sizes))
        chain.append(replace(op, index=index, inputs=(*joined, *taken), outputs=(output,), sources=op.stands_for))
        joined = (output,)
    return replace(graph, tensors=tensors), tuple(chain)


RULE = Rule("wide-concatenation", match, check, rewrite)
