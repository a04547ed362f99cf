"""Assigns a byte offset to each buffer so that the arena is as small as possible.

If two buffers are live together, their starts have a minimum distance. The minimum distance is the size of the lower
buffer, or less if the buffers share memory row by row (plan/iteration/liveness.py). A heuristic places the largest
buffers first and improves the order by hill climbing. If the arena exceeds the lower bounds, CP-SAT decides which
buffer of each pair is lower.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING

from tflm_memopt.plan import cp_sat
from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.plan.layout import bound

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import BoolVarT as BoolVar
    from ortools.sat.python.cp_model import LinearExpr

CLIMB_STEPS = 200
SEED = 20261120
PAIR_SECONDS = 2e-7
MODEL_SECONDS = 6e-5
"""Estimated seconds for each constraint of CP-SAT's model. CP-SAT's own clock does not count the time before the
search.
"""
SOLVER_SECONDS = 2.2
"""Estimated seconds of real time for a second of CP-SAT's deterministic time."""
PATIENCE, PATIENT = 0.05, 0.1
"""CP-SAT stops if it finds no better layout for some time. The time is PATIENCE seconds or the fraction PATIENT of the
time limit, whichever is longer.
"""
ARENA_ALIGN = 16
"""Alignment of the arena's head in bytes. Layouts are equally good if their sizes round up to the same multiple of
ARENA_ALIGN.
"""
MOST_PLACED = 2000
_PLACED: OrderedDict[tuple[bytes, float, SearchPart], tuple[float, float, Layout]] = OrderedDict()
"""A layout whose search ran out of budget is not stored, because results must not depend on earlier calls."""


Constraints = Mapping[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Reversible:
    forward: Constraints
    backward: Constraints
    nbytes: Mapping[int, int]
    """Maps the index of a buffer to the buffer's size in bytes in the reversed group."""


@dataclass(frozen=True, slots=True)
class LayoutProblem:
    """`constraints[lower, upper]` is the minimum distance between the starts of two buffers that are live together."""

    nbytes: tuple[int, ...]
    align: tuple[int, ...]
    constraints: Mapping[tuple[int, int], int]
    lower_bound: int
    reversibles: tuple[Reversible, ...] = ()
    """Groups that may run in either row order. The field `constraints` has no minimum distances of reversible groups.
    """

    def decided(self, backward: Collection[int]) -> LayoutProblem:
        constraints, nbytes = dict(self.constraints), list(self.nbytes)
        for number, reversible in enumerate(self.reversibles):
            for pair, distance in (reversible.backward if number in backward else reversible.forward).items():
                constraints[pair] = max(distance, constraints.get(pair, distance))
            for i in reversible.nbytes if number in backward else ():
                nbytes[i] = reversible.nbytes[i]
        return LayoutProblem(tuple(nbytes), self.align, constraints, self.lower_bound)


@dataclass(frozen=True, slots=True)
class Layout:
    offsets: tuple[int, ...]
    top: int
    proven: bool
    backward: frozenset[int] = frozenset()


def place(
    problem: LayoutProblem, *, seconds: float, budget: Budget = UNBOUNDED, part: SearchPart = SearchPart.LAYOUT
) -> Layout:
    """Return the best layout that is found within `budget`, with at most `seconds` seconds of CP-SAT's deterministic
    time.
    """
    key = _digest(problem), seconds, part
    needs, spent, found = _PLACED.get(key, (math.inf, 0.0, None))
    if found is None or budget.left <= needs:
        own = Budget(budget.left)
        found = _place(problem, seconds, own, part)
        spent = own.spent.seconds
        budget.spent.cut_short.update(own.spent.cut_short)
        if not own.spent.cut_short:
            _PLACED[key] = spent + SOLVER_SECONDS * seconds, spent, found
            if len(_PLACED) > MOST_PLACED:
                _PLACED.popitem(last=False)
    budget.spend(spent)
    return found


def forget() -> None:
    _PLACED.clear()


def _digest(problem: LayoutProblem) -> bytes:
    """Return a digest of a layout problem. The order of the constraints changes the digest, because CP-SAT's answer
    depends on this order.
    """
    own = problem.nbytes, problem.align, problem.lower_bound, *problem.constraints.items()
    reversibles = [(*t.forward.items(), 0, *t.backward.items(), 0, *t.nbytes.items()) for t in problem.reversibles]
    return hashlib.blake2b(repr((own, reversibles)).encode(), digest_size=16).digest()


def _place(problem: LayoutProblem, seconds: float, budget: Budget, part: SearchPart) -> Layout:
    numbers = range(len(problem.reversibles))
    starts = dict.fromkeys(frozenset(backward) for backward in ((), numbers[::2], numbers[1::2]))
    tried = (replace(climb(problem.decided(turned), budget, part), backward=turned) for turned in starts)
    found = min(tried, key=lambda layout: layout.top)
    bounded = not _is_least(found.top, problem.lower_bound) and seconds > 0 and not problem.reversibles
    work = bound.SECONDS + bound.PAIR_SECONDS * len(problem.constraints)
    if bounded and budget.allows(part, work):
        budget.spend(work)
        least = bound.clique_bound(problem.nbytes, problem.align, problem.constraints, problem.lower_bound)
        problem = replace(problem, lower_bound=max(problem.lower_bound, least))
    if _is_least(found.top, problem.lower_bound):
        return _with_fewer_reversed(problem, replace(found, proven=True), budget, part)
    pairs = len(problem.constraints) + sum(
        len(reversible.forward) + len(reversible.backward) for reversible in problem.reversibles
    )
    if not seconds or not budget.allows(part, MODEL_SECONDS * pairs):
        return _with_fewer_reversed(problem, found, budget, part)
    budget.spend(MODEL_SECONDS * pairs)
    if budget.left < SOLVER_SECONDS * seconds:
        budget.allows(part, SOLVER_SECONDS * seconds)
        seconds = budget.left / SOLVER_SECONDS
    return _with_fewer_reversed(problem, _patiently(problem, found, seconds, budget), budget, part)


def _with_fewer_reversed(problem: LayoutProblem, found: Layout, budget: Budget, part: SearchPart) -> Layout:
    """Return a layout that is as small as `found` and reverses fewer groups, or `found` if the search finds none.
    Kernels take more instructions for rows in descending order.
    """
    for number in sorted(found.backward):
        backward = found.backward - {number}
        enough = replace(problem.decided(backward), lower_bound=found.top)
        tried = climb(enough, budget, part, found.offsets)
        if tried.top <= found.top:
            found = replace(tried, proven=found.proven, backward=backward)
    return found


def _patiently(problem: LayoutProblem, found: Layout, seconds: float, budget: Budget) -> Layout:
    part = max(PATIENCE, seconds * PATIENT)
    while seconds > 0 and not found.proven:
        before = found.top
        found, spent = exact(problem, found, seconds=min(part, seconds))
        budget.spend(SOLVER_SECONDS * spent)
        seconds -= part
        if _is_least(before, found.top):
            break
    return found


def _is_least(top: int, bound: int) -> bool:
    return -(-top // ARENA_ALIGN) <= -(-bound // ARENA_ALIGN)


def climb(
    problem: LayoutProblem, budget: Budget = UNBOUNDED, part: SearchPart = SearchPart.LAYOUT, start: Sequence[int] = ()
) -> Layout:
    """Place each buffer as low as possible, then improve the order of placing by moving single buffers.

    The argument `start` has the offsets of a similar layout, and buffers stay at these offsets where possible.
    """
    count = len(problem.nbytes)
    order = sorted(range(count), key=lambda i: (start[i] if start else 0, -problem.nbytes[i], i))
    neighbours = _neighbours(problem)
    pairs = [len(others) for others in neighbours.distances]
    offsets = _stack(problem, order, neighbours, start)
    top = _top(problem, offsets)
    budget.spend(PAIR_SECONDS * len(problem.constraints))
    for to, at in _moves(count, CLIMB_STEPS if count > 1 else 0):
        if top <= problem.lower_bound or not budget.allows(part):
            break
        if to == at:
            continue
        trial = order.copy()
        trial.insert(to, trial.pop(at))
        budget.spend(PAIR_SECONDS * sum(map(pairs.__getitem__, trial[min(to, at) :])))
        tried = _restack(problem, trial, (at, to), neighbours, offsets, top)
        if tried:
            order, offsets, top = trial, tried, _top(problem, tried)
    return Layout(tuple(offsets), top, proven=False)


@lru_cache
def _moves(count: int, steps: int) -> Sequence[tuple[int, int]]:
    rng = random.Random(SEED)
    return [(rng.randrange(count), rng.randrange(count)) for _ in range(steps)]


_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """For each buffer, the other buffers that are live together with the buffer."""

    distances: list[list[tuple[int, int, int]]]
    """For each buffer, a list of its neighbours. A neighbour has three numbers: its index, its minimum distance above
    the buffer, and its minimum distance below the buffer.
    """
    masks: list[int]
    """For each buffer, an integer in which bit k is set if buffer k is a neighbour."""


def _neighbours(problem: LayoutProblem) -> _Neighbours:
    distances: list[list[tuple[int, int, int]]] = [[] for _ in problem.nbytes]
    for (lower, upper), distance in problem.constraints.items():
        distances[upper].append((lower, problem.constraints[upper, lower], distance))
    return _Neighbours(distances, [sum(1 << v for v, _, _ in others) for others in distances])


def _stack(
    problem: LayoutProblem, order: Sequence[int], neighbours: _Neighbours, start: Sequence[int] = ()
) -> list[int]:
    offsets = [_NOWHERE] * len(order)
    for u in order:
        near = neighbours.distances[u]
        free = start and not any(
            offsets[v] - below < start[u] < offsets[v] + above for v, below, above in near if offsets[v] >= 0
        )
        offsets[u] = start[u] if free else _lowest(problem.align[u], near, offsets)
    return offsets


def _restack(
    problem: LayoutProblem,
    order: Sequence[int],
    moved: tuple[int, int],
    neighbours: _Neighbours,
    before: Sequence[int],
    limit: int,
) -> list[int]:
    (first, last), mover = sorted(moved), order[moved[1]]
    masks, distances, nbytes, align = neighbours.masks, neighbours.distances, problem.nbytes, problem.align
    offsets, later = list(before), order[first:]
    for u in later:
        offsets[u] = _NOWHERE
    changed = 1 << mover  # bit k is set if the search may move buffer k
    for place, u in enumerate(later, first):
        if place == last + 1 and offsets[mover] == before[mover]:
            changed &= ~(1 << mover)
            if not changed:
                return list(before)
        if u != mover and not masks[u] & changed:
            offsets[u] = before[u]
            continue
        offsets[u] = start = _lowest(align[u], distances[u], offsets)
        if start + nbytes[u] > limit:
            return []
        if start != before[u]:
            changed |= 1 << u
    return offsets


def _lowest(align: int, neighbours: Sequence[tuple[int, int, int]], offsets: Sequence[int]) -> int:
    taken = [(offsets[v] - below, offsets[v] + above) for v, below, above in neighbours if offsets[v] >= 0]
    taken.sort()
    start = 0
    for low, high in taken:  # An offset between `low` and `high` would cause an overlap.
        if start <= low:
            break
        if start < high:
            start = high + -high % align
    return start


def exact(problem: LayoutProblem, hint: Layout, *, seconds: float) -> tuple[Layout, float]:
    """Return the best layout that CP-SAT finds within `seconds`, and CP-SAT's deterministic time in seconds."""
    cp_model = cp_sat.load()
    model = cp_model.CpModel()
    least, most = (-(-nbytes // ARENA_ALIGN) for nbytes in (problem.lower_bound, hint.top))
    top = ARENA_ALIGN * model.new_int_var(least, most, "top")
    offsets: list[LinearExpr] = []
    for i, (nbytes, align) in enumerate(zip(problem.nbytes, problem.align, strict=True)):
        units = model.new_int_var(0, max(0, (hint.top - nbytes) // align), f"offset_{i}")
        model.add_hint(units, hint.offsets[i] // align)
        offsets.append(units * align)
        model.add(offsets[i] + nbytes <= top)
    below: dict[tuple[int, int], BoolVar] = {}
    known = problem.decided(hint.backward).constraints

    def hold(constraints: Constraints, *when: BoolVar) -> None:
        for (lower, upper), distance in constraints.items():
            pair = min(lower, upper), max(lower, upper)
            if pair not in below:
                below[pair] = model.new_bool_var(f"{pair[0]}_below_{pair[1]}")
                apart = hint.offsets[pair[1]] - hint.offsets[pair[0]]
                model.add_hint(below[pair], apart >= known.get(pair, apart))
            order = below[pair] if lower < upper else ~below[pair]
            model.add(offsets[upper] - offsets[lower] >= distance).only_enforce_if(order, *when)

    hold(problem.constraints)
    reversibles = [model.new_bool_var(f"turn_{i}") for i in range(len(problem.reversibles))]
    for i, (reversible, is_reversed) in enumerate(zip(problem.reversibles, reversibles, strict=True)):
        hold(reversible.forward, ~is_reversed)
        hold(reversible.backward, is_reversed)
        for buffer, nbytes in reversible.nbytes.items():
            model.add(offsets[buffer] + nbytes <= top).only_enforce_if(is_reversed)
        model.add_hint(is_reversed, i in hint.backward)
    model.minimize(top)
    solver = cp_sat.solver(seconds, SEED % 1000)
    status = solver.solve(model)
    spent = solver.response_proto.deterministic_time
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return hint, spent
    values = tuple(int(solver.value(o)) for o in offsets)
    backward = frozenset(i for i, is_reversed in enumerate(reversibles) if solver.value(is_reversed))
    return Layout(values, _top(problem.decided(backward), values), status == cp_model.OPTIMAL, backward), spent


def _top(problem: LayoutProblem, offsets: Sequence[int]) -> int:
    return max(map(add, offsets, problem.nbytes), default=0)
