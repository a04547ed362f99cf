"""Finds an operator order with few live bytes at its peak, by beam searches over sets of completed operators.

The live bytes only depend on the set of completed operators (Ahn et al., Ordering Chaos: Memory-Aware Scheduling of
Irregularly Wired Neural Networks for Edge Devices, 2020: "Serenity"). Among sets with equally many completed operators,
a beam search keeps a few sets with the lowest peaks. If an operator fits into the peak and does not increase the live
bytes, the search runs the operator at once, because the peak cannot rise.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.plan.schedule.problem import OrderProblem, bits, lower_bound, peak

STEP_SECONDS = 2e-6
WIDTHS = (1, 16, 256)
"""How many sets of completed operators the first, the second and the third beam search keep."""

State = tuple[int, int, int]
"""Bit set of completed operators, bit set of operators that can run next, and number of live bytes."""


def schedule(problem: OrderProblem, *, seconds: float, budget: Budget = UNBOUNDED) -> tuple[int, ...]:
    """Return an order whose peak of live bytes is at most the peak of the given order. The argument `seconds` limits
    the estimated time of the search.
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
        """Return the operators that can run next. If one operator is certainly best, return only that operator."""
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
