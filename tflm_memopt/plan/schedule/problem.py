"""Describes which operator orders are possible, and what an order costs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tflm_memopt.model.graph import TensorId


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
    """Pairs of operators without a common tensor. In each pair, the first operator must run before the second operator.
    """
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
