"""Finds operators that should run twice (rematerialisation), so that the input of a reduction need not stay in memory.

A squeeze-excite gate multiplies a tensor by a vector that is computed from the whole tensor. The model can keep the
whole tensor until the vector is ready, or compute the tensor again from a smaller tensor. When a gate's multiplication
starts, RAM must hold all complete tensors that are still needed. For each limit of the RAM, convert/frontier.py tries
the cheapest choice of repeated operators.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Op, TensorId, renamed
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.graph import BuiltinNode, Node, Rematerialisation, RowGraph, Space
from tflm_memopt.rowgraph.regions import regions_of, tensor_use
from tflm_memopt.rowgraph.verify import verify

MOST_OPS = 16
"""Maximum number of operators that run a second time for one reader of their result."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Operators that run twice."""

    rematerialisations: tuple[Rematerialisation, ...]
    macs: int
    """Number of multiply-accumulates of the repeated operators or, in a result of choices(), of the whole model."""
    bound: int
    """Number of bytes of complete tensors that RAM must hold when a gate's multiplication starts. If there are several
    gates, the number is for the gate that needs the most bytes.
    """


def choices(graph: RowGraph, sizes: Mapping[TensorId, int]) -> tuple[Choice, ...]:
    """Return choices of operators that may run twice. The first choice repeats no operator, and each later choice saves
    RAM and costs time.
    """
    seen = _Seen(graph, sizes)
    late = {graph.ops[key].output for key, _ in seen.late_readers}
    gates = [list(_ways(seen, key, k, late)) for key, k in seen.late_readers]
    once = sum(op.macs for op in graph.ops.values())
    found: list[Choice] = []
    for limit in sorted({choice.bound for some in gates for choice in some} | {0}, reverse=True):
        chosen = [_cheapest(some, limit) for some in gates]
        repeated = tuple(one for choice in chosen for one in choice.rematerialisations)
        bound = max((choice.bound for choice in chosen), default=0)
        if not found or bound < found[-1].bound:
            found.append(Choice(repeated, once + sum(choice.macs for choice in chosen), bound))
    return tuple(found)


def rematerialised(graph: RowGraph, rematerialisations: Sequence[Rematerialisation]) -> RowGraph:
    """Return the graph in which the given operators run again just before their reader. Raises PlanError."""
    for one in rematerialisations:
        graph = _with_rematerialisation(graph, one)
    verify(graph, "adding rematerialisations")
    return replace(graph, rematerialisations=tuple(rematerialisations))


def _cheapest(some: Collection[Choice], limit: int) -> Choice:
    return min((w for w in some if w.bound <= limit), key=lambda w: w.macs, default=min(some, key=lambda w: w.bound))


@dataclass(frozen=True)
class _Seen:
    graph: RowGraph
    sizes: Mapping[TensorId, int]

    @cached_property
    def steps(self) -> Sequence[RowOp | BuiltinNode]:
        return [step for _, step in self.graph.steps]

    @cached_property
    def keys(self) -> Mapping[TensorId, int]:
        return {op.output: key for key, op in self.graph.ops.items()}

    @cached_property
    def position(self) -> Mapping[TensorId, int]:
        there = dict.fromkeys((*self.graph.model.inputs, *self.graph.outside))
        for step in self.steps:
            there |= dict.fromkeys((*step.inputs, *step.outputs))
        return {t: i for i, t in enumerate(there)}

    @cached_property
    def behind(self) -> Mapping[TensorId, frozenset[TensorId]]:
        """Maps each tensor to all tensors on which it depends."""
        found = dict.fromkeys(self.position, frozenset[TensorId]())
        for step in self.steps:
            above = frozenset(step.inputs).union(*(found[t] for t in step.inputs))
            found |= dict.fromkeys(step.outputs, above)
        return found

    @cached_property
    def complete(self) -> Mapping[TensorId, frozenset[TensorId]]:
        """Maps each tensor to the tensors that must be complete before its first row can be computed."""
        found = dict.fromkeys(self.position, frozenset[TensorId]())
        for step in self.steps:
            early = frozenset[TensorId]().union(*(found[t] for t in step.inputs))
            for k, t in enumerate(step.inputs):
                if isinstance(step, BuiltinNode) or step.rows_read(k, 0) == (0, step.reads[k].h):
                    early |= {t} | self.behind[t]
            found |= dict.fromkeys(step.outputs, early)
        return found

    @cached_property
    def late_readers(self) -> tuple[tuple[int, int], ...]:
        """Pairs (operator, index of an input): the operator reads the input only after another input is complete.
        Operators that keep rows in a state are left out, because an operator with a state cannot read a copy of a
        tensor.
        """
        return tuple(
            (self.keys[op.output], k)
            for op in self.steps
            if isinstance(op, RowOp) and op.state_write is None
            for k, t in enumerate(op.inputs)
            if t in self.keys and any(t in self.complete[other] for other in op.inputs if other != t)
        )

    def whole(self, reader: RowOp, without: TensorId | None = None) -> frozenset[TensorId]:
        """Return the tensors that are complete when the operator `reader` starts, and that are needed then or later.
        The tensor `without` is left out if only `reader` needs it.
        """
        outputs = self.graph.model.outputs
        wanted = {*outputs, *(t for t in reader.inputs if t != without or t in outputs)}
        for step in self.steps:
            if any(reader.output in self.behind[t] for t in step.outputs):
                wanted.update(step.inputs)
        return self.complete[reader.output] & wanted

    def nbytes(self, tensors: Iterable[TensorId]) -> int:
        return sum(self.sizes.get(t, 0) for t in tensors if t not in self.graph.spaces)


def _ways(seen: _Seen, key: int, k: int, late: Collection[TensorId]) -> Iterator[Choice]:
    """Yield choices. The first choice repeats no operator, and each later choice repeats more operators and needs less
    RAM.
    """
    reader = seen.graph.ops[key]
    tensor = reader.inputs[k]
    best = seen.nbytes(seen.whole(reader))
    yield Choice((), 0, best)
    others = seen.whole(reader, without=tensor)
    made: list[TensorId] = []
    fresh = tensor
    while fresh in seen.keys and fresh not in late and len(made) < MOST_OPS:
        made.append(fresh)
        ops = [seen.graph.ops[seen.keys[t]] for t in made]
        border = {t for op in ops for t in op.inputs}.difference(made)
        if any(seen.graph.spaces.get(t) is Space.STREAM for t in border):
            return  # New rows of a streamed input overwrite the older rows, which cannot be read again.
        if any(op.stateful for op in ops):
            return  # New rows of a state overwrite the older rows, which cannot be read again.
        bound = seen.nbytes(others | border)
        if bound < best:
            best = bound
            keys = sorted(map(seen.keys.__getitem__, made), key=lambda i: seen.position[seen.graph.ops[i].output])
            yield Choice((Rematerialisation(key, tuple(keys)),), sum(op.macs for op in ops), bound)
        fresh = max(border, key=lambda t: seen.position[t], default=-1)


def _with_rematerialisation(graph: RowGraph, again: Rematerialisation) -> RowGraph:
    ops, tensors = dict(graph.ops), dict(graph.model.tensors)
    unknown = {*again.ops, again.reader} - ops.keys()
    if unknown:
        raise PlanError(f"operators {sorted(unknown)} of a rematerialisation do not run row by row")
    first_key = max(op.index for op in graph.model.ops) + 1
    copies: dict[TensorId, TensorId] = {}
    added: list[Op] = []
    stated = {op.index: op for op in graph.model.ops}
    for new, key in enumerate(again.ops, first_key):
        op, copy = ops[key], max(tensors) + 1
        tensors[copy] = replace(tensors[op.output], id=copy, name=f"{tensors[op.output].name}/again")
        ops[new] = replace(op, inputs=renamed(op.inputs, copies), output=copy, again=True)
        inputs = renamed(stated[key].inputs, copies)
        added.append(replace(stated[key], index=new, inputs=inputs, outputs=(copy,), sources=stated[key].stands_for))
        copies[op.output] = copy
    reader = ops[again.reader]
    ops[again.reader] = replace(reader, inputs=renamed(reader.inputs, copies))
    late = stated[again.reader]
    new_ops = [*added, replace(late, inputs=renamed(late.inputs, copies))]
    model_ops = (new for op in graph.model.ops for new in (new_ops if op.index == late.index else (op,)))
    model = replace(graph.model, tensors=tensors, ops=tuple(model_ops))
    nodes = tuple(_nodes(replace(graph, model=model), ops, again.reader, [op.index for op in added]))
    return replace(graph, model=model, nodes=nodes, ops=ops)


def _nodes(graph: RowGraph, ops: Mapping[int, RowOp], reader: int, added: Sequence[int]) -> Iterator[Node]:
    use = tensor_use(graph.model, ops, graph.builtins, graph.outside)
    for node in graph.nodes:
        if isinstance(node, BuiltinNode):
            yield node
            continue
        keys = [i for key in node.ops for i in ((*added, key) if key == reader else (key,))]
        yield from regions_of((*keys, *node.views), ops, use)
