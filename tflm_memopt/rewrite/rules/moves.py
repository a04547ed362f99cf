"""Combines a chain of operators that only move data, such as TILE, TRANSPOSE and SLICE, into one operator. A PAD can be
combined with a RESHAPE after the PAD, but not with other operators.
"""

from dataclasses import replace
from itertools import takewhile

from tflm_memopt.model.graph import VIEW, Graph, Op
from tflm_memopt.ops.context import STEPS, OperatorContext, any_rows, byte_shape
from tflm_memopt.ops.movement import STEP, ends
from tflm_memopt.ops.opset import Unsupported, row_op
from tflm_memopt.rewrite.rules.rule import Ops, refused, replace_ops, sole_readers


def _chain(graph: Graph, op: Op) -> Ops:
    """Return a chain of operators. The output of each operator has one reader. The chain must not end with a RESHAPE to
    a single row.
    """
    if not _moves(graph, op) or graph.producer(op.outputs[0]) is not op:
        return ()
    types = (VIEW,) if op.type == "PAD" else (*(t for t in STEP if t != "PAD"), VIEW)
    readers = sole_readers(graph, op, types, len(graph.ops))
    chain = [op, *takewhile(lambda reader: reader.type == VIEW or _moves(graph, reader), readers)]
    while chain[-1].type == VIEW and any_rows(graph.tensors[chain[-1].outputs[0]].shape).h == 1:
        chain.pop()
    return tuple(chain)


def _moves(graph: Graph, op: Op) -> bool:
    return op.type in STEP and OperatorContext(graph, op).read == (0,)


def rewrite(graph: Graph, op: Op) -> Graph | None:
    ops = _chain(graph, op)
    if len(ops) < 2:
        return None
    one = _as_one(ops)
    moved = row_op(OperatorContext(graph, one))
    if isinstance(moved, Unsupported) or any(op.type != VIEW and refused(graph, op) for op in ops):
        return None
    is_one_row = moved.writes != any_rows(byte_shape(graph.tensors[moved.output]))
    if is_one_row and not ends(graph, moved.output):
        return None
    return replace_ops(graph, {**{op.index: () for op in ops}, ops[-1].index: (one,)})


def _as_one(ops: Ops) -> Op:
    last = [op for op in ops if op.type in STEP][-1]
    return replace(
        last,
        index=ops[-1].index,
        inputs=(ops[0].inputs[0], *last.inputs[1:]),
        outputs=ops[-1].outputs,
        options={**last.options, STEPS: ops},
        sources=tuple(i for op in ops for i in op.stands_for),
    )
