"""Rematerialisations: operators run twice, so that a reduction over a tensor need not keep the tensor.

A squeeze-excite gate multiplies a tensor by a vector that is computed from the whole tensor. Either the whole tensor is
kept until the vector is ready, or the tensor is recomputed from a smaller earlier tensor. The operators that recompute
the tensor run twice: first they feed the reduction row by row, later they feed the late reader row by row. For planner,
checker and lowering, the repeated operators are ordinary operators, whose weights are the same bytes in flash.

More rematerialisations, and earlier starting points, save bytes and cost multiply-accumulates. For each gate, the
tensors that are whole when the gate's late reader starts give a lower bound on the bytes. For each value of this bound
there is a set of rematerialisations with the fewest multiply-accumulates. These Pareto-optimal sets of
rematerialisations are tried (convert/frontier.py).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Op, TensorId, renamed
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.graph import BuiltinNode, Node, Rematerialisation, RowGraph, Space
from tflm_memopt.rowgraph.regions import regions_of, tensor_use

MOST_OPS = 16
"""Maximum number of operators of one rematerialisation."""


@dataclass(frozen=True, slots=True)
class Choice:
    passes: tuple[Rematerialisation, ...]
    macs: int
    """Multiply-accumulates of all operators, where operators that run twice count twice."""
    bound: int
    """Maximum, over all late readers, of the bytes of whole tensors when the reader starts."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """An option for one late reader: a rematerialisation, or none."""

    bound: int
    """Bytes of whole tensors when the late reader starts."""
    macs: int
    """Multiply-accumulates of the rematerialisation."""
    second: Rematerialisation | None = None


def choices(graph: RowGraph, sizes: Mapping[TensorId, int]) -> tuple[Choice, ...]:
    """Return the sets of rematerialisations to plan by rising compute, first the empty one. sizes: tensors' bytes."""
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


def with_passes(graph: RowGraph, passes: Sequence[Rematerialisation]) -> RowGraph:
    """Return the graph with each rematerialisation's operators repeated before its late reader. Raises PlanError if the
    operators cannot be repeated there.
    """
    for second in passes:
        graph = _with_pass(graph, second)
    return replace(graph, passes=tuple(passes))


def _cheapest(ways: Collection[_Choice], limit: int) -> _Choice:
    """Return the option with the least compute below a bound, or the option with the lowest bound if there is none."""
    return min((w for w in ways if w.bound <= limit), key=lambda w: w.macs, default=min(ways, key=lambda w: w.bound))


@dataclass(frozen=True)
class _Seen:
    graph: RowGraph
    sizes: Mapping[TensorId, int]

    @cached_property
    def steps(self) -> Sequence[RowOp | BuiltinNode]:
        nodes: list[RowOp | BuiltinNode] = []
        for node in self.graph.nodes:
            nodes += [node] if isinstance(node, BuiltinNode) else [self.graph.ops[key] for key in node.ops]
        return nodes

    @cached_property
    def keys(self) -> Mapping[TensorId, int]:
        """Keys of the row operators by their output."""
        return {op.output: key for key, op in self.graph.ops.items()}

    @cached_property
    def tensors(self) -> Sequence[TensorId]:
        """Tensors in order of their creation; a set of tensors is an integer with bit i for the i-th tensor."""
        there = dict.fromkeys(self.graph.model.inputs) | dict.fromkeys(self.graph.outside)
        for step in self.steps:
            there |= dict.fromkeys((*step.inputs, *_outputs(step)))
        return tuple(there)

    @cached_property
    def position(self) -> Mapping[TensorId, int]:
        return {t: i for i, t in enumerate(self.tensors)}

    def of(self, tensors: Iterable[TensorId]) -> int:
        """Return a set of tensors as an integer."""
        return functools.reduce(operator.or_, (1 << self.position[t] for t in tensors), 0)

    @cached_property
    def behind(self) -> Mapping[TensorId, int]:
        """For each tensor, the set of tensors that it depends on directly or indirectly."""
        found = dict.fromkeys(self.tensors, 0)
        for step in self.steps:
            above = self.of(step.inputs)
            for t in step.inputs:
                above |= found[t]
            found |= dict.fromkeys(_outputs(step), above)
        return found

    @cached_property
    def complete(self) -> Mapping[TensorId, int]:
        """For each tensor, the dependencies that must be complete before the tensor's first row can be computed."""
        found = dict.fromkeys(self.tensors, 0)
        for step in self.steps:
            early = 0
            for k, t in enumerate(step.inputs):
                early |= found[t]
                if isinstance(step, BuiltinNode) or step.rows_read(k, 0) == (0, step.reads[k].h):
                    early |= self.of([t]) | self.behind[t]
            found |= dict.fromkeys(_outputs(step), early)
        return found

    @cached_property
    def late_readers(self) -> tuple[tuple[int, int], ...]:
        """Late readers, each with the number of an input on which another input of the reader depends as a whole."""
        return tuple(
            (self.keys[op.output], k)
            for op in self.steps
            if isinstance(op, RowOp)
            for k, t in enumerate(op.inputs)
            if t in self.keys and any(self.of([t]) & self.complete[other] for other in op.inputs if other != t)
        )

    @cached_property
    def read_late(self) -> frozenset[TensorId]:
        """Outputs of the late readers."""
        return frozenset(self.graph.ops[key].output for key, _ in self.late_readers)

    def whole(self, reader: RowOp, without: TensorId | None = None) -> int:
        """Return the complete tensors that are still needed when a late reader starts, except `without`, which no other
        operator reads.
        """
        wanted = self.of(t for t in (*self.graph.model.outputs, *reader.inputs) if t in self.position)
        wanted &= ~self.of([] if without is None or without in self.graph.model.outputs else [without])
        made = self.of([reader.output])
        for step in self.steps:
            if any(self.behind[t] & made for t in _outputs(step)):
                wanted |= self.of(step.inputs)
        return self.complete[reader.output] & wanted

    def nbytes(self, tensors: int) -> int:
        """Return the bytes of a set of tensors, of which constants and tensors outside the arena take none."""
        there = (t for i, t in enumerate(self.tensors[: tensors.bit_length()]) if tensors >> i & 1)
        return sum(self.sizes.get(t, 0) for t in there if t not in self.graph.spaces)


def _outputs(step: RowOp | BuiltinNode) -> tuple[TensorId, ...]:
    return step.outputs if isinstance(step, BuiltinNode) else (step.output,)


def _ways(seen: _Seen, key: int, k: int) -> Iterator[_Choice]:
    """Yield no rematerialisation, then rematerialisations with earlier and earlier starts that lower the bound."""
    reader = seen.graph.ops[key]
    tensor = reader.inputs[k]
    best = seen.nbytes(seen.whole(reader))
    yield _Choice(best, 0)
    others = seen.whole(reader, without=tensor)
    made: list[TensorId] = []
    fresh = tensor
    while fresh in seen.keys and fresh not in seen.read_late and len(made) < MOST_OPS:
        made.append(fresh)
        ops = [seen.graph.ops[seen.keys[t]] for t in made]
        border = {t for op in ops for t in op.inputs}.difference(made)
        if any(seen.graph.spaces.get(t) is Space.STREAM for t in border):
            return  # rows of the streamed input no longer exist when operators run a second time
        if any(op.stateful for op in ops):
            return  # rows of a state may no longer exist when operators run a second time
        bound = seen.nbytes(others | seen.of(border))
        if bound < best:
            best = bound
            keys = sorted(map(seen.keys.__getitem__, made), key=lambda i: seen.position[seen.graph.ops[i].output])
            yield _Choice(bound, sum(op.macs for op in ops), Rematerialisation(key, tuple(keys)))
        fresh = max(border, key=lambda t: seen.position[t], default=-1)


def _with_pass(graph: RowGraph, second: Rematerialisation) -> RowGraph:
    ops, tensors = dict(graph.ops), dict(graph.model.tensors)
    unknown = {*second.ops, second.reader} - ops.keys()
    if unknown:
        raise PlanError(f"operators {sorted(unknown)} of a rematerialisation do not run row by row")
    first_key = max(op.index for op in graph.model.ops) + 1
    copies: dict[TensorId, TensorId] = {}
    added: list[Op] = []
    stated = {op.index: op for op in graph.model.ops}
    for new, key in enumerate(second.ops, first_key):
        op, copy = ops[key], max(tensors) + 1
        tensors[copy] = replace(tensors[op.output], id=copy, name=f"{tensors[op.output].name}/again")
        ops[new] = replace(op, inputs=renamed(op.inputs, copies), output=copy, again=True)
        inputs = renamed(stated[key].inputs, copies)
        added.append(replace(stated[key], index=new, inputs=inputs, outputs=(copy,), sources=stated[key].stands_for))
        copies[op.output] = copy
    reader = ops[second.reader]
    ops[second.reader] = replace(reader, inputs=renamed(reader.inputs, copies))
    late = stated[second.reader]
    new_ops = [*added, replace(late, inputs=renamed(late.inputs, copies))]
    model_ops = (new for op in graph.model.ops for new in (new_ops if op.index == late.index else (op,)))
    model = replace(graph.model, tensors=tensors, ops=tuple(model_ops))
    nodes = tuple(_nodes(replace(graph, model=model), ops, second.reader, [op.index for op in added]))
    return replace(graph, model=model, nodes=nodes, ops=ops)


def _nodes(graph: RowGraph, ops: Mapping[int, RowOp], reader: int, added: Sequence[int]) -> Iterator[Node]:
    """Yield the nodes with updated regions, whose inputs and outputs may have changed."""
    use = tensor_use(graph.model, ops, graph.builtins, graph.outside)
    for node in graph.nodes:
        if isinstance(node, BuiltinNode):
            yield node
            continue
        keys = [i for key in node.ops for i in ((*added, key) if key == reader else (key,))]
        yield from regions_of((*keys, *node.views), ops, use)
