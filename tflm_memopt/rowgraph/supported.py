"""Determines which operators run row by row, and why TFLM's own kernels run all other operators."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tflm_memopt.model.graph import FEATURES, STATE, TIME, VIEW, WRITE_STATE, Graph, TensorId
from tflm_memopt.ops import cells
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.message import message_op
from tflm_memopt.ops.movement import state_copy
from tflm_memopt.ops.opset import Unsupported, row_op
from tflm_memopt.ops.partial import partial
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.rewrite.canonicalise import views


@dataclass(frozen=True, slots=True)
class View:
    """An operator that only changes a shape, so that the tensors `output` and `storage` have the same bytes."""

    output: TensorId
    storage: TensorId


Support = RowOp | View | Unsupported


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatedGraph:
    """A model's graph in canonical form.

    The field `support` maps the index of an operator to a RowOp, to a View, or to an Unsupported with a reason.
    """

    graph: Graph
    support: Mapping[int, Support]

    @property
    def macs(self) -> int:
        return sum(s.macs for s in self.support.values() if isinstance(s, RowOp))


def to_row_ops(graph: Graph) -> Mapping[int, Support]:
    """Map each Op.index to a RowOp, or to the reason why TFLM's own kernel must run the operator."""
    aliases = views(graph)
    written: dict[TensorId, Rows] = {}
    support: dict[int, Support] = {}
    fills = {state.tensor: state.fill for state in graph.states}
    whole: set[TensorId] = set()
    for op in graph.ops:
        context = OperatorContext(graph, op, aliases, written)
        result: Support
        if op.type == VIEW:
            result = View(op.outputs[0], aliases[op.outputs[0]])
        elif op.type == WRITE_STATE:
            result = state_copy(context, op.options[STATE], fills[op.options[STATE]])
        elif op.type in (FEATURES, TIME):
            result = cells.svdf_features(context) if op.type == FEATURES else cells.svdf_time(context)
        else:
            result = message_op(context) or partial(context) or row_op(context)
        if isinstance(result, RowOp):
            result = _reading_all_steps(result, whole)
        if isinstance(result, RowOp):
            written[result.output] = result.writes
        support[op.index] = result
    return support


def _reading_all_steps(op: RowOp, whole: set[TensorId]) -> RowOp | Unsupported:
    """Return the operator, or an Unsupported if it has an input in `whole` whose last row it does not read.

    If the output of a step is not read, an LSTM skips the step and does not update its state. The function adds to
    `whole` each output whose last row must be read, so that an LSTM computes its last step.
    """
    y = np.arange(op.writes.h, dtype=np.int64)
    for k, t in enumerate(op.inputs):
        if t in whole:
            end = op.rows(k, y)[1]
            if end.max() < op.reads[k].h:
                reason = "The last step of an LSTM must be read, because the LSTM updates its state in this step"
                return Unsupported("last_step", reason, "", "read the outputs of all steps, or run fewer steps")
            if len(y) > 1 and end[:-1].max() < op.reads[k].h:
                whole.add(op.output)
    if op.updates and op.writes.h > 1:
        whole.add(op.output)
    return op
