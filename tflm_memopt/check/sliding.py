"""Proves that operators on a sliding input read the rows that TFLM's operators read at the end of the whole input.

With a sliding input, each inference computes only the new rows of each tensor. Each operator must compute the last rows
that do not depend on padding, from the input rows that TFLM's operator reads. An operator may read kept rows only if
the new rows of its input follow the rows of the last inference. Operators that compute rows near padding again are not
checked. Operators that read kept rows and new rows together are not checked either.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tflm_memopt.check.needed import slide_in_time
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.graph import RowGraph


class _Held(NamedTuple):
    """The range of rows of a TFLM tensor that one inference computes."""

    height: int
    """Number of rows of TFLM's whole tensor."""
    end: int
    """Index after the last row that one inference computes."""
    shift: int
    """Number of rows that leave the tensor in each inference."""


def check_sliding(graph: RowGraph) -> None:
    """Raise PlanError if an operator of a model with a sliding input reads other rows than TFLM's operator."""
    if graph.window is None:
        raise ValueError("the input does not slide")
    rows, new = graph.window.rows, graph.window.new
    held = {t: _Held(rows, rows, new) for t in graph.model.inputs}
    stated = {op.index: op for op in graph.model.ops}
    kept = {op.state_write.tensor: op.inputs[0] for op in graph.ops.values() if op.state_write}
    for key, op in graph.ops.items():
        found = _passed(op, held)
        if found is None and op.has_window and (before := held.get(op.inputs[0])) is not None:
            found = _through(op, stated[key], graph.model, before, kept)
        if isinstance(found, str):
            raise PlanError(f"operator {stated[key].index} {op.name}: {found}")
        if found is not None:
            held[op.output] = found


def _passed(op: RowOp, held: Mapping[TensorId, _Held]) -> _Held | str | None:
    """Return the rows that an element-wise operator computes, None for any other operator, or the text of an error."""
    inputs = [held.get(t) for t in op.inputs]
    rows = [(y, y + 1) for y in range(op.writes.h)]
    if op.has_window or None in inputs or op.state_write or any(reads.h != op.writes.h for reads in op.reads):
        return None
    if any([op.rows_read(k, y) for y in range(op.writes.h)] != rows for k in range(len(inputs))):
        return None
    return inputs[0] if len(set(inputs)) == 1 else "its operands have rows of different places"


def _through(op: RowOp, of: Op, model: Graph, held: _Held, kept: Mapping[TensorId, TensorId]) -> _Held | str | None:
    """Return the rows that an operator with a window computes, or the text of an error.

    Return None for an operator that makes whole tensors or is not checked. The argument `kept` maps each state to the
    tensor whose rows the state keeps.
    """
    w, asked = op.window, slide_in_time(model, of, op, held.height)
    if asked is None:
        return None
    steps = asked.stride if op.writes.h > 1 else w.stride_h
    if (w.kernel_h, w.stride_h, w.dilation_h) != (asked.kernel, steps, asked.dilation):
        return f"its window has {w.kernel_h} rows, but TFLM's has {asked.kernel}"
    end = min(asked.made, (held.end - 1 + asked.before - (asked.kernel - 1) * asked.dilation) // asked.stride + 1)
    first, wanted = held.end - op.reads[0].h - w.pad_top, (end - op.writes.h) * asked.stride - asked.before
    if first != wanted:
        return f"its first window begins at row {first}, but TFLM's at row {wanted}"
    if w.pad_top and (op.older is None or kept.get(op.older) != op.inputs[0]):
        return "the rows before the new ones are not kept rows of its input"
    if w.pad_top and op.reads[0].h != held.shift:
        return f"it reads {w.pad_top} rows before the {op.reads[0].h} new ones, but {held.shift} rows leave the window"
    if op.writes.h == asked.made or held.shift % asked.stride:
        return None
    return _Held(asked.made, end, held.shift // asked.stride)
