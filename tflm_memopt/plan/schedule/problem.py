"""Scheduling problems, and the cost of an order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tflm_memopt.model.graph import TensorId


@dataclass(frozen=True, slots=True)
class Task:
    """An operator, all of whose tensors are live while it runs."""

    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]


@dataclass(frozen=True)
class OrderProblem:
    """Tasks in a possible order. A tensor without a producing task is live from the start."""

    nbytes: Mapping[TensorId, int]
    tasks: tuple[Task, ...]
    outputs: frozenset[TensorId] = frozenset()
    """Tensors that stay live to the end."""
    after: tuple[tuple[int, int], ...] = ()
    """Pairs of tasks whose first must run first, in addition to tensor dependencies."""
    across: int = 0
    """Bytes that are live throughout."""

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
        """The task that makes each tensor."""
        return {t: i for i, task in enumerate(self.tasks) for t in task.outputs}

    @cached_property
    def _direct(self) -> Sequence[Sequence[int]]:
        """For each task its direct predecessors, by tensors or by `after`."""
        direct: list[list[int]] = [[self.made[t] for t in task.inputs if t in self.made] for task in self.tasks]
        for first, second in self.after:
            direct[second].append(first)
        return direct

    @cached_property
    def before(self) -> tuple[int, ...]:
        """For each task all its predecessors, as a bit set."""
        closure: list[int] = []
        for tasks in self._direct:
            known = 0
            for j in tasks:
                known |= closure[j] | 1 << j
            closure.append(known)
        return tuple(closure)

    @cached_property
    def behind(self) -> tuple[int, ...]:
        """For each task all its successors, as a bit set."""
        closure = [0] * len(self.tasks)
        for i in reversed(range(len(self.tasks))):
            for j in self._direct[i]:
                closure[j] |= closure[i] | 1 << i
        return tuple(closure)

    @cached_property
    def given(self) -> tuple[TensorId, ...]:
        """Tensors that are live from the start and read here."""
        return tuple(t for t in self.readers if t not in self.made)

    def freed_by(self, task: Task) -> Iterable[TensorId]:
        """Return the tensors that may be freed after a task."""
        unread = (t for t in task.outputs if t not in self.readers)
        return (t for t in dict.fromkeys((*task.inputs, *unread)) if t not in self.outputs)

    def parts(self, pieces: Sequence[Sequence[int]]) -> Iterator[OrderProblem]:
        """Yield the problem of each piece: earlier pieces are done, later ones are not.

        The pieces cover all tasks.
        """
        piece_of = {task: p for p, tasks in enumerate(pieces) for task in tasks}
        last = {t: max(piece_of[i] for i in readers) for t, readers in self.readers.items()}
        last |= dict.fromkeys(self.outputs, len(pieces))
        bound: list[list[tuple[int, int]]] = [[] for _ in pieces]
        for a, b in self.after:
            if piece_of[a] == piece_of[b]:
                bound[piece_of[a]].append((a, b))
        there = {t for t in self.given if t in last}
        alive = sum(self.nbytes[t] for t in there)
        for p, tasks in enumerate(pieces):
            number = {task: i for i, task in enumerate(tasks)}
            touched = {t for i in tasks for t in (*self.tasks[i].inputs, *self.tasks[i].outputs)}
            yield OrderProblem(
                self.nbytes,
                tuple(self.tasks[i] for i in tasks),
                frozenset(t for t in touched if last.get(t, 0) > p),
                tuple((number[a], number[b]) for a, b in bound[p]),
                self.across + alive - sum(self.nbytes[t] for t in touched & there),
            )
            made = {t for i in tasks for t in self.tasks[i].outputs if last.get(t, 0) > p} - there
            gone = {t for t in touched & there if last[t] <= p}
            alive += sum(self.nbytes[t] for t in made) - sum(self.nbytes[t] for t in gone)
            there |= made
            there -= gone


def peak(problem: OrderProblem, order: Iterable[int]) -> int:
    """Return the maximum of the live bytes of an order."""
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
    """Return a lower bound of the peak: the most bytes that are live at some task in every order."""
    after = problem.behind
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
    """Yield the tasks of a set, lowest first."""
    while tasks:
        lowest = tasks & -tasks
        yield lowest.bit_length() - 1
        tasks ^= lowest
