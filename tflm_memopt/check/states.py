"""Replays rolling buffers of rows that outlive an inference.

All inferences access the rows of a rolling buffer in the same order. From one inference to the next, only the place of
the oldest row in the buffer changes. The replay of each buffer starts after a reset, and ends when new rows have filled
the buffer twice. Later inferences repeat accesses that the replay has checked.
"""

from collections.abc import Collection, Iterator, Mapping
from math import gcd
from typing import NamedTuple

from tflm_memopt.check.nest import StageNest
from tflm_memopt.check.together import MessageRow
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp, StateRollingBuffer
from tflm_memopt.plan.plan import WINDOW, Group, PlacedState, Plan
from tflm_memopt.rowgraph.graph import RowGraph

INDEX_BYTES = 2
LAPS = 2
FILL = None
"""Content of a row that has not been written since the reset."""


class _Event(NamedTuple):
    who: str
    row: int
    """Index of the accessed row: the first new row of an inference has index 0, and older rows have negative indices.
    """
    at: int
    """Position in rows, counted from the oldest row. A negative position is counted from the end of the rolling buffer.
    """
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

    Each inference adds the new rows to the sums and subtracts the rows that the new rows replace in the rolling buffer.
    If the sums and the rolling buffer start at 0, each sum always equals the sum of the rows in the rolling buffer.
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
