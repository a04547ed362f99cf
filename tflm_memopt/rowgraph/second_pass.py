"""Second passes: operators that run twice, so that a tensor need not wait for a reduction of itself.

A squeeze-excite gate multiplies a tensor with a vector that is made from all of it. Until the vector is there, the
tensor has to be: all its bytes. Or it is made again, from a smaller tensor in front of it: its first copy goes to the
reduction row by row, its second one, row by row, to the reader that came late. To all that plans, checks and lowers
these are operators like any others; their weights are the same bytes in flash.

How many gates get a second pass, and from where on, is a choice between bytes and multiply-accumulates. What must be
whole when a late reader starts bounds the bytes from below, gate by gate. At every bound there is a cheapest set of
second passes: these sets, the Pareto front of the bound, are those that are tried (convert/frontier.py).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Op, TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.graph import Kept, Node, RowGraph, SecondPass
from tflm_memopt.rowgraph.halves import in_halves
from tflm_memopt.rowgraph.regions import regions_of, tensor_use

MOST_OPS = 16
"""Operators of one second pass, at most."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Second passes that may be made together."""

    passes: tuple[SecondPass, ...]
    macs: int
    """Multiply-accumulates of all operators, of those that run twice both times."""
    bound: int
    """Bytes of whole tensors when the late reader starts that finds the most of them."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """What one late reader may get: its second pass, or none."""

    bound: int
    """Bytes of whole tensors when it starts."""
    macs: int
    """Multiply-accumulates of the second pass."""
    second: SecondPass | None = None


def choices(graph: RowGraph, sizes: Mapping[TensorId, int]) -> tuple[Choice, ...]:
    """The sets of second passes that are worth a plan, least compute first: none at all, then ever lower bounds.

    `sizes`: bytes of whole tensors.
    """
    seen = _Seen(graph, sizes)
    gates = [list(_ways(seen, key, k)) for key, k in seen.late_readers]
    once = sum(op.macs for op in graph.ops.values())
    found: list[Choice] = []
    for limit in sorted({way.bound for ways in gates for way in ways} | {0}, reverse=True):
        chosen = [_cheapest(ways, limit) for ways in gates]
        passes = tuple(way.second for way in chosen if way.second)
        bound = max((way.bound for way in chosen), default=0)
        if not found or bound < found[-1].bound:
            found.append(Choice(passes, once + sum(way.macs for way in chosen), bound))
    return tuple(found)


def with_passes(graph: RowGraph, passes: Sequence[SecondPass]) -> RowGraph:
    """The same with each pass' operators once more, right in front of its late reader, which reads the second copy.

    What is left to the first pass, a reduction, is cut in halves where that is possible (halves.py).

    Raises PlanError for passes of another model.
    """
    for second in passes:
        graph = _with_pass(graph, second)
    for first in dict.fromkeys(second.ops[0] for second in passes):
        graph = in_halves(graph, first)
    return replace(graph, passes=tuple(passes))


def _cheapest(ways: Collection[_Choice], limit: int) -> _Choice:
    """The least compute below a bound; where there is no such way, the lowest bound."""
    return min((w for w in ways if w.bound <= limit), key=lambda w: w.macs, default=min(ways, key=lambda w: w.bound))


@dataclass(frozen=True)
class _Seen:
    """A row graph: which tensors must be whole before others begin."""

    graph: RowGraph
    sizes: Mapping[TensorId, int]

    @cached_property
    def steps(self) -> Sequence[RowOp | Kept]:
        """In the order in which they run."""
        nodes: list[RowOp | Kept] = []
        for node in self.graph.nodes:
            nodes += [node] if isinstance(node, Kept) else [self.graph.ops[key] for key in node.ops]
        return nodes

    @cached_property
    def keys(self) -> Mapping[TensorId, int]:
        """Keys of the row operators, by output."""
        return {op.output: key for key, op in self.graph.ops.items()}

    @cached_property
    def tensors(self) -> Sequence[TensorId]:
        """In the order in which they are there. A set of them is a number that has bit i for the i-th."""
        there = dict.fromkeys(self.graph.model.inputs) | dict.fromkeys(self.graph.external)
        for step in self.steps:
            there |= dict.fromkeys((*step.inputs, *_outputs(step)))
        return tuple(there)

    @cached_property
    def position(self) -> Mapping[TensorId, int]:
        return {t: i for i, t in enumerate(self.tensors)}

    def of(self, tensors: Iterable[TensorId]) -> int:
        """A set of tensors."""
        return functools.reduce(operator.or_, (1 << self.position[t] for t in tensors), 0)

    @cached_property
    def behind(self) -> Mapping[TensorId, int]:
        """The tensors that a tensor is made from, directly or not."""
        found = dict.fromkeys(self.tensors, 0)
        for step in self.steps:
            above = self.of(step.inputs)
            for t in step.inputs:
                above |= found[t]
            found |= dict.fromkeys(_outputs(step), above)
        return found

    @cached_property
    def complete(self) -> Mapping[TensorId, int]:
        """Those of them that must be complete before its first row can be made."""
        found = dict.fromkeys(self.tensors, 0)
        for step in self.steps:
            early = 0
            for k, t in enumerate(step.inputs):
                early |= found[t]
                if isinstance(step, Kept) or _reads_all(step, k):
                    early |= self.of([t]) | self.behind[t]
            found |= dict.fromkeys(_outputs(step), early)
        return found

    @cached_property
    def late_readers(self) -> tuple[tuple[int, int], ...]:
        """Operators, and which of their inputs another one of their inputs is made from, all of it."""
        return tuple(
            (self.keys[op.output], k)
            for op in self.steps
            if isinstance(op, RowOp)
            for k, t in enumerate(op.inputs)
            if t in self.keys and any(self.of([t]) & self.complete[other] for other in op.inputs if other != t)
        )

    @cached_property
    def read_late(self) -> frozenset[TensorId]:
        """What late readers make."""
        return frozenset(self.graph.ops[key].output for key, _ in self.late_readers)

    def whole(self, reader: RowOp, without: TensorId | None = None) -> int:
        """Tensors that are complete when a late reader starts, and still wanted. `without`: by others than it."""
        wanted = self.of(t for t in (*self.graph.model.outputs, *reader.inputs) if t in self.position)
        wanted &= ~self.of([] if without is None or without in self.graph.model.outputs else [without])
        made = self.of([reader.output])
        for step in self.steps:
            if any(self.behind[t] & made for t in _outputs(step)):
                wanted |= self.of(step.inputs)
        return self.complete[reader.output] & wanted

    def nbytes(self, tensors: int) -> int:
        """Bytes of a set of tensors; a frame takes none, and neither does a constant."""
        frame = self.graph.frame
        there = (t for i, t in enumerate(self.tensors[: tensors.bit_length()]) if tensors >> i & 1)
        return sum(self.sizes.get(t, 0) for t in there if frame is None or t != frame.tensor)


def _outputs(step: RowOp | Kept) -> tuple[TensorId, ...]:
    return step.outputs if isinstance(step, Kept) else (step.output,)


def _reads_all(op: RowOp, k: int) -> bool:
    """Whether the first row of its output takes all rows of an input."""
    return op.rows_read(k, 0) == (0, op.reads[k].h)


def _ways(seen: _Seen, key: int, k: int) -> Iterator[_Choice]:
    """None, and second passes from ever further in front; what computes more for no less is left out."""
    reader = seen.graph.ops[key]
    tensor = reader.inputs[k]
    best = seen.nbytes(seen.whole(reader))
    yield _Choice(best, 0)
    others = seen.whole(reader, without=tensor)
    frame = seen.graph.frame
    made: list[TensorId] = []
    fresh = tensor
    while fresh in seen.keys and fresh not in seen.read_late and len(made) < MOST_OPS:
        made.append(fresh)
        ops = [seen.graph.ops[seen.keys[t]] for t in made]
        border = {t for op in ops for t in op.inputs}.difference(made)
        if frame and frame.pushed and frame.tensor in border:
            return  # it has passed by
        if any(op.stateful for op in ops):
            return  # what they read of a state may have gone
        bound = seen.nbytes(others | seen.of(border))
        if bound < best:
            best = bound
            keys = sorted(map(seen.keys.__getitem__, made), key=lambda i: seen.position[seen.graph.ops[i].output])
            yield _Choice(bound, sum(op.macs for op in ops), SecondPass(key, tuple(keys)))
        fresh = max(border, key=lambda t: seen.position[t], default=-1)


def _with_pass(graph: RowGraph, second: SecondPass) -> RowGraph:
    ops, tensors = dict(graph.ops), dict(graph.model.tensors)
    unknown = {*second.ops, second.reader} - ops.keys()
    if unknown:
        raise PlanError(f"operators {sorted(unknown)} of a second pass do not run row by row", code="plan_second_pass")
    first_key = max(op.index for op in graph.model.ops) + 1
    copies: dict[TensorId, TensorId] = {}
    added: list[Op] = []
    stated = {op.index: op for op in graph.model.ops}
    for new, key in enumerate(second.ops, first_key):
        op, copy = ops[key], max(tensors) + 1
        tensors[copy] = replace(tensors[op.output], id=copy, name=f"{tensors[op.output].name}/again")
        ops[new] = replace(op, inputs=_renamed(op.inputs, copies), output=copy, again=True)
        inputs = _renamed(stated[key].inputs, copies)
        added.append(replace(stated[key], index=new, inputs=inputs, outputs=(copy,), sources=stated[key].stands_for))
        copies[op.output] = copy
    reader = ops[second.reader]
    ops[second.reader] = replace(reader, inputs=_renamed(reader.inputs, copies))
    model = replace(graph.model, tensors=tensors, ops=tuple(_ops(graph.model.ops, second.reader, added, copies)))
    nodes = tuple(_nodes(replace(graph, model=model), ops, second.reader, [op.index for op in added]))
    return replace(graph, model=model, nodes=nodes, ops=ops)


def _ops(ops: Sequence[Op], reader: int, added: Sequence[Op], copies: Mapping[TensorId, TensorId]) -> Iterator[Op]:
    for op in ops:
        if op.index == reader:
            yield from (*added, replace(op, inputs=_renamed(op.inputs, copies)))
        else:
            yield op


def _nodes(graph: RowGraph, ops: Mapping[int, RowOp], reader: int, added: Sequence[int]) -> Iterator[Node]:
    """The regions again: they may hand over other tensors."""
    use = tensor_use(graph.model, ops, graph.kept, graph.external)
    for node in graph.nodes:
        if isinstance(node, Kept):
            yield node
            continue
        keys = [i for key in node.ops for i in ((*added, key) if key == reader else (key,))]
        yield from regions_of((*keys, *node.views), ops, use)


def _renamed(tensors: Sequence[TensorId], copies: Mapping[TensorId, TensorId]) -> tuple[TensorId, ...]:
    return tuple(copies.get(t, t) for t in tensors)
