"""Removes transpositions from models of PyTorch, in which channels come before rows and columns.

A TRANSPOSE reads a whole map before it writes the first row. Operators between convolutions get the axis order of the
convolutions, so that no transposition is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tflm_memopt.model.graph import ABSENT, Graph, Op, TensorId
from tflm_memopt.rewrite.rules.columns import add_rearranged, can_rearrange, connected
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, integers_of, replace_ops, same_numbers, supported

Order = tuple[int, ...]


def rewrite(graph: Graph, op: Op) -> Graph | None:
    """Remove two transpositions that undo each other, or exchange the axes of connected operators."""
    order, before = _order(graph, op), graph.producer(op.inputs[0])
    if order is None or graph.producer(op.outputs[0]) is not op:
        return None
    if before is not None and _order(graph, before) == _inverse(order):
        return _as_view(graph, op, before)
    sides = [(before, order), *((after, _inverse(order)) for after in graph.consumers(op.outputs[0]))]
    starts = [(one, other) for one, other in sides if one is not None and can_rearrange(graph, one, other)]
    if not starts:
        return None
    start, order = starts[0]
    inside = frozenset(one.index for one in connected(graph, start, _maps, order) if one.type != "TRANSPOSE")
    moved = _Transposed(graph, order, inside, NewOps(graph, start))
    for one in (one for one in graph.ops if one.index in inside):
        maps = _maps(graph, one)
        if any(t in maps and graph.producer(t) is None and t not in graph.inputs for t in one.inputs):
            return None  # A tensor without producer is a state
        moved.add(one)
    return supported(moved.made.extended, moved.new) if moved.spared > moved.added else None


@dataclass
class _Transposed:
    """A graph after an exchange of axes, with the sizes in bytes of the removed and the added transpositions."""

    graph: Graph
    order: Order
    inside: frozenset[int]
    made: NewOps
    new: dict[int, Ops] = field(default_factory=dict)
    there: dict[TensorId, TensorId] = field(default_factory=dict)
    """Maps each tensor to a tensor that has the same values in the new order of axes."""
    spared: int = 0
    added: int = 0

    def add(self, op: Op) -> None:
        graph, made = self.graph, self.made
        made.op, made.ops, sources = op, [], [*op.stands_for]
        for t in (t for t in _maps(graph, op) if t in op.inputs and t not in self.there):
            sources += self._read(t)
        wanted: list[tuple[TensorId, TensorId]] = []
        for t in (t for t in _maps(graph, op) if t not in self.there):
            readers = [one for one in graph.consumers(t) if one.index not in self.inside]
            same = [one for one in readers if _order(graph, one) == self.order]
            self.there[t] = same[0].outputs[0] if same else self._put(t)
            self.new |= {one.index: () for one in same}
            self.spared += len(same) * graph.tensors[t].nbytes
            sources += [i for one in same for i in one.stands_for]
            wanted += [(t, one.outputs[0]) for one in same[1:]]
            if t in graph.outputs or len(same) < len(readers):
                self.added += graph.tensors[t].nbytes
                wanted.append((t, t))
        add_rearranged(made, op, self.order, self.there, sources)
        for t, target in wanted:
            if t == target:
                made.add("TRANSPOSE", [self.there[t], made.integers(_inverse(self.order))], t)
            else:
                made.add("RESHAPE", [self.there[t]], target)
        self.new[op.index] = tuple(made.ops)

    def _read(self, t: TensorId) -> Sequence[int]:
        graph, writer = self.graph, self.graph.producer(t)
        if writer is None or _order(graph, writer) != _inverse(self.order):
            self.added += graph.tensors[t].nbytes
            self.there[t] = self._put(t)
            self.made.add("TRANSPOSE", [t, self.made.integers(self.order)], self.there[t])
            return ()
        self.there[t] = writer.inputs[0]
        if t in graph.outputs or any(one.index not in self.inside for one in graph.consumers(t)):
            return ()
        self.new[writer.index] = ()
        self.spared += graph.tensors[t].nbytes
        return writer.stands_for

    def _put(self, t: TensorId) -> TensorId:
        tensor = self.graph.tensors[t]
        return self.made.put(tensor, tuple(tensor.shape[a] for a in self.order))


def _as_view(graph: Graph, last: Op, before: Op) -> Graph:
    """If two transpositions undo each other, replace both by a view."""
    made, t = NewOps(graph, last), before.outputs[0]
    made.add("RESHAPE", before.inputs[:1], last.outputs[0])
    needed = t in graph.outputs or graph.consumers(t) != (last,)
    return replace_ops(graph, {last.index: tuple(made.ops), before.index: (before,) if needed else ()})


def _order(graph: Graph, op: Op) -> Order | None:
    """Return the axes of a TRANSPOSE with four dimensions if the first axis has size 1 and stays in place."""
    order = integers_of(graph, op, 1) if op.type == "TRANSPOSE" and op.outputs else None
    if order is None:
        return None
    x, y = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if not same_numbers(x, y) or x.constant or x.variable or x.shape[:1] != (1,):
        return None
    fits = order[:1] == [0] and sorted(order) == [0, 1, 2, 3] and y.shape == tuple(x.shape[a] for a in order)
    return tuple(order) if fits else None


def _inverse(order: Order) -> Order:
    return tuple(int(a) for a in np.argsort(order))


def _maps(graph: Graph, op: Op) -> list[TensorId]:
    tensors = {t: graph.tensors[t] for t in (*op.inputs, *op.outputs) if t != ABSENT}
    return [t for t, x in tensors.items() if x.elements > 1 and len(x.shape) == 4 and not x.constant]
