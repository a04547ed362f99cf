"""Computes the rows near the edges of a sliding input again, because rows near an edge depend on padding.

Rows that do not depend on padding stay valid when the input slides. The first and last rows of a layer depend on
padding and are computed again in each inference. If an operator reads all rows, the rows are first joined in one
tensor. Branches that meet get equally many edge rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tflm_memopt.model.graph import ITEM_BYTES, TensorId
from tflm_memopt.ops import movement
from tflm_memopt.ops.constraints.limits import executable
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.rowgraph.graph import with_rows
from tflm_memopt.rowgraph.rolling_buffers import GraphWork
from tflm_memopt.rowgraph.supported import AnnotatedGraph

JOIN = "CONCATENATION"


class Impossible(Exception):
    """Raised if rows near an edge cannot be computed again."""


class Slid(NamedTuple):
    """A tensor of which each inference computes only the newest rows."""

    whole: Rows
    new: int
    top: int = 0
    """Number of rows at the top of the tensor that depend on padding."""
    bottom: int = 0
    """Number of rows at the bottom of the tensor that depend on padding."""

    @property
    def older(self) -> int:
        return self.whole.h - self.top - self.bottom - self.new

    @property
    def edges(self) -> tuple[int, int]:
        return self.top, self.bottom

    @property
    def rows(self) -> Rows:
        return replace(self.whole, h=self.new)


class Edges(GraphWork):
    def __init__(self, annotated: AnnotatedGraph, tensor: TensorId) -> None:
        super().__init__(annotated)
        self.input = tensor
        self.slid: dict[TensorId, Slid] = {}
        self.depth: dict[TensorId, int] = {}
        """Maps each tensor to the number of rows of earlier inferences that operators read from the tensor."""
        self.rolling_buffers: dict[TensorId, TensorId] = {}
        self._original = {op.output: op for op in self.row_ops.values()}
        self._aligned = dict(self._original)
        self._rows_of: dict[tuple[object, ...], TensorId] = {}
        self._made_first: dict[TensorId, TensorId] = {}
        self._made_last: dict[TensorId, TensorId] = {}
        self._made_below: dict[tuple[TensorId, tuple[int, int]], TensorId] = {}

    def rolling_buffer(self, tensor: TensorId) -> TensorId:
        if tensor not in self.rolling_buffers:
            self.rolling_buffers[tensor] = self.add_tensor(tensor, name=f"{self.tensors[tensor].name}/older")
        return self.rolling_buffers[tensor]

    def older_rows(self, tensor: TensorId, rows: int | None = None) -> TensorId:
        """Return the state with at least `rows` rows of earlier inferences, or with all rows if `rows` is None."""
        self.depth[tensor] = max(self.depth.get(tensor, 0), self.slid[tensor].older if rows is None else rows)
        return self.rolling_buffer(tensor)

    def rows_of(
        self, like: TensorId, parts: Sequence[tuple[TensorId, int]], before: int, taken: slice = slice(None)
    ) -> TensorId:
        """Return a tensor with a slice of the joined rows of several tensors. Each row has as many bytes as a row of
        the tensor `like`.
        """
        asked = (*parts, taken.start, taken.stop)
        if asked not in self._rows_of:
            sources, inputs = self.row_ops[before].sources, tuple(t for t, _ in parts)
            reads = tuple(replace(self.slid[like].whole, h=h) for _, h in parts)
            made = self._new_tensor(like, replace(reads[0], h=len(range(sum(h for _, h in parts))[taken])))
            self._insert(movement.one_below_the_other(JOIN, sources, inputs, made, reads, taken), before)
            self._rows_of[asked] = made
        return self._rows_of[asked]

    def _new_tensor(self, like: TensorId, rows: Rows) -> TensorId:
        return self.add_tensor(like, rows, name=f"{self.tensors[like].name}/window")

    def _insert(self, op: RowOp, before: int) -> None:
        self.add_op(op, self.order.index(before))

    def first(self, tensor: TensorId, count: int, before: int) -> TensorId:
        """Return a tensor with the first rows of the given tensor, and add the operators that compute these rows."""
        needs = {tensor: count}
        for op in reversed(self._original.values()):
            wanted, w = needs.get(op.output, 0), op.window
            rows = max(1, w.rows.reach(wanted) - w.pad_top) if op.has_window else wanted
            for t in op.inputs if wanted else ():
                needs[t] = max(needs.get(t, 0), min(rows, self.slid[t].whole.h))
        if self._first_rows(self.input) < needs[self.input]:
            older, count = self.slid[self.input].older, needs[self.input]
            if count > older:
                raise Impossible
            kept = [(self.older_rows(self.input), older)]
            self._made_first[self.input] = self.rows_of(self.input, kept, before, slice(count))
        for op in self._original.values():
            if self._first_rows(op.output) < needs.get(op.output, 0):
                needed = needs[op.output]
                made = (self._made_first[t] if op.has_window else self._of_first(t, needed, before) for t in op.inputs)
                self._made_first[op.output] = self._again(op, tuple(made), op.window.pad_top, needed, None, before)
        return self._of_first(tensor, count, before)

    def _first_rows(self, tensor: TensorId) -> int:
        made = self._made_first.get(tensor)
        return 0 if made is None else self.tensors[made].nbytes // self.slid[tensor].whole.row_bytes

    def _of_first(self, tensor: TensorId, count: int, before: int) -> TensorId:
        made, rows = self._made_first[tensor], self._first_rows(tensor)
        return made if rows == count else self.rows_of(tensor, [(made, rows)], before, slice(count))

    def last(self, tensor: TensorId, before: int) -> TensorId:
        if tensor not in self._made_last:
            op, count = self._aligned[tensor], self.slid[tensor].bottom
            if op.has_window:
                made = self._last_of_window(op, count, before)
            else:
                made = self._again(op, tuple(self.last(t, before) for t in op.inputs), 0, count, None, before)
            self._made_last[tensor] = made
        return self._made_last[tensor]

    def _last_of_window(self, op: RowOp, count: int, before: int) -> TensorId:
        (source,), w = op.inputs, op.window
        slid = self.slid[source]
        first = (op.writes.h - count) * w.stride_h - w.pad_top
        older = slid.whole.h - slid.bottom - slid.new - first
        skipped, parts = max(0, -older), [(source, slid.new)]
        if slid.bottom:
            parts.append((self.last(source, before), slid.bottom))
        if skipped >= slid.new:
            skipped, parts = skipped - slid.new, parts[1:]
        alone = len(parts) == 1 and not skipped
        rows = parts[0][0] if alone else self.rows_of(source, parts, before, slice(skipped, None))
        state = self.older_rows(source, older) if older > 0 else None
        return self._again(op, (rows,), max(0, older), count, state, before)

    def aligned(self, op: RowOp, key: int, edges: tuple[int, int]) -> RowOp:
        self._aligned[op.output] = replace(op, inputs=tuple(self._with_edges(t, edges, key) for t in op.inputs))
        return self._aligned[op.output]

    def _with_edges(self, tensor: TensorId, edges: tuple[int, int], before: int) -> TensorId:
        slid = self.slid[tensor]
        if slid.edges == edges:
            return tensor
        if (tensor, edges) not in self._made_below:
            made = self._new_tensor(tensor, slid.whole)
            whole = movement.unmoved(self.row_ops[before].sources, tensor, slid.whole, made)
            new = min(slid.new, slid.whole.h - sum(edges))
            older = slid.top + slid.older - (slid.whole.h - edges[1] - new)
            state = self.older_rows(tensor, older) if older else None
            rows, window = replace(slid.whole, h=new), Window(pad_top=older)
            self._insert(replace(whole, reads=(slid.rows,), writes=rows, window=window, older=state), before)
            self._aligned[made] = whole
            self.becomes(made, Slid(slid.whole, new, *edges))
            self._made_below[tensor, edges] = made
        return self._made_below[tensor, edges]

    def becomes(self, tensor: TensorId, slid: Slid) -> None:
        self.slid[tensor] = slid
        old = self.tensors[tensor]
        pixels = (1, slid.new, slid.whole.w, slid.whole.c // ITEM_BYTES[old.dtype])
        self.tensors[tensor] = replace(old, shape=with_rows(old.shape, slid.whole.h, slid.new) or pixels)

    def _again(
        self, op: RowOp, inputs: tuple[TensorId, ...], pad_top: int, count: int, older: TensorId | None, before: int
    ) -> TensorId:
        heights = [self.tensors[t].nbytes // r.row_bytes for t, r in zip(inputs, op.reads, strict=True)]
        again = replace(
            op,
            inputs=inputs,
            output=self._new_tensor(op.output, replace(op.writes, h=count)),
            reads=tuple(replace(r, h=h) for r, h in zip(op.reads, heights, strict=True)),
            writes=replace(op.writes, h=count),
            window=replace(op.window, pad_top=pad_top),
            older=older,
            macs=op.macs * count // op.writes.h,
        )
        if executable(again) is not None:
            raise Impossible
        self._insert(again, before)
        return again.output
