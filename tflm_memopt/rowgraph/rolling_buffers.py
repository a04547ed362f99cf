"""Replaces states by rolling buffers, in which no row moves.

A streaming model joins its kept rows and the new rows, and keeps the last rows of the result. In a rolling buffer, new
rows replace the oldest rows. Operators read the new rows at indices from 0 on, and the kept rows at negative indices.
The writer of a state must run after all readers of the state, so the readers' outputs become operands of the writer. A
program needs no operands that only ensure an order, because it stores the order of iterations.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tflm_memopt.model.graph import ITEM_BYTES, STATE, WRITE_STATE, Op, StateTensor, TensorId
from tflm_memopt.ops import movement
from tflm_memopt.ops.constraints.limits import executable
from tflm_memopt.ops.context import PIECE
from tflm_memopt.ops.moves import FILL, indices
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.rowop import RowOp, Rows, StateRollingBuffer
from tflm_memopt.rewrite.canonicalise import views
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.supported import AnnotatedGraph, Support

SPLIT = "SPLIT"


def broken(annotated: AnnotatedGraph, graph: RowGraph) -> frozenset[int]:
    """Return the operators that stay builtin because their variable is also used outside their region."""
    outside, found = wanted(annotated), set[int]()
    homes = {i: region.number for region in graph.regions for i in region.ops}
    for op in annotated.graph.ops:
        if op.type != WRITE_STATE:
            continue
        writer, state = annotated.support[op.index], op.options[STATE]
        users = {i for i, user in graph.ops.items() if state in (user.older, *user.inputs)} | {op.index}
        fits = isinstance(writer, RowOp) and all(r.c for r in writer.reads)
        if not fits or state in outside or len({homes.get(i) for i in users}) > 1 or op.index not in homes:
            found.update(op.stands_for)
    return frozenset(found)


def wanted(annotated: AnnotatedGraph) -> frozenset[TensorId]:
    graph, aliases = annotated.graph, views(annotated.graph)
    builtin = (op.inputs for op in graph.ops if isinstance(annotated.support[op.index], Unsupported))
    return frozenset(aliases.get(t, t) for tensors in (graph.outputs, *builtin) for t in tensors)


def with_rolling_buffers(annotated: AnnotatedGraph) -> AnnotatedGraph:
    """Replace states by rolling buffers where possible, and return the graph. The writer of a state runs after all
    operators that read the state.
    """
    work = GraphWork(annotated)
    for key, writer, kept in work.state_writers():
        if (joined := work.joined(writer, kept)) is not None:
            work.read_rolling_buffer(joined, joined.tensor, _Slice(joined.old + joined.rows.h, 0, joined.rows.c))
            state, new = replace(kept, rows=replace(joined.rows, h=joined.old)), (joined.new, joined.rows)
            work.support[key] = movement.copy_to_state(writer.sources, *new, state, writer.output)
    work.drop_unread()
    work.wait()
    return work.annotated()


class _Joined(NamedTuple):
    key: int
    tensor: TensorId
    state: TensorId
    new: TensorId
    rows: Rows
    old: int


class _Slice(NamedTuple):
    rows: int
    first: int
    channels: int


class GraphWork:
    """A graph that is being changed, with each operator as an operator of TFLite and as a RowOp."""

    def __init__(self, annotated: AnnotatedGraph) -> None:
        graph = annotated.graph
        self.graph = graph
        self.tensors = dict(graph.tensors)
        self.stated = {op.index: op for op in graph.ops}
        self.support: dict[int, Support] = dict(annotated.support)
        self._read_before = {i: op.inputs for i, op in annotated.support.items() if isinstance(op, RowOp)}
        self.order = [op.index for op in graph.ops]
        self.states = {state.tensor: state for state in graph.states}
        self.parts: dict[tuple[TensorId, int, int], tuple[TensorId, TensorId]] = {}
        self.wanted = wanted(annotated)
        """Tensors that the model's caller or a kernel of TFLM needs as a whole."""

    def add_tensor(self, like: TensorId, rows: Rows | None = None, **changes: Any) -> TensorId:
        """Add a copy of a tensor with changed fields and rows, and return the index of the copy."""
        tensor, old = max(self.tensors) + 1, self.tensors[like]
        if rows:
            changes["shape"] = 1, rows.h, rows.w, rows.c // ITEM_BYTES[old.dtype]
        self.tensors[tensor] = replace(old, id=tensor, **changes)
        return tensor

    def add_op(self, op: RowOp, place: int, kind: str = "", **options: Any) -> None:
        key = max(self.stated) + 1
        self.support[key] = op
        self.stated[key] = Op(key, kind or op.name, op.inputs, (op.output,), options, op.sources)
        self.order.insert(place, key)

    def annotated(self) -> AnnotatedGraph:
        ops = tuple(self._stated(self.stated[i], self.support[i]) for i in self.order)
        kept = {rolling_buffer.tensor for op in self.row_ops.values() for rolling_buffer in op.rolling_buffers}
        states = tuple(state for t, state in self.states.items() if t in kept)
        graph = replace(self.graph, tensors=self.tensors, ops=ops, states=states)
        return AnnotatedGraph(graph, {i: self.support[i] for i in self.order})

    def _stated(self, op: Op, support: Support) -> Op:
        if not isinstance(support, RowOp) or support.inputs == self._read_before.get(op.index):
            return op
        others = (t for t in op.inputs if t < 0 or self.tensors[t].constant or self.tensors[t].variable)
        return replace(op, inputs=(*support.inputs, *(() if support.state_write else others)))

    @property
    def row_ops(self) -> Mapping[int, RowOp]:
        return {i: op for i in self.order if isinstance(op := self.support[i], RowOp)}

    def readers(self, tensor: TensorId) -> list[int]:
        return [i for i, op in self.row_ops.items() if tensor in op.inputs]

    def maker(self, tensor: TensorId) -> int | None:
        return next((i for i, op in self.row_ops.items() if op.output == tensor), None)

    def state_writers(self) -> Iterator[tuple[int, RowOp, StateRollingBuffer]]:
        for i in tuple(self.order):
            if isinstance(op := self.support[i], RowOp) and op.state_write:
                yield i, op, op.state_write

    def readers_of_state(self, state: TensorId) -> list[RowOp]:
        return [op for op in self.row_ops.values() if state in (op.older, *op.inputs)]

    def joined(self, writer: RowOp, kept: StateRollingBuffer) -> _Joined | None:
        """Return the operator that joins kept and new rows, or None if the state does not keep the last joined rows."""
        state, depth = kept.tensor, kept.rows.h
        piece = self.maker(writer.inputs[0])
        cut = self.slice(piece) if piece is not None else None
        whole = self.row_ops[piece].inputs[0] if piece is not None and cut else writer.inputs[0]
        maker = self.maker(whole)
        join = self.row_ops[maker] if maker is not None else writer
        if maker is None or len(join.inputs) != 2 or join.inputs[0] != state or join.moves is None:
            return None
        old, new = join.reads
        index = indices(join.operands, join.writes, join.access, join.moves)
        in_order = index.size == old.nbytes + new.nbytes and (index.ravel() == np.arange(index.size)).all()
        if not in_order or (old.w, old.c) != (new.w, new.c) or old.h != depth or whole in self.wanted:
            return None
        if cut and (cut.rows != depth or cut.channels != new.c):
            return None
        if not cut and depth != old.h + new.h:
            return None
        return _Joined(maker, whole, state, join.inputs[1], new, depth)

    def slice(self, key: int) -> _Slice | None:
        """Return the channels that the operator copies from the last rows of its input, or None if the operator
        does anything else.
        """
        op = self.support[key]
        if (
            not isinstance(op, RowOp)
            or op.moves is None
            or len(op.inputs) != 1
            or op.older is not None
            or op.state_write
        ):
            return None
        seen, made = op.reads[0], op.writes
        index = indices(op.operands, made, op.access, op.moves)
        if (index == FILL).any() or index.size == 0:
            return None
        rows, first = index.size // made.row_bytes, int(index.flat[0]) % seen.row_bytes
        if seen.w > 1 and (first, made.row_bytes) != (0, seen.row_bytes):
            return None
        if made.row_bytes > seen.row_bytes - first or rows > seen.h:
            return None
        wanted = np.arange(seen.h - rows, seen.h)[:, None] * seen.row_bytes + first + np.arange(made.row_bytes)
        return _Slice(rows, first, made.row_bytes // seen.w) if (index.reshape(rows, -1) == wanted).all() else None

    def read_rolling_buffer(self, joined: _Joined, tensor: TensorId, seen: _Slice) -> None:
        for key in self.readers(tensor):
            op = self.row_ops[key]
            if _is_window(op, joined, seen):
                new, state = self._part(joined, seen, key)
                self.support[key] = replace(_on_new_rows(op, joined, seen, state), inputs=(new,))
            elif (cut := self.slice(key)) and cut.rows > joined.rows.h and op.output not in self.wanted:
                self.read_rolling_buffer(joined, op.output, _Slice(cut.rows, seen.first + cut.first, cut.channels))

    def _part(self, joined: _Joined, seen: _Slice, like: int) -> tuple[TensorId, TensorId]:
        part = joined.new, seen.first, seen.channels
        if seen.channels == joined.rows.c:
            return joined.new, joined.state
        if part in self.parts:
            return self.parts[part]
        writer, kept = next((op, kept) for _, op, kept in self.state_writers() if kept.tensor == joined.state)
        rows = replace(joined.rows, c=seen.channels)
        old = replace(rows, h=joined.old)
        new = self.add_tensor(joined.new, rows, name=f"{self.tensors[joined.new].name}/{seen.first}")
        state = self.add_tensor(joined.state, old, name=f"{self.tensors[joined.state].name}/{seen.first}")
        rolling_buffer = StateRollingBuffer(state, old, kept.fill)
        self.states[state] = StateTensor(state, rolling_buffer.fill)
        sources, place = self.stated[like].stands_for, self.order.index(joined.key)
        write = movement.copy_to_state(writer.sources, new, rows, rolling_buffer, self.add_tensor(writer.output))
        cut = movement.cut(sources, joined.new, joined.rows, seen.first, seen.channels, new)
        axis, item = len(self.tensors[joined.new].shape) - 1, ITEM_BYTES[self.tensors[joined.new].dtype]
        self.add_op(cut, place, SPLIT, **{PIECE: (axis, seen.first // item, (seen.first + seen.channels) // item)})
        self.add_op(write, place + 1, WRITE_STATE, **{STATE: state})
        self.parts[part] = new, state
        return new, state

    def drop_unread(self) -> None:
        """Remove unread states, unread rows of states, and operators that only move unread rows."""
        while unread := {i for i in self.order if self._is_unread(i)}:
            self.order = [i for i in self.order if i not in unread]
        for i, op, kept in self.state_writers():
            if (depth := self._depth(kept.tensor)) and depth < kept.rows.h:
                rolling_buffer = replace(kept, rows=replace(kept.rows, h=depth))
                self.support[i] = movement.copy_to_state(
                    op.sources, op.inputs[0], op.reads[0], rolling_buffer, op.output
                )

    def _is_unread(self, key: int) -> bool:
        op = self.support[key]
        if not isinstance(op, RowOp) or op.moves is None:
            return False
        if op.state_write:
            return not (op.state_write.tensor in self.wanted or self.readers_of_state(op.state_write.tensor))
        return not self.readers(op.output) and op.output not in self.wanted

    def _depth(self, state: TensorId) -> int:
        """Return the number of kept rows that operators read, or 0 if an operator reads the whole state."""
        readers = self.readers_of_state(state)
        whole = state in self.wanted or any(state in op.inputs for op in readers)
        return 0 if whole else max(op.window.pad_top for op in readers)

    def wait(self) -> None:
        for key, writer, kept in self.state_writers():
            for i in self.readers(kept.tensor):
                self.support[i] = replace(self.row_ops[i], recalls=True)
            readers = self.readers_of_state(kept.tensor)
            made = {op.output: op.writes for op in readers if op.output not in writer.inputs}
            self.support[key] = movement.after(writer, made)
            self.order.remove(key)
            awaited = {*made, *writer.inputs}
            before = [n for n, i in enumerate(self.order) if not awaited.isdisjoint(self.stated[i].outputs)]
            self.order.insert(max(before, default=-1) + 1, key)


def _is_window(op: RowOp, joined: _Joined, seen: _Slice) -> bool:
    w, rows = op.window, op.reads[0]
    inside = w.pad_top == 0 and w.rows.reach(op.writes.h) <= rows.h and rows.h > joined.rows.h
    alike = rows == Rows(seen.rows, joined.rows.w, seen.channels)
    slides = op.has_window and op.older is None and inside and alike
    return slides and executable(_on_new_rows(op, joined, seen, joined.state)) is None


def _on_new_rows(op: RowOp, joined: _Joined, seen: _Slice, state: TensorId) -> RowOp:
    window = replace(op.window, pad_top=seen.rows - joined.rows.h)
    return replace(op, reads=(replace(joined.rows, c=seen.channels),), window=window, older=state)
