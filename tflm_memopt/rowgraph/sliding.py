"""A window that slides: the input is the last rows of an endless sequence, of which each inference brings a few.

Time runs along the height. Where an operator makes a row from rows below it alone, without padding, the rows of the
inference before are right again, shifted: only the new ones are made, and the rows that later windows reach back to are
kept in a ring (rings.py). Rows that depend on padding are made again (edges.py), where that costs less than not to
slide. An operator that cannot slide reads all rows of its input, the kept ones and the new ones, joined; what follows
from it is made as a whole. So the outputs are those of the original on the last rows, byte for byte, as soon as the
window is full.

A layer of kernel extent K, stride s and p rows of padding above makes H' rows of H. Of these, the first and last a and
b rows depend on padding, a' and b' of those that come out. Of n new rows m = n / s come out, or all that do not depend
on padding where these are fewer. They start at row (H' - b' - m) * s - p, so that (H - b - n) - (H' - b' - m) * s + p
rows before the new ones are read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import ITEM_BYTES, KEEP, STATE, Op, StateTensor, TensorId
from tflm_memopt.ops import movement
from tflm_memopt.ops.constraints.limits import MAX_KERNEL_H, executable
from tflm_memopt.ops.rowop import RowOp, Rows, StateRing
from tflm_memopt.ops.running import SUM_BYTES, is_mean, sliding_sum
from tflm_memopt.rowgraph.edges import Edges, Impossible, Slid
from tflm_memopt.rowgraph.graph import SlidingWindow
from tflm_memopt.rowgraph.supported import AnnotatedGraph


def with_sliding(annotated: AnnotatedGraph, n: int, layers: int | None = None) -> tuple[AnnotatedGraph, SlidingWindow]:
    """The same with an input of n new rows, and the window. layers: how many operators may slide; None: all that can.

    What comes after these is made again from a window that is kept: that takes more compute, and often less RAM.
    Raises UsageError for a model that keeps a state, has several inputs, or steps over rows.
    """
    graph = annotated.graph
    if len(graph.inputs) != 1 or graph.states:
        why = "it keeps a state of its own" if graph.states else f"it has {len(graph.inputs)} inputs"
        raise UsageError(f"the model's input cannot slide: {why}", code="sliding_model", hint="--input arena")
    try:
        return _slid(annotated, n, layers)
    except _Strides as error:
        least = next((m for m in range(1, error.height) if _divides(annotated, m, layers)), None)
        hint = "--input arena" if least is None else f"--input sliding:{least}"
        raise UsageError(
            f"{error.rows} new rows come to operator {error.name}, which steps by {error.stride}",
            code="sliding_stride",
            hint=hint,
        ) from error


class _Strides(Exception):
    """New rows that come to a layer are no multiple of the rows that it steps by."""

    def __init__(self, rows: int, op: RowOp, height: int) -> None:
        """height: of the model's window."""
        super().__init__()
        self.rows, self.name, self.stride, self.height = rows, op.name, op.window.stride_h, height


def _divides(annotated: AnnotatedGraph, n: int, layers: int | None) -> bool:
    """Whether so many new rows are a multiple of what layers step by, one after the other."""
    try:
        _slid(annotated, n, layers)
    except _Strides:
        return False
    return True


def _slid(annotated: AnnotatedGraph, n: int, layers: int | None) -> tuple[AnnotatedGraph, SlidingWindow]:
    """Without layers that pad, or with them: whichever takes fewer multiply-accumulates. Raises _Strides."""
    (tensor,) = annotated.graph.inputs
    away = _Sliding(annotated, tensor, n, layers)
    found, window = away.run(), SlidingWindow(away.height, n)
    try:
        padded = _Sliding(annotated, tensor, n, layers, padded=True).run()
        return min(found, padded, key=lambda u: u.macs), window
    except Impossible:
        return found, window
    except _Strides:  # other rows would do
        if found.macs >= annotated.macs:
            raise
        return found, window


class _Sliding(Edges):
    """A graph whose operators slide, one after the other."""

    def __init__(
        self, annotated: AnnotatedGraph, tensor: TensorId, n: int, layers: int | None = None, *, padded: bool = False
    ) -> None:
        """layers: see with_sliding(). padded: operators that pad in time slide, too."""
        super().__init__(annotated, tensor)
        self.n, self.padded = n, padded
        self.may_slide = frozenset(self.order[:layers])
        self.joined_rows: dict[TensorId, TensorId] = {}
        """All rows of a tensor that slides, by that tensor."""
        rows = self._input_rows()
        if not 0 < n < rows.h:
            raise UsageError(
                f"the input is a window of {rows.h} rows: it cannot slide by {n}",
                code="sliding_rows",
                hint=f"--input sliding:ROWS with 1 to {rows.h - 1}",
            )
        self.height = rows.h
        self.becomes(tensor, Slid(rows, n))

    def _input_rows(self) -> Rows:
        seen = {rows for op in self.rows() for t, rows in zip(op.inputs, op.reads, strict=True) if t == self.input}
        if len(seen) != 1 or self.is_whole(self.input):
            raise UsageError(
                "the input cannot slide: not all that read it run row by row, and see the same rows",
                code="sliding_impossible",
                hint="--input arena",
            )
        return seen.pop()

    def run(self) -> AnnotatedGraph:
        """Raises _Strides where the rows do not divide, Impossible where edges cannot be made again."""
        for key in list(self.order):
            self.slide(key)
        self.keep()
        self.wait()
        return self.annotated()

    def slide(self, key: int) -> None:
        """The operator on new rows, or on all of them joined where it cannot slide."""
        op = self.row_op(key)
        if op is None or not self.slid.keys() & set(op.inputs):
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
            (source,) = op.inputs
            self.depth[source] = max(self.depth.get(source, 0), made.window.pad_top)
        if made.writes.h < op.writes.h:
            self.becomes(op.output, Slid(op.writes, made.writes.h, *edges))

    def _edges(self, op: RowOp) -> tuple[int, int]:
        """Rows of the output, above and below, that depend on padding: of its own, or of its input's."""
        found, w = [self.slid[t] for t in op.inputs if t in self.slid], op.window
        if not found or not op.has_window:
            return max((s.top for s in found), default=0), max((s.bottom for s in found), default=0)
        (slid,) = found
        last = (slid.whole.h - slid.bottom - w.extent_h + w.pad_top) // w.stride_h
        return -(-(slid.top + w.pad_top) // w.stride_h), max(0, op.writes.h - 1 - last)

    def _on_new_rows(self, op: RowOp) -> RowOp | None:
        """What makes the new rows of its output; None where it needs all rows of an input."""
        inputs = [self.slid.get(t) for t in op.inputs]
        if op.keeps or op.older or any(s is None or s.whole != r for s, r in zip(inputs, op.reads, strict=True)):
            return None
        slid = [s for s in inputs if s]
        if op.traits.elementwise or op.access:
            return self._each_row(op, slid)
        return self._window(op, slid[0]) if len(slid) == 1 else None

    def _each_row(self, op: RowOp, slid: list[Slid]) -> RowOp | None:
        """Row by row on the new rows of its inputs, of which none depends on padding in any input."""
        away = slid[0].whole.h - sum(self._edges(op))
        (new, *others) = {min(s.new, away) for s in slid}
        same = all(self._row_by_row(op, k) for k in range(len(op.inputs)))
        alike = op.constant is None or op.constant.rows.h == 1
        if others or new < 1 or not same or not alike or self.is_whole(op.output):
            return None
        return replace(op, reads=tuple(replace(s.whole, h=new) for s in slid), writes=replace(op.writes, h=new))

    def _running_sum(self, op: RowOp, key: int) -> RowOp | None:
        """What adds new rows to sums and takes off those that leave; None where that would take no fewer additions."""
        slid = self.slid.get(op.inputs[0])
        if slid is None or not is_mean(op, slid.whole) or slid.new >= slid.older:
            return None
        if 2 * slid.new + 1 + sum(slid.edges) > MAX_KERNEL_H:
            return None
        sums, (tensor,) = max(self.tensors) + 1, op.inputs
        rows = Rows(1, op.writes.w, SUM_BYTES * op.writes.c)
        old = self.tensors[tensor]
        self.tensors[sums] = replace(old, id=sums, name=f"{old.name}/sums", shape=(1, 1, rows.w, rows.c), dtype="INT8")
        self.states[sums] = StateTensor(sums, 0)
        older = Slid(slid.whole, slid.older)
        parts = self._edge_rows(tensor, key)
        edges = [parts[0] if len(parts) == 1 else (self.rows_of(tensor, parts, key), sum(slid.edges))] if parts else []
        operands = [(tensor, slid.rows, slid.new), (self.older_rows(tensor), older.rows, slid.new)]
        operands += [(t, replace(slid.whole, h=h), h) for t, h in edges]
        return sliding_sum(op, [*operands, (sums, rows, 1)], StateRing(sums, rows, 0))

    def _edge_rows(self, tensor: TensorId, before: int) -> list[tuple[TensorId, int]]:
        """Rows of a tensor that depend on padding, above and below, and how many."""
        slid = self.slid[tensor]
        above = [(self.first(tensor, slid.top, before), slid.top)] if slid.top else []
        return above + ([(self.last(tensor, before), slid.bottom)] if slid.bottom else [])

    def _window(self, op: RowOp, slid: Slid) -> RowOp | None:
        """A window on the new rows of its input, and on older ones."""
        w, out, n = op.window, op.writes, slid.new
        top, bottom = self._edges(op)
        away = out.h - top - bottom
        if away < 1 or ((top or bottom) and not self.padded):
            return None
        if n % w.stride_h and n // w.stride_h < away and out.h > 1:
            raise _Strides(n, op, self.height)
        made = max(1, min(n // w.stride_h, away))
        older = slid.top + slid.older + w.pad_top - (out.h - bottom - made) * w.stride_h
        if older < 0 or (self.is_whole(op.output) and made < out.h):
            return None
        return replace(
            op,
            reads=(slid.rows,),
            writes=replace(out, h=made),
            window=replace(w, pad_top=older),
            older=self.ring(op.inputs[0]) if older else None,
            macs=op.macs * made // out.h,
        )

    @staticmethod
    def _row_by_row(op: RowOp, k: int) -> bool:
        """Whether row y is made of row y of an input, in the same way whatever y is."""
        y = np.arange(op.writes.h, dtype=np.int64)
        first, end = op.rows(k, y)
        steady = op.moves is None or (op.moves.fill is None and all(m.period == 1 for m in op.moves.moves))
        plain = not op.access or op.access[k].table is None
        return bool(steady and plain and (first == y).all() and (end == y + 1).all())

    def _joined(self, tensor: TensorId, before: int) -> TensorId:
        """All rows of a tensor, the kept and the new ones, for an operator and those behind it."""
        if tensor in self.joined_rows:
            return self.joined_rows[tensor]
        if tensor not in self.slid:
            return tensor
        slid = self.slid[tensor]
        parts = [(self.older_rows(tensor), slid.older), (tensor, slid.new)] if slid.older else [(tensor, slid.new)]
        if slid.top:
            parts.insert(0, (self.first(tensor, slid.top, before), slid.top))
        if slid.bottom:
            parts.append((self.last(tensor, before), slid.bottom))
        self.joined_rows[tensor] = self.rows_of(tensor, parts, before)
        return self.joined_rows[tensor]

    def keep(self) -> None:
        """A ring for each tensor of which rows are read again."""
        for tensor, depth in self.depth.items():
            slid, state = self.slid[tensor], self.ring(tensor)
            rows = replace(slid.whole, h=depth)
            token, key = max(self.tensors) + 1, max(self.stated) + 1
            shape = (1, rows.h, rows.w, rows.c // ITEM_BYTES[self.tensors[tensor].dtype])
            self.tensors[state] = replace(self.tensors[state], shape=shape)
            self.tensors[token] = replace(self.tensors[tensor], id=token, name="", shape=(0,), dtype="UINT8")
            self.states[state] = StateTensor(state, 0)
            sources = next(op.sources for op in self.rows() if tensor in op.inputs)
            self.support[key] = movement.keeping(sources, tensor, slid.rows, StateRing(state, rows, 0), token)
            self.stated[key] = Op(key, KEEP, (tensor,), (token,), {STATE: state}, sources)
            self.order.append(key)
