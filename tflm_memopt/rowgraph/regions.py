"""Selects regions: the largest sets of supported operators that can become one custom operator.

No path of the graph may leave a region and return to it, because a region runs as one operator. The level of an
operator is the largest number of changes from an unsupported to a supported operator on any path from the inputs to the
operator. Connected operators of equal level form a region.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise

from tflm_memopt.errors import UsageError
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.model.graph import ABSENT, VIEW, WRITE_STATE, Graph, Op, TensorId, renamed, without_dead
from tflm_memopt.model.variables import HANDLE, ONCE, Variable, handles, is_stateful
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.graph import BuiltinNode, Node, Region, RowGraph
from tflm_memopt.rowgraph.supported import Support, View

ANY: Variable = (b"*", b"*")
"""Key that stands for all variables whose handle is not in the graph."""


def partition(graph: Graph, support: Mapping[int, Support]) -> RowGraph:
    """Divide a graph in canonical form into regions and operators that TFLM's kernels run."""
    model, graph = graph, without_dead(graph, lambda op: _stays(op, support[op.index]))
    builtin_views: set[int] = set()
    while True:
        level = _levels(graph, support, builtin_views)
        groups = _groups(graph, level, support)
        absorbed = {i for g in groups for i in g}
        clash, holder = _holders(graph, support, absorbed)
        if not clash:
            return RowGraph(model, *_assemble(graph, support, groups, holder))
        builtin_views |= clash


def _stays(op: Op, support: Support) -> bool:
    """Return whether an operator stays in the graph although no operator reads its output."""
    has_message = isinstance(support, RowOp) and support.message is not None
    return isinstance(support, Unsupported) or op.type == WRITE_STATE or has_message


def _levels(graph: Graph, support: Mapping[int, Support], builtin_views: set[int]) -> dict[int, int]:
    level: dict[int, int] = {}
    reached: dict[TensorId, tuple[int, bool]] = {}
    state = (0, True)
    for op in graph.ops:
        ours = isinstance(support[op.index], RowOp | View) and op.index not in builtin_views
        entries = [reached.get(t, (0, True)) for t in op.inputs]
        stateful = is_stateful(graph, op)
        if stateful:
            entries.append(state)
        number = max((n + (ours and not from_ours) for n, from_ours in entries), default=0)
        if stateful:
            state = (number, False)
        if ours:
            level[op.index] = number
        for t in op.outputs:
            reached[t] = (number, ours)
    return level


def _groups(graph: Graph, level: Mapping[int, int], support: Mapping[int, Support]) -> list[list[int]]:
    """Return sets of connected operators that have equal numbers in `level`, in the order of the model.

    Sets in which no operator computes anything are left out. All operators that exchange rows with other devices are in
    one set, because only one custom operator may wait for rows.
    """
    links: dict[int, list[Hashable]] = {}
    for op in graph.ops:
        if op.index in level:
            found = support[op.index]
            links[op.index] = ["devices"] if isinstance(found, RowOp) and found.message else []
            tensors = (t for t in (*op.inputs, *op.outputs) if t >= 0 and not graph.tensors[t].constant)
            links[op.index] += [(t, level[op.index]) for t in tensors]
    if len({level[i] for i in level if "devices" in links[i]}) > 1:
        reasons = ((op, found.reason) for op in graph.ops if isinstance(found := support[op.index], Unsupported))
        raise builtin_with_devices(next((f"operator {op.number} {op.kind}: {why}" for op, why in reasons), "a view"))
    views = {op.index for op in graph.ops if op.type == VIEW}
    return [group for group in _connected(links) if not views.issuperset(group)]


def _connected(links: Mapping[int, Iterable[Hashable]]) -> list[list[int]]:
    parent: dict[Hashable, Hashable] = {}

    def root(link: Hashable) -> Hashable:
        while (above := parent.setdefault(link, link)) != link:
            parent[link] = link = parent[above]
        return link

    own = {op: ("operator", op) for op in links}
    for op, shared in links.items():
        for link in shared:
            parent[root(link)] = root(own[op])
    groups: dict[Hashable, list[int]] = {}
    for op in links:
        groups.setdefault(root(own[op]), []).append(op)
    return list(groups.values())


def builtin_with_devices(
    where: str, hint: str = "inspect shows why; use --int8-io if they are at the model's inputs or outputs"
) -> UsageError:
    """Return the error for a builtin operator in a model for several devices. After a wait for a message, the
    application calls Invoke() again, which would repeat builtin operators.
    """
    return UsageError(
        "several devices cannot run operators that stay builtin", code="unsupported_operator", where=where, hint=hint
    )


def _holders(
    graph: Graph, support: Mapping[int, Support], absorbed: set[int]
) -> tuple[set[int], dict[TensorId, TensorId]]:
    """Return the operators that only change a shape and that must stay in the graph. The output of a view may replace a
    tensor that only regions use. Also return a map from each replaced tensor to the output of the view.
    """
    required = {t for op in graph.ops if op.index not in absorbed for t in (*op.inputs, *op.outputs)}
    required |= set(graph.inputs) | set(graph.outputs)
    names: dict[TensorId, list[tuple[int, TensorId]]] = {}
    for op in graph.ops:
        view = support[op.index]
        if isinstance(view, View) and op.index in absorbed:
            names.setdefault(view.storage, []).append((op.index, view.output))
    clash: set[int] = set()
    holder: dict[TensorId, TensorId] = {}
    for storage, views in names.items():
        wanted = [(i, t) for i, t in views if t in required]
        if storage in required:
            clash |= {i for i, _ in wanted}
        elif wanted:
            holder[storage] = wanted[0][1]
            clash |= {i for i, _ in wanted[1:]}
    return clash, holder


def _assemble(
    graph: Graph, support: Mapping[int, Support], groups: Sequence[list[int]], holder: Mapping[TensorId, TensorId]
) -> tuple[tuple[Node, ...], Mapping[int, RowOp]]:
    position = {op.index: i for i, op in enumerate(graph.ops)}
    absorbed = {i for g in groups for i in g}
    ops = {
        i: replace(op, inputs=renamed(op.inputs, holder), output=holder.get(op.output, op.output))
        for i in absorbed
        if isinstance(op := support[i], RowOp)
    }
    variables = handles(graph)
    builtins = [_builtin(graph, op, variables) for op in graph.ops if op.index not in absorbed]
    states = {state.tensor for state in graph.states} | {op.inputs[0] for op in ops.values() if op.receives}
    use = tensor_use(graph, ops, builtins, states)
    nodes: list[Node] = [*builtins, *(region for group in groups for region in regions_of(group, ops, use))]
    producer = {t: n for n, node in enumerate(nodes) for t in node.outputs}
    before = [{producer[t] for t in node.inputs if t in producer} for node in nodes]
    number_of = {node.op: n for n, node in enumerate(builtins)}
    for a, b in state_order(graph, [node.op for node in builtins]):
        before[number_of[b]].add(number_of[a])
    first = [position[node.op if isinstance(node, BuiltinNode) else node.ops[0]] for node in nodes]
    return tuple(nodes[n] for n in _sorted(before, first)), ops


def _sorted(before: Sequence[Collection[int]], key: Sequence[int]) -> Iterator[int]:
    """Yield indices of nodes in topological order, with the smallest key first among several possible nodes.

    >>> list(_sorted([{2}, {}, {}], key=[0, 2, 1]))
    [2, 0, 1]
    """
    sorter = TopologicalSorter(dict(enumerate(before)))
    sorter.prepare()
    ready: list[tuple[int, int]] = []
    while sorter.is_active():
        for node in sorter.get_ready():
            heappush(ready, (key[node], node))
        yield (done := heappop(ready)[1])
        sorter.done(done)


def state_order(graph: Graph, order: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of operators (Op.index) that must stay in the given order, because both use the same variable.

    An operator with one variable affects only this variable, and an operator without a known variable may affect all.
    """
    ops = {op.index: op for op in graph.ops}
    named = handles(graph)
    seen: dict[Variable, list[int]] = {key: [] for key in (*named.values(), ANY)}
    for op in (ops[i] for i in order if is_stateful(graph, ops[i])):
        tensor = (*op.outputs, ABSENT)[0] if op.type == HANDLE else (*op.inputs, ABSENT)[0]
        known = named.get(tensor) if op.type != ONCE else None
        for key in seen if known is None else (known,):
            seen[key].append(op.index)
    for numbers in seen.values():
        yield from pairwise(numbers)


@dataclass(frozen=True, slots=True)
class TensorUse:
    by_rows: Mapping[TensorId, Sequence[int]]
    """Maps each tensor to the indices of the operators that run row by row and read the tensor."""
    by_others: Collection[TensorId]
    external: Collection[TensorId]


def tensor_use(
    graph: Graph, ops: Mapping[int, RowOp], builtins: Iterable[BuiltinNode], external: Collection[TensorId] = ()
) -> TensorUse:
    by_rows: dict[TensorId, list[int]] = {}
    for key, op in ops.items():
        for t in op.inputs:
            by_rows.setdefault(t, []).append(key)
    return TensorUse(by_rows, set(graph.outputs).union(*(node.inputs for node in builtins)), external)


def regions_of(group: Sequence[int], ops: Mapping[int, RowOp], use: TensorUse) -> Iterator[Region]:
    """Yield one region, or several regions if a single region would have more than MAX_IO inputs and outputs."""
    piece: list[int] = []
    if region_of(group, ops, use).width > MAX_IO:
        for i in group:
            if i in ops and region_of([*piece, i], ops, use).width > MAX_IO:
                yield region_of(piece, ops, use)
                piece = []
            piece.append(i)
    yield region_of(piece or group, ops, use)


def region_of(group: Sequence[int], ops: Mapping[int, RowOp], use: TensorUse) -> Region:
    inside = {i: ops[i] for i in group if i in ops}
    there = {op.output for op in inside.values()}

    def needed(tensor: TensorId) -> bool:
        return tensor in use.by_others or any(i not in inside for i in use.by_rows.get(tensor, ()))

    return Region(
        ops=tuple(inside),
        views=tuple(i for i in group if i not in ops),
        inputs=tuple(
            dict.fromkeys(t for op in inside.values() for t in op.inputs if t not in there and t not in use.external)
        ),
        outputs=tuple(t for op in inside.values() if needed(t := op.output) and t not in use.external),
    )


def _builtin(graph: Graph, op: Op, variables: Collection[TensorId]) -> BuiltinNode:
    """For the handles in `variables`, TFLM allocates no bytes in the arena."""

    def activations(tensors: Iterable[TensorId]) -> tuple[TensorId, ...]:
        there = (t for t in tensors if t >= 0 and t not in variables)
        return tuple(t for t in there if not graph.tensors[t].constant and not graph.tensors[t].variable)

    return BuiltinNode(op.index, activations(op.inputs), activations(op.outputs))
