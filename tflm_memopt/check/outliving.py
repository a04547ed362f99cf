"""Proves that operators read the right rows of earlier inferences, and receive the right rows from other devices.

The replay of states (states.py) proves that an earlier inference kept every row that is read from a state. This module
proves that an operator of the plan reads exactly the kept rows that TFLM's operator needs. A window over kept and new
rows must be as high and wide as TFLM's window. After the last window, no further window may fit into the new rows. The
state must keep the last rows of the window's input. Each message must carry a row of a tensor to the same row of the
receiver's tensor. Windows of models with a sliding input are checked in sliding.py.
"""

from tflm_memopt.check.needed import AxisWindows, slide_in_time
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import STATE, VIEW, Graph, Op, TensorId
from tflm_memopt.ops.rowop import Move, RowOp
from tflm_memopt.rowgraph.graph import RowGraph

LSTM_STATES = (18, 19)
"""Indices of the two state tensors among the inputs of UNIDIRECTIONAL_SEQUENCE_LSTM (kernels/lstm_shared.h)."""


def check_outliving(graph: RowGraph) -> None:
    """Raise PlanError if an operator reads or keeps other rows than the model's operator."""
    stated = {op.index: op for op in graph.model.ops}
    writers = {op.state_write.tensor: op for op in graph.ops.values() if op.state_write}
    for key, op in graph.ops.items():
        of = stated[key]
        wrong = ""
        if op.state_write:
            wrong = _writes_state(op, of, graph.model)
        elif op.older is not None:
            writer = writers.get(op.older)
            if writer is None or writer.inputs[0] != op.inputs[0]:
                wrong = f"state {op.older} keeps rows of another tensor"
            wrong = "" if graph.window else wrong or _window(op, of, graph.model)
        elif op.updates and not op.traits.runs_along:
            wrong = _steps(op, of)
        elif op.message is not None:
            wrong = _exchanged(op, of, graph.model)
        if wrong:
            raise PlanError(f"operator {of.index} {op.name}: {wrong}")


def _writes_state(op: RowOp, of: Op, model: Graph) -> str:
    state, new = op.state_write, op.reads[0]
    count = min(new.h, state.rows.h) if state else 0
    kept, asked = (_without_views(model, tensor) for tensor in (op.inputs[0], of.inputs[0]))
    if state is None or of.options.get(STATE) != state.tensor or kept != asked:
        return "it keeps another tensor than the model"
    if op.writes.h != count or any(op.rows_read(0, y) != (r := new.h - count + y, r + 1) for y in range(count)):
        return f"it does not keep the last {count} of {new.h} rows"
    moves = op.moves.moves if op.moves else ()
    return "" if moves == (Move(0, 0, 0, 0, new.row_bytes),) else "it does not keep rows as they are"


def _without_views(model: Graph, tensor: TensorId) -> TensorId:
    """Return the tensor whose bytes a view shares, or `tensor` if `tensor` is no view."""
    while (op := model.producer(tensor)) and op.type == VIEW:
        tensor = op.inputs[0]
    return tensor


def _window(op: RowOp, of: Op, model: Graph) -> str:
    """Return an error message if the operator's window differs from TFLM's window, or if a further window fits into the
    new rows. Return "" for a correct window.
    """
    w, new = op.window, op.reads[0].h
    last = (op.writes.h - 1) * w.stride_h - w.pad_top + (w.kernel_h - 1) * w.dilation_h
    if not new - w.stride_h <= last < new:
        return f"its last window ends at row {last} of {new} new rows"
    asked = slide_in_time(model, of, op, new)
    if asked is None:
        return ""
    rows, columns = asked
    if (w.kernel_h, w.stride_h if op.writes.h > 1 else rows.stride) != (rows.kernel, rows.stride):
        return f"its window has {w.kernel_h} rows, but TFLM's has {rows.kernel}"
    step = w.stride_w if op.writes.w > 1 else columns.stride
    own = AxisWindows(w.kernel_w, step, w.dilation_w, w.pad_left, op.writes.w)
    return "" if own == columns else "its windows have other columns than TFLM's"


def _steps(op: RowOp, of: Op) -> str:
    if tuple(state.tensor for state in op.updates) != tuple(of.inputs[k] for k in LSTM_STATES):
        return "it updates other states than the model"
    in_order = op.reads[0].h == op.writes.h and all(op.rows_read(0, y) == (y, y + 1) for y in range(op.writes.h))
    return "" if in_order else "it does not take the steps in their order"


def _exchanged(op: RowOp, of: Op, model: Graph) -> str:
    rows, tensor = (op.reads[0], of.inputs[0]) if op.sends else (op.writes, of.outputs[0])
    whole = rows.nbytes == model.tensors[tensor].nbytes and op.reads[0].h == op.writes.h
    in_order = whole and all(op.rows_read(0, y) == (y, y + 1) for y in range(rows.h))
    return "" if in_order else "its message does not have the tensor's rows in their order"
