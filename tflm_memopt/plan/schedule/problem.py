"""What is to be scheduled, and what an order of it costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tflm_memopt.model.graph import TensorId


@dataclass(frozen=True, slots=True)
class Task:
    """An operator: all its tensors are alive while it runs."""

    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]


@dataclass(frozen=True)
class OrderProblem:
    """Tasks in an order in which they can run. A tensor that no task makes is alive from the start."""

    nbytes: Mapping[TensorId, int]
    tasks: tuple[Task, ...]
    outputs: frozenset[TensorId] = frozenset()
    """Tensors that stay alive to the end."""
    after: tuple[tuple[int, int], ...] = ()
    """Pairs of tasks, the first of which must run first, beyond what tensors say."""
    across: int = 0
    """Bytes that are alive throughout."""

    @cached_property
    def readers(self) -> Mapping[TensorId, tuple[int, ...]]:
        """Tasks that read a tensor, each once, in order."""
        found: dict[TensorId, dict[int, None]] = {}
        for i, task in enumerate(self.tasks):
            for t in task.inputs:
                found.setdefault(t, {})[i] = None
        return {t: tuple(tasks) for t, tasks in found.items()}

    @cached_property
    def made(self) -> Mapping[TensorId, int]:
        """The task that makes a tensor."""
        return {t: i for i, task in enumerate(self.tasks) for t in task.outputs}

    @cached_property
    def before(self) -> tuple[int, ...]:
        """Per task: all tasks that must run before it, as a set of bits."""
        direct: list[list[int]] = [[self.made[t] for t in task.inputs if t in self.made] for task in self.tasks]
        for first, second in self.after:
            direct[second].append(first)
        closure: list[int] = []
        for tasks in direct:
            known = 0
            for j in tasks:
                known |= closure[j] | 1 << j
            closure.append(known)
        return tuple(closure)

    @cached_property
    def given(self) -> tuple[TensorId, ...]:
        """Tensors that are alive from the start and read here."""
        return tuple(t for t in self.readers if t not in self.made)

    def freed_by(self, task: Task) -> Iterable[TensorId]:
        """Tensors that may die with a task."""
        unread = (t for t in task.outputs if t not in self.readers)
        return (t for t in dict.fromkeys((*task.inputs, *unread)) if t not in self.outputs)

    def part(self, done: Collection[int], tasks: Sequence[int]) -> OrderProblem:
        """Some tasks, when all of `done` ran before them and everything else runs later."""
        inside, number = set(tasks), {task: i for i, task in enumerate(tasks)}
        past = inside.union(done)
        later = {t for t, readers in self.readers.items() if not past.issuperset(readers)} | self.outputs
        touched = {t for i in tasks for t in (*self.tasks[i].inputs, *self.tasks[i].outputs)}
        there = {*self.given, *(t for i in done for t in self.tasks[i].outputs)} & later
        return OrderProblem(
            self.nbytes,
            tuple(self.tasks[i] for i in tasks),
            frozenset(touched & later),
            tuple((number[a], number[b]) for a, b in self.after if {a, b} <= inside),
            self.across + sum(self.nbytes[t] for t in there - touched),
        )


def peak(problem: OrderProblem, order: Iterable[int]) -> int:
    """Bytes alive at the worst step of an order."""
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
    """What some task finds alive in every order: its own tensors, those on every way around it."""
    after = [0] * len(problem.tasks)
    for i, tasks in enumerate(problem.before):
        for j in bits(tasks):
            after[j] |= 1 << i
    tensors = {*problem.given, *problem.made}
    readers = {t: sum(1 << i for i in problem.readers.get(t, ())) for t in tensors}
    worst = problem.across + sum(problem.nbytes[t] for t in problem.given)
    for i, task in enumerate(problem.tasks):
        own = {*task.inputs, *task.outputs}
        alive = problem.across
        for t in tensors:
            there = t not in problem.made or problem.before[i] >> problem.made[t] & 1
            if t in own or (there and (t in problem.outputs or readers[t] & after[i])):
                alive += problem.nbytes[t]
        worst = max(worst, alive)
    return worst


def bits(tasks: int) -> Iterator[int]:
    """The tasks of a set, lowest first."""
    while tasks:
        lowest = tasks & -tasks
        yield lowest.bit_length() - 1
        tasks ^= lowest
