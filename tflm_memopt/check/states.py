"""Proves that operators find the right rows of earlier inferences, and receive the right rows from other devices.

The replay of rolling buffers proves that an earlier inference kept every row that is read from a state. All inferences
access the rows of a rolling buffer in the same order, and only the place of the oldest row changes from one inference
to the next. The replay of each buffer starts after a reset and ends when new rows have filled the buffer twice, because
later inferences repeat the checked accesses. The function check_outliving() proves that the operators ask for the right
rows.
"""

from collections.abc import Collection, Iterator, Mapping
from math import gcd
from typing import NamedTuple

from tflm_memopt.check.needed import AxisWindows, slide_in_time
from tflm_memopt.check.nest import StageNest
from tflm_memopt.check.together import MessageRow
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import STATE, VIEW, Graph, Op, TensorId
from tflm_memopt.ops.rowop import Move, RowOp, StateRollingBuffer
from tflm_memopt.plan.plan import WINDOW, Group, PlacedState, Plan
from tflm_memopt.rowgraph.graph import RowGraph

INDEX_BYTES = 2
LAPS = 2
FILL = None
"""Content of a row that has not been written since the reset."""
LSTM_STATES = (18, 19)
"""Indices of the two state tensors among the inputs of UNIDIRECTIONAL_SEQUENCE_LSTM (kernels/lstm_shared.h)."""


class _Event(NamedTuple):
    who: str
    row: int
    """Index of the accessed row: the first new row of an inference has index 0, and older rows have negative indices.
    """
    at: int
    """Position in rows, counted from the oldest row or, if negative, from the end of the rolling buffer."""
    writes: bool = False


class StateReplay:
    def __init__(self, plan: Plan, graph: RowGraph) -> None:
        self._ops = tuple(graph.ops.values())
        written = [(op, state) for op in self._ops for state in op.rolling_buffers]
        self.rolling_buffers: dict[int, StateRollingBuffer] = {state.tensor: state for _, state in written}
        self.new = {state.tensor: op.reads[0].h if op.state_write else op.writes.h for op, state in written}
        self._homes = [{s.tensor for i in region.ops for s in graph.ops[i].rolling_buffers} for region in graph.regions]
        self._in_place = {rolling_buffer.tensor for op in graph.ops.values() for rolling_buffer in op.updates}
        self.plan = plan
        self.window = graph.window.inferences if graph.window else 0
        self._events: dict[int, list[_Event]] = {tensor: [] for tensor in self.rolling_buffers}
        self.messages: list[MessageRow] = []
        self.observes = bool(self.rolling_buffers) or any(op.message or op.older is not None for op in self._ops)

    def execute(self, step: StageNest) -> None:
        op, y = step.op, int(step.row[step.done])
        if op.message is not None:
            self.messages.append(MessageRow(op.message, op.sends, y, op.reads[0].row_bytes))
        for tensor, row, at in self._read(op, y):
            self._events[tensor].append(_Event(str(step), row, at))
        if op.state_write:
            row, _ = op.rows_read(0, y)
            self._events[op.state_write.tensor].append(_Event(str(step), row, y, writes=True))
        for rolling_buffer in op.updates:
            self._events[rolling_buffer.tensor] += [
                _Event(str(step), y - 1, y - 1),
                _Event(str(step), y, y, writes=True),
            ]

    def enter(self, group: Group, ops: Mapping[int, RowOp]) -> None:
        """Raise PlanError if a group uses states or messages, but does not run row by row in forward order."""
        for op in (ops[stage.op] for stage in group.stages):
            states = op.older is not None or op.rolling_buffers or self.rolling_buffers.keys() & set(op.inputs)
            does = "uses a state" if states else "exchanges rows with another device" if op.message else ""
            if does and ((states and group.stripes) or group.is_reversed):
                raise PlanError(f"{op.name} {does}, so it must run row by row in forward order")

    def _read(self, op: RowOp, y: int) -> Iterator[tuple[int, int, int]]:
        """Yield each row that an operator reads from a state: the state, the row's index, and its position in the
        buffer.

        If an operand is a state, row 0 is the oldest row in the buffer. If a window begins above the new rows, row -1
        is the newest row in the buffer.
        """
        for k, tensor in enumerate(op.inputs):
            if tensor in self.rolling_buffers and tensor not in {state.tensor for state in op.updates}:
                rows, size = self.rolling_buffers[tensor].rows, op.reads[k].row_bytes
                first, end = op.rows_read(k, y)
                for row in range(first * size // rows.row_bytes, -(-end * size // rows.row_bytes)):
                    yield tensor, row - rows.h, row
        if op.older is not None:
            w = op.window
            for tap in range(w.kernel_h):
                row = y * w.stride_h - w.pad_top + tap * w.dilation_h
                if row < 0:
                    yield op.older, row, row

    def check(self) -> None:
        placed = {state.tensor: state for state in self.plan.states}
        window = placed.pop(WINDOW, None)
        if (window.depth if window else 0) != self.window:
            raise PlanError(f"the sliding input is complete after {self.window} inferences, but the plan has {window}")
        if window and self.plan.states[-1] != PlacedState(WINDOW, window.offset, self.window, 0, 1, 0):
            raise PlanError(f"the counter of the sliding input is not the last state or is {window}")
        if placed.keys() != self.rolling_buffers.keys() or len(placed) + (self.window > 0) != len(self.plan.states):
            raise PlanError(f"the plan has states {sorted(placed)}, but the graph has {sorted(self.rolling_buffers)}")
        self._check_bytes()
        check_sums(self._ops)
        for tensor, state in placed.items():
            rolling_buffer = self.rolling_buffers[tensor]
            if (state.row_bytes, state.fill) != (rolling_buffer.rows.row_bytes, rolling_buffer.fill):
                raise PlanError(
                    f"state {tensor} has rows of {state.row_bytes} bytes with the initial value {state.fill}, "
                    f"but the graph has {rolling_buffer.rows.row_bytes} and {rolling_buffer.fill}"
                )
            if tensor in self._in_place and state.depth != 1:
                raise PlanError(f"state {tensor} is updated in place and must have one row")
            self._run(state)

    def _check_bytes(self) -> None:
        # If the input slides, the last region with states also has the counter of inferences.
        last = [home for home in self._homes if home][-1:]
        if self.window and self.plan.states[-2].tensor not in last[0]:
            raise PlanError("the counter of the sliding input is not in the last region")
        for home in self._homes:
            own = home | {WINDOW} if self.window and home in last else home
            end = INDEX_BYTES * len(own)
            for state in sorted((s for s in self.plan.states if s.tensor in own), key=lambda s: s.offset):
                if state.offset < end or state.depth < 1:
                    raise PlanError(f"{state} starts before byte {end}, where another state ends")
                end = state.offset + state.nbytes

    def _run(self, state: PlacedState) -> None:
        new, lap = self.new[state.tensor], state.depth // gcd(state.depth, state.advance)
        slots: list[int | None] = [FILL] * state.depth
        for step in range(LAPS * lap + 1):
            oldest = step * state.advance % state.depth
            for who, row, at, writes in self._events[state.tensor]:
                wanted, place = step * new + row, (oldest + at) % state.depth
                found = slots[place]
                if writes:
                    slots[place] = wanted
                elif found != (wanted if wanted >= 0 else FILL):
                    raise PlanError(
                        f"{who}, row {row} of state {state.tensor}: inference {step} after a reset finds "
                        f"{'no row' if found is FILL else f'row {found - step * new}'}"
                    )


def check_sums(ops: Collection[RowOp]) -> None:
    """Raise PlanError if a mean over a sliding input may include rows that are no longer in the input.

    Each inference adds the new rows to the sums and subtracts the rows that they replace, so the sums always equal the
    sums of the rows in the rolling buffer.
    """
    writers = {op.state_write.tensor: op for op in ops if op.state_write}
    for op in ops:
        if op.traits.runs_along and (wrong := _wrong_sums(op, writers.get(op.inputs[1]))):
            raise PlanError(f"{op.name}: {wrong}")


def _wrong_sums(op: RowOp, writer: RowOp | None) -> str:
    new, older, *_ = (rows.h for rows in op.reads)
    if writer is None or writer.state_write is None or (writer.inputs[0], writer.reads[0].h) != (op.inputs[0], new):
        return "no rolling buffer keeps the rows that it adds"
    if (
        writer.state_write.fill
        or [rolling_buffer.fill for rolling_buffer in op.updates] != [0]
        or writer.state_write.rows.h != older
    ):
        return "its sums do not start as those of the rolling buffer's rows"
    read = [op.rows_read(k, 0) for k in range(len(op.inputs))]
    if read != [(0, new), (0, new), *((0, rows.h) for rows in op.reads[2:-1]), (0, 1)] or new > older:
        return "it adds or subtracts other rows than those of the window"
    counted = new + older + sum(rows.h for rows in op.reads[2:-1])
    return "" if op.window.kernel_h == counted else f"it divides by {op.window.kernel_h} rows, but adds {counted}"


def check_outliving(graph: RowGraph) -> None:
    """Raise PlanError if an operator reads, keeps or exchanges other rows than the model's operator.

    A window over kept and new rows must be as high and wide as TFLM's window. No further window may fit into the new
    rows. The state must keep the last rows of the window's input. Each message must carry a row of a tensor to the same
    row of the receiver's tensor. Windows of models with a sliding input are checked in sliding.py.
    """
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
    """Return an error message if the windows differ from TFLM's or another window fits into the new rows, and otherwise
    "".
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
