"""Rows of a window that slides which depend on padding: they are made again in each step.

Away from padding a row of the window before is right again, shifted. A layer that pads in time makes rows above and
below that are not: theirs are made of the padding, or of such rows, and so the edges grow from layer to layer. The last
rows are made, layer by layer, of those of the layer before, of the new rows, and of rows in its ring. The first rows
are made of the first rows of the window, which are kept whole: an inference on its first rows alone, with the padding
above. Who reads all rows gets the first ones, the kept and the new ones, and the last ones, joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tflm_memopt.model.graph import ITEM_BYTES, Op, TensorId
from tflm_memopt.ops import movement
from tflm_memopt.ops.constraints.limits import executable
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.rowgraph.rings import GraphWork
from tflm_memopt.rowgraph.supported import Understood

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

    def __init__(self, understood: Understood, tensor: TensorId) -> None:
        """tensor: the model's input."""
        super().__init__(understood)
        self.input = tensor
        self.slid: dict[TensorId, Slid] = {}
        self.depth: dict[TensorId, int] = {}
        """Rows before the new ones that are read, by tensor."""
        self.rings: dict[TensorId, TensorId] = {}
        """States, by the tensor whose rows they keep."""
        self._original = {op.output: op for op in self.rows()}
        """What makes each tensor of the original."""
        self._made_first: dict[tuple[TensorId, int], TensorId] = {}
        """First rows, by the tensor and how many they are."""
        self._made_last: dict[TensorId, TensorId] = {}

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
        sources, inputs = self.support_of(before).sources, tuple(t for t, _ in parts)
        reads = tuple(replace(self.slid[like].whole, h=h) for _, h in parts)
        made = self._new_tensor(like, replace(reads[0], h=len(range(sum(h for _, h in parts))[taken])))
        self._insert(movement.one_below_the_other(JOIN, sources, inputs, made, reads, taken), before)
        return made

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
        """So many first rows of a tensor."""
        if (tensor, count) not in self._made_first:
            made = self._first_of_input if tensor == self.input else self._first_again
            self._made_first[tensor, count] = made(tensor, count, before)
        return self._made_first[tensor, count]

    def _first_of_input(self, tensor: TensorId, count: int, before: int) -> TensorId:
        older = self.slid[tensor].older
        if count > older:
            raise Impossible
        return self.rows_of(tensor, [(self.older_rows(tensor), older)], before, slice(count))

    def _first_again(self, tensor: TensorId, count: int, before: int) -> TensorId:
        op = self._original[tensor]
        seen = max(1, op.window.reach_h(count) - op.window.pad_top) if op.has_window else count
        inputs = tuple(self.first(t, min(seen, self.slid[t].whole.h), before) for t in op.inputs)
        return self._again(op, inputs, op.window.pad_top, count, None, before)

    def last(self, tensor: TensorId, before: int) -> TensorId:
        """The last rows of a tensor, all that depend on padding."""
        if tensor not in self._made_last:
            op, count = self._original[tensor], self.slid[tensor].bottom
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
