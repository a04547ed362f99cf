"""Selects up to three orders of a model's operators that are worth planning.

A group consists of consecutive operators, so the order decides which operators can form a group. The first order is the
model's own order, a second has the fewest live bytes at its peak, and a third completes each branch before the next
branch begins. In an order that differs from the model's order, all operators between two builtin operators form one
region.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import groupby, pairwise
from operator import or_

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.rowgraph.graph import BuiltinNode, Node, RowGraph, Space
from tflm_memopt.rowgraph.regions import regions_of, state_order, tensor_use

SECONDS = 0.1
"""Time limit of the search for the order with the fewest live bytes, in estimated seconds."""
STEP_SECONDS = 2e-6
WIDTHS = (1, 16, 256)
"""Numbers of sets of completed operators that the first, the second and the third beam search keep."""

State = tuple[int, int, int]
"""Bit set of completed operators, bit set of operators that can run next, and number of live bytes."""


@dataclass(frozen=True, slots=True)
class Task:
    """An operator, with the inputs and outputs that are live while the operator runs."""

    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]


@dataclass(frozen=True)
class OrderProblem:
    """Operators to reorder, given in a valid order. Tensors that no operator makes are live from the start."""

    nbytes: Mapping[TensorId, int]
    tasks: tuple[Task, ...]
    outputs: frozenset[TensorId] = frozenset()
    after: tuple[tuple[int, int], ...] = ()
    """Pairs (a, b) of operators: operator a must run before operator b, although they share no tensor."""
    across: int = 0
    """Number of bytes that are live all the time."""

    @cached_property
    def readers(self) -> Mapping[TensorId, tuple[int, ...]]:
        found: dict[TensorId, dict[int, None]] = {}
        for i, task in enumerate(self.tasks):
            for t in task.inputs:
                found.setdefault(t, {})[i] = None
        return {t: tuple(tasks) for t, tasks in found.items()}

    @cached_property
    def made(self) -> Mapping[TensorId, int]:
        return {t: i for i, task in enumerate(self.tasks) for t in task.outputs}

    @cached_property
    def direct(self) -> Sequence[Sequence[int]]:
        direct: list[list[int]] = [[self.made[t] for t in task.inputs if t in self.made] for task in self.tasks]
        for first, second in self.after:
            direct[second].append(first)
        return direct

    @cached_property
    def before(self) -> tuple[int, ...]:
        """For each operator, a bit set of all operators that must run before the operator."""
        closure: list[int] = []
        for tasks in self.direct:
            known = 0
            for j in tasks:
                known |= closure[j] | 1 << j
            closure.append(known)
        return tuple(closure)

    @cached_property
    def given(self) -> tuple[TensorId, ...]:
        return tuple(t for t in self.readers if t not in self.made)

    def freed_by(self, task: Task) -> Iterable[TensorId]:
        unread = (t for t in task.outputs if t not in self.readers)
        return (t for t in dict.fromkeys((*task.inputs, *unread)) if t not in self.outputs)


def peak(problem: OrderProblem, order: Iterable[int]) -> int:
    waiting = {t: len(readers) for t, readers in problem.readers.items()}
    alive = problem.across + sum(problem.nbytes[t] for t in problem.given)
    worst = 0
    for i in order:
        task = problem.tasks[i]
        alive += sum(problem.nbytes[t] for t in task.outputs)
        worst = max(worst, alive)
        for t in dict.fromkeys(task.inputs):
            waiting[t] -= 1
        alive -= sum(problem.nbytes[t] for t in problem.freed_by(task) if not waiting.get(t))
    return worst


def lower_bound(problem: OrderProblem) -> int:
    start = sum(problem.nbytes[t] for t in problem.given)
    own = (sum(problem.nbytes[t] for t in {*task.inputs, *task.outputs}) for task in problem.tasks)
    return problem.across + max(start, *own, 0)


def contiguous(problem: OrderProblem) -> tuple[int, ...]:
    """Return an order that completes each branch before the next branch, which allows long groups.

    Branches are sorted by peak memory minus memory of the result, largest first (Sethi and Ullman, 1970).
    """
    most, rank = list[int](), list[int]()
    for task, needed in zip(problem.tasks, problem.direct, strict=True):
        made = sum(problem.nbytes[t] for t in task.outputs)
        own = made + sum(problem.nbytes[t] for t in {*task.inputs})
        most.append(max((own, *(most[j] for j in needed))))
        rank.append(most[-1] - made)
    order: dict[int, None] = {}
    waiting = sorted({*range(len(problem.tasks))}.difference(*problem.direct), reverse=True)
    while waiting:
        missing = [j for j in problem.direct[waiting[-1]] if j not in order]
        if missing:
            waiting += sorted(missing, key=rank.__getitem__)
        else:
            order[waiting.pop()] = None
    return tuple(order)


def bits(tasks: int) -> Iterator[int]:
    while tasks:
        lowest = tasks & -tasks
        yield lowest.bit_length() - 1
        tasks ^= lowest


def schedule(problem: OrderProblem, *, seconds: float, budget: Budget = UNBOUNDED) -> tuple[int, ...]:
    """Return an order whose peak of live bytes is at most the peak of the given order. The argument `seconds` limits
    the estimated time of the search.

    The live bytes only depend on the set of completed operators (Ahn et al., Ordering Chaos: Memory-Aware Scheduling of
    Irregularly Wired Neural Networks for Edge Devices, 2020: "Serenity"). Among sets with equally many completed
    operators, a beam search keeps a few sets with the lowest peaks. An operator that fits into the peak and does not
    increase the live bytes runs at once, because the peak cannot rise.
    """
    best: tuple[int, ...] = tuple(range(len(problem.tasks)))
    least, bound = peak(problem, best), lower_bound(problem)
    if least <= bound or seconds <= 0 or not budget.allows(SearchPart.ORDERS):
        return best
    space, most = _Space(problem), int(min(seconds, budget.left) / STEP_SECONDS)
    for width in WIDTHS:
        if least > bound and (order := _beam(space, width, bound, least, most)):
            best, least = order, peak(problem, order)
    budget.spend(STEP_SECONDS * space.steps)
    return best


class _Space:
    def __init__(self, problem: OrderProblem) -> None:
        nbytes, before = problem.nbytes, problem.before
        readers = {t: sum(1 << i for i in tasks) for t, tasks in problem.readers.items()}
        self.made = [sum(nbytes[t] for t in task.outputs) for task in problem.tasks]
        self.dying = [[(readers.get(t, 0), nbytes[t]) for t in problem.freed_by(task)] for task in problem.tasks]
        self.waiting: list[list[tuple[int, int]]] = [[] for _ in problem.tasks]
        for j, tasks in enumerate(before):
            for i in bits(tasks & ~reduce(or_, (before[i] for i in bits(tasks)), 0)):
                self.waiting[i].append((j, tasks))
        ready = sum(1 << i for i, tasks in enumerate(before) if not tasks)
        self.start: State = (0, ready, problem.across + sum(nbytes[t] for t in problem.given))
        self.steps = 0

    def next(self, state: State, budget: int) -> list[tuple[int, State, int]]:
        """Return the operators that can run next, or only one operator if it is certainly the best."""
        done, ready, alive = state
        found = []
        for i in bits(ready):
            during, after, following = alive + self.made[i], done | 1 << i, ready ^ 1 << i
            missing, rest = ~after, during
            for readers, nbytes in self.dying[i]:
                if not readers & missing:
                    rest -= nbytes
            for j, tasks in self.waiting[i]:
                if not tasks & missing:
                    following |= 1 << j
            found.append((i, (after, following, rest), during))
            self.steps += 1
            if rest <= alive and during <= budget:
                return found[-1:]
        return found


def _beam(space: _Space, width: int, bound: int, least: int, most: int) -> tuple[int, ...] | None:
    last: dict[int, int] = {}  # Maps each set of completed operators to the last operator of the best order.
    level = {space.start: bound}
    while level and space.steps <= most:
        following: dict[State, int] = {}
        for state, worst in level.items():
            if not state[1]:
                return _order(last, state[0])
            for i, reached, during in space.next(state, worst):
                top = max(worst, during)
                if top < following.get(reached, least):
                    following[reached] = top
                    last[reached[0]] = i
        level = dict(sorted(following.items(), key=lambda item: (item[1], item[0][2]))[:width])
    return None


def _order(last: Mapping[int, int], done: int) -> tuple[int, ...]:
    found = []
    while done:
        found.append(last[done])
        done ^= 1 << found[-1]
    return tuple(reversed(found))


def orders(graph: RowGraph, sizes: Mapping[TensorId, int], budget: Budget = UNBOUNDED) -> tuple[RowGraph, ...]:
    """Return up to three operator orders that are worth planning, or only the model's own order with a streamed input
    or several devices.
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
