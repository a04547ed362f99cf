"""Changes a model for a sliding input, which is the newest part of an endless sequence of rows.

If a row depends only on neighbouring rows, and not on padding, the row stays valid when the input slides. Only new rows
are computed, and rolling buffers keep the rows that later inferences need (rolling_buffers.py). Rows that depend on
padding are computed again (edges.py). If the repeated rows take more multiply-accumulates than the kept rows save, all
rows are computed. As soon as the input has been filled with rows, the outputs have the original model's bytes.
"""

from dataclasses import replace

import numpy as np

from tflm_memopt.errors import UsageError
from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import ITEM_BYTES, STATE, WRITE_STATE, StateTensor, TensorId
from tflm_memopt.ops import movement
from tflm_memopt.ops.constraints.limits import executable
from tflm_memopt.ops.rowop import RowOp, Rows, StateRollingBuffer
from tflm_memopt.ops.running import SUM_BYTES, is_mean, sliding_sum
from tflm_memopt.rowgraph.edges import Edges, Impossible, Slid
from tflm_memopt.rowgraph.graph import SlidingWindow
from tflm_memopt.rowgraph.regions import partition
from tflm_memopt.rowgraph.supported import AnnotatedGraph


def with_sliding(annotated: AnnotatedGraph, n: int, layers: int | None = None) -> tuple[AnnotatedGraph, SlidingWindow]:
    """Return the graph with an input of `n` new rows, and the description of the sliding input.

    If `layers` is not None, only the first `layers` operators may restrict their work to new rows. A small value of
    `layers` often saves RAM. Raises UsageError for a model with a state, several inputs, or strides that do not divide
    `n`.
    """
    graph = annotated.graph
    if len(graph.inputs) != 1 or graph.states:
        why = "it keeps a state of its own" if graph.states else f"it has {len(graph.inputs)} inputs"
        raise _refused(f"the model's input cannot slide: {why}")
    try:
        return _slid(annotated, n, layers)
    except _Strides as error:
        least = next((m for m in range(1, error.height) if _divides(annotated, m, layers)), None)
        hint = "--input arena" if least is None else f"--input sliding:{least}"
        why = f"the stride {error.stride} of operator {error.name} does not divide its number of new rows, {error.rows}"
        raise _refused(why, hint) from error


def _refused(why: str, hint: str = "--input arena") -> UsageError:
    return UsageError(why, code="unsupported_input", hint=hint)


class _Strides(Exception):
    """Raised if the number of new rows is not a multiple of a layer's stride."""

    def __init__(self, rows: int, op: RowOp, height: int) -> None:
        super().__init__()
        self.rows, self.name, self.stride, self.height = rows, op.name, op.window.stride_h, height


def _divides(annotated: AnnotatedGraph, n: int, layers: int | None) -> bool:
    try:
        _slid(annotated, n, layers)
    except _Strides:
        return False
    return True


def _slid(annotated: AnnotatedGraph, n: int, layers: int | None) -> tuple[AnnotatedGraph, SlidingWindow]:
    """Layers with padding compute either all rows, or the new rows and the rows near an edge. The result is the graph
    with fewer multiply-accumulates. Raises _Strides.
    """
    (tensor,) = annotated.graph.inputs
    away = _Sliding(annotated, tensor, n, layers)
    found, window = away.run(), SlidingWindow(away.height, n, partition(annotated.graph, annotated.support))
    try:
        padded = _Sliding(annotated, tensor, n, layers, padded=True).run()
        return min(found, padded, key=lambda u: u.macs), window
    except Impossible:
        return found, window
    except _Strides:  # The exception _Strides suggests another number of new rows.
        if found.macs >= annotated.macs:
            raise
        return found, window


class _Sliding(Edges):
    def __init__(
        self, annotated: AnnotatedGraph, tensor: TensorId, n: int, layers: int | None = None, *, padded: bool = False
    ) -> None:
        """If the argument `padded` is true, layers with padding in time may keep old rows, too."""
        super().__init__(annotated, tensor)
        self.n, self.padded = n, padded
        self.may_slide = frozenset(self.order[:layers])
        self.joined_rows: dict[TensorId, TensorId] = {}
        rows = self._input_rows()
        if not 0 < n < rows.h:
            hint = f"--input sliding:ROWS with 1 to {rows.h - 1}" if rows.h > 1 else "--input arena"
            many = f"{rows.h} {'row' if rows.h == 1 else 'rows'}"
            raise _refused(f"the input has {many}, so it cannot slide by {n}", hint)
        self.height = rows.h
        self.becomes(tensor, Slid(rows, n))

    def _input_rows(self) -> Rows:
        seen = {
            rows for op in self.row_ops.values() for t, rows in zip(op.inputs, op.reads, strict=True) if t == self.input
        }
        if len(seen) != 1 or self.input in self.wanted:
            raise _refused("the input cannot slide: its readers must all run row by row and see the same rows")
        return seen.pop()

    def run(self) -> AnnotatedGraph:
        for key in list(self.order):
            self.slide(key)
        self.add_rolling_buffers()
        self.wait()
        return self.annotated()

    def slide(self, key: int) -> None:
        op = self.support[key]
        if not isinstance(op, RowOp) or not self.slid.keys() & set(op.inputs):
            return
        if key in self.may_slide and (summed := self._running_sum(op, key)) is not None:
            self.support[key] = summed
            return
        made, edges = self._on_new_rows(op) if key in self.may_slide else None, self._edges(op)
        if made is None or executable(made) is not None:
            self.support[key] = replace(op, inputs=tuple(self._joined(t, key) for t in op.inputs))
            return
        self.support[key] = made if len(op.inputs) == 1 else self.aligned(made, key, edges)
        if made.older is not None:
            self.older_rows(op.inputs[0], made.window.pad_top)
        if made.writes.h < op.writes.h:
            self.becomes(op.output, Slid(op.writes, made.writes.h, *edges))

    def _edges(self, op: RowOp) -> tuple[int, int]:
        """Return how many of the first output rows, and how many of the last output rows, depend on padding."""
        found, w = [self.slid[t] for t in op.inputs if t in self.slid], op.window
        if not found or not op.has_window:
            return max((s.top for s in found), default=0), max((s.bottom for s in found), default=0)
        (slid,) = found
        last = (slid.whole.h - slid.bottom - w.rows.extent + w.pad_top) // w.stride_h
        return -(-(slid.top + w.pad_top) // w.stride_h), max(0, op.writes.h - 1 - last)

    def _on_new_rows(self, op: RowOp) -> RowOp | None:
        inputs = [self.slid.get(t) for t in op.inputs]
        if op.state_write or op.older or any(s is None or s.whole != r for s, r in zip(inputs, op.reads, strict=True)):
            return None
        slid = [s for s in inputs if s]
        if op.traits.elementwise or op.access:
            return self._each_row(op, slid)
        return self._window(op, slid[0]) if len(slid) == 1 else None

    def _each_row(self, op: RowOp, slid: list[Slid]) -> RowOp | None:
        away = slid[0].whole.h - sum(self._edges(op))
        (new, *others) = {min(s.new, away) for s in slid}
        same = all(self._row_by_row(op, k) for k in range(len(op.inputs)))
        alike = op.constant is None or op.constant.rows.h == 1
        if others or new < 1 or not same or not alike or op.output in self.wanted:
            return None
        return replace(op, reads=tuple(replace(s.whole, h=new) for s in slid), writes=replace(op.writes, h=new))

    def _running_sum(self, op: RowOp, key: int) -> RowOp | None:
        slid = self.slid.get(op.inputs[0])
        if slid is None or not is_mean(op, slid.whole) or slid.new >= slid.older:
            return None
        if 2 * slid.new + 1 + sum(slid.edges) > MAX_KERNEL_H:
            return None
        (tensor,), rows = op.inputs, Rows(1, op.writes.w, SUM_BYTES * op.writes.c)
        name = f"{self.tensors[tensor].name}/sums"
        sums = self.add_tensor(tensor, name=name, shape=(1, 1, rows.w, rows.c), dtype="INT8")
        self.states[sums] = StateTensor(sums, 0)
        older = Slid(slid.whole, slid.older)
        above, below = self._edge_rows(tensor, key)
        parts = above + below
        edges = [parts[0] if len(parts) == 1 else (self.rows_of(tensor, parts, key), sum(slid.edges))] if parts else []
        operands = [(tensor, slid.rows, slid.new), (self.older_rows(tensor), older.rows, slid.new)]
        operands += [(t, replace(slid.whole, h=h), h) for t, h in edges]
        return sliding_sum(op, [*operands, (sums, rows, 1)], StateRollingBuffer(sums, rows, 0))

    def _edge_rows(self, tensor: TensorId, before: int) -> tuple[list[tuple[TensorId, int]], ...]:
        slid = self.slid[tensor]
        above = [(self.first(tensor, slid.top, before), slid.top)] if slid.top else []
        return above, [(self.last(tensor, before), slid.bottom)] if slid.bottom else []

    def _window(self, op: RowOp, slid: Slid) -> RowOp | None:
        w, out, n = op.window, op.writes, slid.new
        top, bottom = self._edges(op)
        away = out.h - top - bottom
        if away < 1 or ((top or bottom) and not self.padded):
            return None
        if n % w.stride_h and n // w.stride_h < away and out.h > 1:
            raise _Strides(n, op, self.height)
        made = max(1, min(n // w.stride_h, away))
        older = slid.top + slid.older + w.pad_top - (out.h - bottom - made) * w.stride_h
        if older < 0 or (op.output in self.wanted and made < out.h):
            return None
        return replace(
            op,
            reads=(slid.rows,),
            writes=replace(out, h=made),
            window=replace(w, pad_top=older),
            older=self.rolling_buffer(op.inputs[0]) if older else None,
            macs=op.macs * made // out.h,
        )

    @staticmethod
    def _row_by_row(op: RowOp, k: int) -> bool:
        """Return whether each output row is the same function of the input row with the same index."""
        y = np.arange(op.writes.h, dtype=np.int64)
        first, end = op.rows(k, y)
        steady = op.moves is None or (op.moves.fill is None and all(m.period == 1 for m in op.moves.moves))
        plain = not op.access or op.access[k].table is None
        same = op.reads[k].h == op.writes.h and (first == y).all() and (end == y + 1).all()
        return bool(steady and plain and same)

    def _joined(self, tensor: TensorId, before: int) -> TensorId:
        if tensor in self.joined_rows:
            return self.joined_rows[tensor]
        if tensor not in self.slid:
            return tensor
        slid = self.slid[tensor]
        older = [(self.older_rows(tensor), slid.older)] if slid.older else []
        above, below = self._edge_rows(tensor, before)
        self.joined_rows[tensor] = self.rows_of(tensor, [*above, *older, (tensor, slid.new), *below], before)
        return self.joined_rows[tensor]

    def add_rolling_buffers(self) -> None:
        for tensor, depth in self.depth.items():
            slid, state = self.slid[tensor], self.rolling_buffer(tensor)
            rows = replace(slid.whole, h=depth)
            shape = (1, rows.h, rows.w, rows.c // ITEM_BYTES[self.tensors[tensor].dtype])
            self.tensors[state] = replace(self.tensors[state], shape=shape)
            token = self.add_tensor(tensor, name="", shape=(0,), dtype="UINT8")
            self.states[state] = StateTensor(state, 0)
            sources = next(op.sources for op in self.row_ops.values() if tensor in op.inputs)
            write = movement.copy_to_state(sources, tensor, slid.rows, StateRollingBuffer(state, rows, 0), token)
            self.add_op(write, len(self.order), WRITE_STATE, **{STATE: state})
