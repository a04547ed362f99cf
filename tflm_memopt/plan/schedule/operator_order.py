"""Selects up to three orders of a model's operators that are worth planning.

A group consists of consecutive operators, so the order decides which operators can form a group. The first order is the
model's own order. A second order has the fewest live bytes (least_peak.py). A third order completes each branch before
the next branch begins. In an order that differs from the model's order, all operators between two builtin operators
form one region.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.plan.effort import UNBOUNDED, Budget
from tflm_memopt.plan.schedule.least_peak import schedule
from tflm_memopt.plan.schedule.problem import OrderProblem, Task, contiguous
from tflm_memopt.rowgraph.graph import BuiltinNode, Node, RowGraph, Space
from tflm_memopt.rowgraph.regions import regions_of, state_order, tensor_use

SECONDS = 0.1
"""Time limit of the search for the order with the fewest live bytes, in estimated seconds."""


def orders(graph: RowGraph, sizes: Mapping[TensorId, int], budget: Budget = UNBOUNDED) -> tuple[RowGraph, ...]:
    """Return up to three operator orders that are worth planning. With a streamed input or several devices, only the
    model's own order is possible.
    """
    if Space.STREAM in graph.spaces.values() or any(op.message for op in graph.ops.values()):
        return (graph,)
    nodes: list[BuiltinNode | int] = []
    for node in graph.nodes:
        nodes += [node] if isinstance(node, BuiltinNode) else node.ops
    problem = OrderProblem(
        sizes,
        tuple(_task(graph, node) for node in nodes),
        frozenset(graph.model.outputs),
        tuple(_bound(graph.model, nodes)),
    )
    found = [graph]
    for order in (schedule(problem, seconds=SECONDS, budget=budget), contiguous(problem)):
        other = replace(graph, nodes=tuple(_nodes(graph, [nodes[i] for i in order])))
        same = _with_states(other) == _with_states(graph) and _folded(other) <= _folded(graph)
        if same and _runs(other) not in map(_runs, found):
            found.append(other)
    return tuple(found)


def _with_states(graph: RowGraph) -> set[frozenset[int]]:
    """For each region, return the operators with state, which share one buffer and stay together."""
    return {frozenset(i for i in region.ops if graph.ops[i].stateful) for region in graph.regions} - {frozenset()}


def _folded(graph: RowGraph) -> set[TensorId]:
    """Return tensors that have fewer channels than TFLM's tensors because dead channels were removed."""
    whole = {t: tensor.nbytes for t, tensor in graph.model.tensors.items()}
    folded = {op.output for op in graph.ops.values() if op.writes.nbytes < whole.get(op.output, 0)}
    return folded.intersection(t for node in graph.nodes for t in node.inputs)


def _runs(graph: RowGraph) -> list[tuple[int, ...]]:
    return [(node.op,) if isinstance(node, BuiltinNode) else node.ops for node in graph.nodes]


def _task(graph: RowGraph, node: BuiltinNode | int) -> Task:
    if isinstance(node, BuiltinNode):
        return Task(node.inputs, node.outputs)
    return Task(graph.ops[node].inputs, (graph.ops[node].output,))


def _nodes(graph: RowGraph, order: Sequence[BuiltinNode | int]) -> Iterator[Node]:
    use = tensor_use(graph.model, graph.ops, graph.builtins, graph.outside)
    for builtin, run in groupby(order, key=lambda node: isinstance(node, BuiltinNode)):
        if builtin:
            yield from (node for node in run if isinstance(node, BuiltinNode))
        else:
            keys = [i for i in run if isinstance(i, int)]
            yield from regions_of(keys, graph.ops, use)


def _bound(graph: Graph, nodes: Sequence[BuiltinNode | int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of TFLM's operators whose order must not change because they use the same variable."""
    ops = {op.index: op for op in graph.ops}
    place = {node.op: number for number, node in enumerate(nodes) if isinstance(node, BuiltinNode)}
    yield from ((place[a], place[b]) for a, b in state_order(graph, place))
    seen: dict[TensorId, list[int]] = defaultdict(list)
    for number, node in enumerate(nodes):
        if isinstance(node, BuiltinNode):
            op = ops[node.op]
            for tensor in {t for t in (*op.inputs, *op.outputs) if t >= 0 and graph.tensors[t].variable}:
                seen[tensor].append(number)
    for numbers in seen.values():
        yield from pairwise(numbers)
