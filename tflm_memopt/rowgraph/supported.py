"""Determines which operators run row by row, and why TFLM's own kernels run the others."""

from collections.abc import Mapping
from dataclasses import dataclass

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
    """An operator that only changes a tensor's shape, so that `output` has the bytes of `storage`."""

    output: TensorId
    storage: TensorId


Support = RowOp | View | Unsupported


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatedGraph:
    """A model's graph in canonical form, with the row form of each operator. An AnnotatedGraph equals only itself."""

    graph: Graph
    support: Mapping[int, Support]

    @property
    def macs(self) -> int:
        return sum(s.macs for s in self.support.values() if isinstance(s, RowOp))


def to_row_ops(graph: Graph) -> Mapping[int, Support]:
    """For each Op.index, return the operator's row form, or why TFLM's own kernel must run the operator."""
    aliases = views(graph)
    written: dict[TensorId, Rows] = {}
    support: dict[int, Support] = {}
    fills = {state.tensor: state.fill for state in graph.states}
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
            written[result.output] = result.writes
        support[op.index] = result
    return support
