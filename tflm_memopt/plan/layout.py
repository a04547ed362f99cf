"""Byte offsets: put every buffer somewhere, lowest top wins.

Two buffers that are alive together need offset(upper) - offset(lower) >= separation(lower, upper) for one of the two
orders; normally the separation is the lower buffer's size, for a pair that shares memory row by row it is less
(plan/liveness.py). A heuristic (largest first, then hill climbing over the order) gives a first layout; where it does
not meet the lower bound, a better bound is sought (layout_bound.py), then CP-SAT decides these disjunctions.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.plan.layout_bound import clique_bound

CLIMB_STEPS = 200
SEED = 20261120


@dataclass(frozen=True, slots=True)
class Problem:
    """Sizes and alignments in bytes. `separations[lower, upper]`: both orders of each pair that is alive together."""

    nbytes: tuple[int, ...]
    align: tuple[int, ...]
    separations: Mapping[tuple[int, int], int]
    lower_bound: int


@dataclass(frozen=True, slots=True)
class Layout:
    offsets: tuple[int, ...]
    top: int
    proven: bool
    """No layout has a lower top."""


def place(problem: Problem, *, seconds: float) -> Layout:
    """The best layout found within the time limit; the heuristic's at worst, never a failure.

    `seconds`: CP-SAT's deterministic time, about seconds, the same on every machine.
    """
    found = climb(problem)
    if found.top > problem.lower_bound and seconds > 0:
        bound = clique_bound(problem.nbytes, problem.align, problem.separations, problem.lower_bound)
        problem = replace(problem, lower_bound=max(problem.lower_bound, bound))
    if found.top <= problem.lower_bound:
        return Layout(found.offsets, found.top, proven=True)
    return exact(problem, found, seconds=seconds)


def climb(problem: Problem) -> Layout:
    """Place one buffer after the other as low as possible; improve the order by moving single buffers."""
    rng = random.Random(SEED)
    order = sorted(range(len(problem.nbytes)), key=lambda i: (-problem.nbytes[i], i))
    neighbours = _neighbours(problem)
    best = _in_order(problem, order, neighbours)
    for _ in range(CLIMB_STEPS if len(order) > 1 else 0):
        if best.top <= problem.lower_bound:
            break
        trial = order.copy()
        trial.insert(rng.randrange(len(trial)), trial.pop(rng.randrange(len(trial))))
        layout = _in_order(problem, trial, neighbours)
        if layout.top <= best.top:
            best, order = layout, trial
    return best


def _neighbours(problem: Problem) -> list[list[tuple[int, int, int]]]:
    """Per buffer u: (v, separation of v below u, separation of u below v) of all buffers v that it meets."""
    result: list[list[tuple[int, int, int]]] = [[] for _ in problem.nbytes]
    for (lower, upper), distance in problem.separations.items():
        result[upper].append((lower, distance, problem.separations[upper, lower]))
    return result


def _in_order(problem: Problem, order: Sequence[int], neighbours: Sequence[Sequence[tuple[int, int, int]]]) -> Layout:
    offsets = [-1] * len(problem.nbytes)
    for u in order:
        taken = sorted((offsets[v] - below, offsets[v] + above) for v, above, below in neighbours[u] if offsets[v] >= 0)
        start = 0
        for low, high in taken:  # a start strictly between is too close to that neighbour
            if start <= low:
                break
            if start < high:
                start = _up(high, problem.align[u])
        offsets[u] = start
    return Layout(tuple(offsets), _top(problem, offsets), proven=False)


def exact(problem: Problem, hint: Layout, *, seconds: float) -> Layout:
    """CP-SAT on the disjunctions, from the hint on."""
    from ortools.sat.python import cp_model  # noqa: PLC0415 (slow to import, and `verify` never needs it)

    model = cp_model.CpModel()
    top = model.new_int_var(problem.lower_bound, hint.top, "top")
    offsets: list[cp_model.LinearExpr] = []
    for i, (nbytes, align) in enumerate(zip(problem.nbytes, problem.align, strict=True)):
        units = model.new_int_var(0, max(0, (hint.top - nbytes) // align), f"offset_{i}")
        model.add_hint(units, hint.offsets[i] // align)
        offsets.append(units * align)
        model.add(offsets[i] + nbytes <= top)
    for (lower, upper), distance in problem.separations.items():
        if lower > upper:
            continue
        below = model.new_bool_var(f"{lower}_below_{upper}")
        model.add(offsets[upper] - offsets[lower] >= distance).only_enforce_if(below)
        model.add(offsets[lower] - offsets[upper] >= problem.separations[upper, lower]).only_enforce_if(~below)
        model.add_hint(below, hint.offsets[upper] - hint.offsets[lower] >= distance)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = SEED % 1000
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return hint
    values = tuple(int(solver.value(o)) for o in offsets)
    return Layout(values, _top(problem, values), proven=status == cp_model.OPTIMAL)


def _top(problem: Problem, offsets: Sequence[int]) -> int:
    return max((o + n for o, n in zip(offsets, problem.nbytes, strict=True)), default=0)


def _up(value: int, align: int) -> int:
    return -(-value // align) * align
