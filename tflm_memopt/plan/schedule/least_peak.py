"""Memory-aware operator scheduling: finds the operator order with the fewest live bytes.

It works on any graph of tasks and whole tensors. The fallbacks are those of the fused tiling thesis (Stahl, Figure
4.7): the graph is cut where everything before must precede everything after, and the pieces are scheduled alone; a
series-parallel piece is solved in polynomial time (series_parallel.py); other or unsolved pieces are searched by
dynamic programming within a time limit (exact.py), where the thesis uses a mixed integer program (Eq. 4.1-4.9). The
result is the best known order, at worst the graph's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.plan.schedule.exact import exact
from tflm_memopt.plan.schedule.problem import OrderProblem, lower_bound, peak
from tflm_memopt.plan.schedule.series_parallel import decompose, hill_valley, in_series


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order of a problem's tasks, by index."""

    order: tuple[int, ...]
    peak: int
    """Maximum of the live bytes."""
    lower_bound: int
    """A lower bound of the peak of any order."""

    @property
    def proven(self) -> bool:
        return self.peak <= self.lower_bound


def schedule(problem: OrderProblem, *, seconds: float, budget: Budget = UNBOUNDED) -> Schedule:
    """Return the order of lowest peak, proven or with its gap, or the best one found in the time.

    seconds: work (effort.py) on pieces that are not solved in polynomial time, in total. budget: the budget.
    """
    pieces = list(_pieces(problem))
    quick = [_polynomial(piece) for _, piece in pieces]
    floor = max((s.lower_bound for s in quick), default=0)
    left = [i for i, s in enumerate(quick) if s.peak > floor]
    for i in left if seconds > 0 else ():
        if not budget.allows(SearchPart.ORDERS):
            continue
        limit = min(seconds / len(left), budget.left)
        order, bound, spent = exact(pieces[i][1], quick[i].order, max(floor, quick[i].lower_bound), limit)
        budget.spend(spent)
        quick[i] = Schedule(order, peak(pieces[i][1], order), max(bound, quick[i].lower_bound))
    order = tuple(tasks[i] for (tasks, _), s in zip(pieces, quick, strict=True) for i in s.order)
    return Schedule(order, max((s.peak for s in quick), default=0), max((s.lower_bound for s in quick), default=0))


def contiguous(problem: OrderProblem) -> tuple[int, ...]:
    """Return an order that finishes each parallel branch before the next, so that operators that can be fused stay
    adjacent.

    This is the thesis' heuristic: hill-valley order of the branches, "used as is, instead of merging them" (section
    4.3.1).
    """
    return hill_valley(problem, decompose(problem), _last, merged=False).order


def _pieces(problem: OrderProblem) -> Iterator[tuple[Sequence[int], OrderProblem]]:
    """Yield pieces that can be scheduled alone, in order: tasks and problem of each."""
    pieces = list(in_series(problem))
    yield from zip(pieces, problem.parts(pieces), strict=True)


def _polynomial(problem: OrderProblem) -> Schedule:
    """Return the best of the graph's own order and the orders that are optimal for series-parallel graphs.

    In a series-parallel problem each task frees a fixed number of bytes, but a tensor with several readers is freed by
    whichever runs last. Here each reader frees a part of it. That is too early, so the peak is a lower bound.
    """
    own = tuple(range(len(problem.tasks)))
    best, bound = own, lower_bound(problem)
    if len(own) > 1 and peak(problem, own) > bound:
        tree = decompose(problem)
        for share in (_evenly, _first, _last):
            found = hill_valley(problem, tree, share)
            best = min(best, found.order, key=lambda order: peak(problem, order))
            bound = max(bound, found.lower_bound)
    return Schedule(best, peak(problem, best), bound)


def _evenly(nbytes: int, readers: int, reader: int) -> int:
    return nbytes * (reader + 1) // readers - nbytes * reader // readers


def _first(nbytes: int, _readers: int, reader: int) -> int:
    return nbytes if reader == 0 else 0


def _last(nbytes: int, readers: int, reader: int) -> int:
    return nbytes if reader == readers - 1 else 0
