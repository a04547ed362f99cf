"""Optimal schedules of series-parallel graphs in polynomial time.

Each task changes the live bytes by a fixed amount (the cumulative weight model of Kayaaslan, Lambert, Marchal and Ucar,
Scheduling series-parallel task graphs to minimize peak memory, 2018): up by its outputs, down by the inputs that it
frees. A sequence of tasks is divided into hill-valley segments (Liu, An application of generalized tree pebbling to
sparse matrix factorization, 1987), and parallel sequences are merged segment by segment: first segments that free
memory, lowest hill first, then those that take it, in the mirrored order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tflm_memopt.plan.schedule.problem import OrderProblem, bits

Share = Callable[[int, int, int], int]
"""(bytes of a tensor, number of its readers, number of the reader) -> bytes that the reader frees; the sum is all
bytes.
"""


@dataclass(frozen=True, slots=True)
class InSeries:
    """Parts that run one after the other."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class InParallel:
    """Parts that do not depend on each other."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Prime:
    """Tasks that are neither, by index, in a possible order."""

    tasks: tuple[int, ...]


Tree = InSeries | InParallel | Prime | int
"""A single task is its index."""


@dataclass(frozen=True, slots=True)
class HillValley:
    """An order, and a lower bound of any order's peak; 0 if the graph is not series-parallel."""

    order: tuple[int, ...]
    lower_bound: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive tasks with their peak and final bytes, relative to the start."""

    hill: int
    net: int
    tasks: tuple[int, ...]

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key: segments of parallel sequences run in this order."""
        return (0, self.hill) if self.net <= 0 else (1, self.net - self.hill)

    def then(self, other: Segment) -> Segment:
        return Segment(max(self.hill, self.net + other.hill), self.net + other.net, self.tasks + other.tasks)


def decompose(problem: OrderProblem) -> Tree:
    """Decompose the task order into a tree."""
    related = _related(problem)

    def tree(tasks: int) -> Tree:
        if tasks & (tasks - 1) == 0:
            return tasks.bit_length() - 1
        parallel = list(_components(tasks, related))
        if len(parallel) > 1:
            return InParallel(tuple(tree(part) for part in parallel))
        series = list(_in_series(tasks, related))
        if len(series) > 1:
            return InSeries(tuple(tree(part) for part in series))
        return Prime(tuple(bits(tasks)))

    return tree((1 << len(problem.tasks)) - 1) if problem.tasks else InSeries(())


def in_series(problem: OrderProblem) -> Iterator[tuple[int, ...]]:
    """Yield sets of tasks that must run one after the other and can be scheduled alone."""
    for part in _in_series((1 << len(problem.tasks)) - 1, _related(problem)):
        yield tuple(bits(part))


def hill_valley(problem: OrderProblem, tree: Tree, share: Share, *, merged: bool = True) -> HillValley:
    """Return the optimal order of a series-parallel tree if each reader of a tensor frees a fixed share of it.

    Without `merged`, branches are not interleaved. Tasks that are not series-parallel keep their order.
    """
    freed = [0] * len(problem.tasks)
    for t, readers in problem.readers.items():
        if t not in problem.outputs:
            for number, i in enumerate(readers):
                freed[i] += share(problem.nbytes[t], len(readers), number)
    exact = True

    def leaf(i: int) -> Segment:
        made = sum(problem.nbytes[t] for t in problem.tasks[i].outputs)
        unread = sum(
            problem.nbytes[t] for t in problem.tasks[i].outputs if t not in problem.readers and t not in problem.outputs
        )
        return Segment(made, made - unread - freed[i], (i,))

    def segments(tree: Tree) -> list[Segment]:
        nonlocal exact
        if isinstance(tree, int):
            return [leaf(tree)]
        if isinstance(tree, Prime):
            exact = False
            return _canonical(leaf(i) for i in tree.tasks)
        parts = [segments(part) for part in tree.parts]
        if isinstance(tree, InSeries):
            return _canonical(segment for part in parts for segment in part)
        if not merged:
            parts = [[_joined(part)] for part in parts]
        return sorted((segment for part in parts for segment in part), key=lambda s: s.rank)

    whole = _joined(segments(tree))
    start = problem.across + sum(problem.nbytes[t] for t in problem.given)
    return HillValley(whole.tasks, start + whole.hill if exact and merged else 0)


def _canonical(sequence: Iterable[Segment]) -> list[Segment]:
    """Return the hill-valley segments of a sequence: running a segment before its predecessor is never better."""
    result: list[Segment] = []
    for segment in sequence:
        while result and result[-1].rank > segment.rank:
            segment = result.pop().then(segment)  # noqa: PLW2901
        result.append(segment)
    return result


def _joined(segments: Sequence[Segment]) -> Segment:
    hill = level = 0
    for part in segments:
        hill, level = max(hill, level + part.hill), level + part.net
    return Segment(hill, level, tuple(i for part in segments for i in part.tasks))


def _related(problem: OrderProblem) -> list[int]:
    """For each task, return the tasks that must run before or after it."""
    return [before | behind for before, behind in zip(problem.before, problem.behind, strict=True)]


def _components(tasks: int, linked: Sequence[int]) -> Iterator[int]:
    """Yield connected components by their lowest task."""
    while tasks:
        found, fresh = 0, tasks & -tasks
        while fresh:
            found |= fresh
            reached = 0
            for i in bits(fresh):
                reached |= linked[i]
            fresh = reached & tasks & ~found
        yield found
        tasks &= ~found


def _in_series(tasks: int, related: Sequence[int]) -> Iterator[int]:
    """Yield the components of tasks that could run in either order, in the order of the tasks."""
    either = [tasks & ~(related[i] | 1 << i) for i in range(len(related))]
    return _components(tasks, either)
