"""Places whole buffers that have lifetimes, with the product's layout solver."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tflm_memopt.plan.layout.offsets import Layout, LayoutProblem, place
from tflm_memopt.plan.schedule.problem import OrderProblem

SECONDS = 5.0
"""Limit of CP-SAT's deterministic time for a layout."""


def layout(nbytes: Sequence[int], conflicts: Collection[tuple[int, int]], lower_bound: int = 0) -> Layout:
    """Return offsets of buffers. conflicts: pairs of indices of buffers that may share no byte.

    >>> layout([5, 3, 2, 4], [(0, 1), (1, 2), (2, 3)]).top
    8
    """
    apart = {(u, v): nbytes[u] for a, b in conflicts for u, v in ((a, b), (b, a))}
    bound = max([lower_bound, *nbytes, *(nbytes[a] + nbytes[b] for a, b in conflicts)])
    return place(LayoutProblem(tuple(nbytes), (1,) * len(nbytes), apart, bound), seconds=SECONDS)


def of_order(problem: OrderProblem, order: Sequence[int]) -> Layout:
    """Return the layout of a problem's tensors for this order of tasks. All tensors of a task are live with it."""
    made: dict[int, int] = {}
    last: dict[int, int] = {}
    for step, i in enumerate(order):
        task = problem.tasks[i]
        for t in (*task.inputs, *task.outputs):
            made.setdefault(t, 0 if t in problem.given else step)
            last[t] = len(order) if t in problem.outputs else step
    tensors = list(made)
    conflicts = [
        (a, b)
        for a, u in enumerate(tensors)
        for b, v in enumerate(tensors[:a])
        if max(made[u], made[v]) <= min(last[u], last[v])
    ]
    return layout([problem.nbytes[t] for t in tensors], conflicts)
