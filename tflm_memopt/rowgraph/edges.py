"""Rows of a window that slides which depend on padding: they are made again in each step.

Away from padding a row of the window before is right again, shifted. A layer that pads in time makes rows above and
below that are not: theirs are made of the padding, or of such rows, and so the edges grow from layer to layer. The last
rows are made, layer by layer, of those of the layer before, of the new rows, and of rows in its ring. The first rows
are made of the first rows of the window, which are kept whole: an inference on its first rows alone, with the padding
above. Who reads all rows gets the first ones, the kept and the new ones, and the last ones, joined.

Where branches meet whose edges differ, as in a residual block, more rows of a tensor count as edges: its new rows lie
further up, where the other's are, and are read from its ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tflm_memopt.model.graph import ITEM_BYTES, Op, TensorId
from tflm_memopt.ops import movement
from tflm_memopt.ops.constraints.limits import executable
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.rowgraph.rings import GraphWork
from tflm_memopt.rowgraph.supported import AnnotatedGraph

JOIN = "CONCATENATION"


class Impossible(Exception):
    """Rows that depend on padding cannot be made again."""


class Slid(NamedTuple):
    """A tensor of which an inference makes the last rows only, away from padding."""

    whole: Rows
    """As the original has it."""
    new: int
    """Rows that an inference makes."""
    top: int = 0
    """Rows above that depend on padding."""
    bottom: int = 0
    """The same below."""

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
    """A graph in which tensors slide, and the first and last rows of these."""

    def __init__(self, annotated: AnnotatedGraph, tensor: TensorId) -> None:
        """tensor: the model's input."""
        super().__init__(annotated)
        self.input = tensor
        self.slid: dict[TensorId, Slid] = {}
        self.depth: dict[TensorId, int] = {}
        """Rows before the new ones that are read, by tensor."""
        self.rings: dict[TensorId, TensorId] = {}
        """States, by the tensor whose rows they keep."""
        self._original = {op.output: op for op in self.rows()}
        """What makes each tensor of the original."""
        self._aligned = dict(self._original)
        """The same on tensors whose edges are alike."""
        self._rows_of: dict[tuple[object, ...], TensorId] = {}
        """Rows of other tensors, by these and how many, and which of them are taken."""
        self._made_first: dict[TensorId, TensorId] = {}
        """First rows, by the tensor."""
        self._made_last: dict[TensorId, TensorId] = {}
        self._made_below: dict[tuple[TensorId, tuple[int, int]], TensorId] = {}
        """Tensors with more edges, by the tensor and these edges."""

    def ring(self, tensor: TensorId) -> TensorId:
        """The state that keeps rows of a tensor."""
        if tensor not in self.rings:
            state = max(self.tensors) + 1
            self.rings[tensor] = state
            self.tensors[state] = replace(self.tensors[tensor], id=state, name=f"{self.tensors[tensor].name}/older")
        return self.rings[tensor]

    def older_rows(self, tensor: TensorId) -> TensorId:
        """The state that keeps all rows away from padding but the new ones."""
        self.depth[tensor] = self.slid[tensor].older
        return self.ring(tensor)

    def rows_of(
        self, like: TensorId, parts: Sequence[tuple[TensorId, int]], before: int, taken: slice = slice(None)
    ) -> TensorId:
        """A tensor of rows of others, one below the other, as many of each as are said. taken: of these rows."""
        asked = (*parts, taken.start, taken.stop)
        if asked not in self._rows_of:
            sources, inputs = self.support_of(before).sources, tuple(t for t, _ in parts)
            reads = tuple(replace(self.slid[like].whole, h=h) for _, h in parts)
            made = self._new_tensor(like, replace(reads[0], h=len(range(sum(h for _, h in parts))[taken])))
            self._insert(movement.one_below_the_other(JOIN, sources, inputs, made, reads, taken), before)
            self._rows_of[asked] = made
        return self._rows_of[asked]

    def _new_tensor(self, like: TensorId, rows: Rows) -> TensorId:
        tensor, old = max(self.tensors) + 1, self.tensors[like]
        shape = (1, rows.h, rows.w, rows.c // ITEM_BYTES[old.dtype])
        self.tensors[tensor] = replace(old, id=tensor, name=f"{old.name}/window", shape=shape)
        return tensor

    def _insert(self, op: RowOp, before: int) -> None:
        key = max(self.stated) + 1
        self.support[key] = op
        self.stated[key] = Op(key, op.name, op.inputs, (op.output,), sources=op.sources)
        self.order.insert(self.order.index(before), key)

    def first(self, tensor: TensorId, count: int, before: int) -> TensorId:
        """So many first rows of a tensor. Of each tensor on the way there they are made once, as many as are read."""
        needs = {tensor: count}
        for op in reversed(self._original.values()):
            for t in op.inputs if op.output in needs else ():
                needs[t] = max(needs.get(t, 0), min(_rows_for(op, needs[op.output]), self.slid[t].whole.h))
        if self._first_rows(self.input) < needs[self.input]:
            self._made_first[self.input] = self._first_of_input(needs[self.input], before)
        for op in self._original.values():
            if self._first_rows(op.output) < needs.get(op.output, 0):
                self._made_first[op.output] = self._first_again(op, needs[op.output], before)
        return self._of_first(tensor, count, before)

    def _first_rows(self, tensor: TensorId) -> int:
        """How many first rows of it have been made."""
        made = self._made_first.get(tensor)
        return 0 if made is None else self.tensors[made].nbytes // self.slid[tensor].whole.row_bytes

    def _of_first(self, tensor: TensorId, count: int, before: int) -> TensorId:
        made, rows = self._made_first[tensor], self._first_rows(tensor)
        return made if rows == count else self.rows_of(tensor, [(made, rows)], before, slice(count))

    def _first_of_input(self, count: int, before: int) -> TensorId:
        older = self.slid[self.input].older
        if count > older:
            raise Impossible
        return self.rows_of(self.input, [(self.older_rows(self.input), older)], before, slice(count))

    def _first_again(self, op: RowOp, count: int, before: int) -> TensorId:
        """A window reads no row too many, whatever lies behind."""
        made = (self._made_first[t] if op.has_window else self._of_first(t, count, before) for t in op.inputs)
        return self._again(op, tuple(made), op.window.pad_top, count, None, before)

    def last(self, tensor: TensorId, before: int) -> TensorId:
        """The last rows of a tensor, all that depend on padding."""
        if tensor not in self._made_last:
            op, count = self._aligned[tensor], self.slid[tensor].bottom
            if op.has_window:
                made = self._last_of_window(op, count, before)
            else:
                made = self._again(op, tuple(self.last(t, before) for t in op.inputs), 0, count, None, before)
            self._made_last[tensor] = made
        return self._made_last[tensor]

    def _last_of_window(self, op: RowOp, count: int, before: int) -> TensorId:
        """From older rows, new ones, and the last ones of the input."""
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
        if older > 0:
            self.depth[source] = max(self.depth.get(source, 0), older)
        return self._again(op, (rows,), max(0, older), count, self.ring(source) if older > 0 else None, before)

    def aligned(self, op: RowOp, key: int, edges: tuple[int, int]) -> RowOp:
        """An operator that works row by row, on inputs whose edges are those of its output."""
        self._aligned[op.output] = replace(op, inputs=tuple(self._with_edges(t, edges, key) for t in op.inputs))
        return self._aligned[op.output]

    def _with_edges(self, tensor: TensorId, edges: tuple[int, int], before: int) -> TensorId:
        """A tensor more of whose rows count as edges, so that its new ones lie further up."""
        slid = self.slid[tensor]
        if slid.edges == edges:
            return tensor
        if (tensor, edges) not in self._made_below:
            made = self._new_tensor(tensor, slid.whole)
            whole = movement.unmoved(self.support_of(before).sources, tensor, slid.whole, made)
            new = min(slid.new, slid.whole.h - sum(edges))
            older = slid.top + slid.older - (slid.whole.h - edges[1] - new)
            state = self.ring(tensor) if older else None
            if state is not None:
                self.depth[tensor] = max(self.depth.get(tensor, 0), older)
            rows, window = replace(slid.whole, h=new), Window(pad_top=older)
            self._insert(replace(whole, reads=(slid.rows,), writes=rows, window=window, older=state), before)
            self._aligned[made] = whole
            self.becomes(made, Slid(slid.whole, new, *edges))
            self._made_below[tensor, edges] = made
        return self._made_below[tensor, edges]

    def becomes(self, tensor: TensorId, slid: Slid) -> None:
        """A tensor slides so from here on."""
        self.slid[tensor] = slid
        old = self.tensors[tensor]
        self.tensors[tensor] = replace(old, shape=_shape(slid.rows, old.shape, slid.whole, ITEM_BYTES[old.dtype]))

    def _again(
        self, op: RowOp, inputs: tuple[TensorId, ...], pad_top: int, count: int, older: TensorId | None, before: int
    ) -> TensorId:
        """So many rows of an operator's output, of these inputs."""
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


def _rows_for(op: RowOp, count: int) -> int:
    """First rows of its inputs that the first rows of an output are made of."""
    return max(1, op.window.reach_h(count) - op.window.pad_top) if op.has_window else count


def _shape(rows: Rows, shape: tuple[int, ...], whole: Rows, item: int) -> tuple[int, ...]:
    """A tensor's shape with fewer rows; rows, pixels and channels where no axis has as many as there are rows."""
    for axis, size in enumerate(shape):
        if size == whole.h:
            return (*shape[:axis], rows.h, *shape[axis + 1 :])
        if size != 1:
            break
    return (1, rows.h, rows.w, rows.c // item)
