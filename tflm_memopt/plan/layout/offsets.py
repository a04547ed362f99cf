"""Assigns a byte offset to each buffer so that the arena is as small as possible.

If two buffers are live together, the minimum distance of their starts is the size of the lower buffer, or less if the
buffers share memory row by row (plan/iteration/liveness.py). A heuristic places the largest buffers first, and places a
buffer earlier if it exceeds a limit. If the arena exceeds the lower bounds, CP-SAT decides which buffer of each pair is
lower.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import TYPE_CHECKING

from tflm_memopt.plan import cp_sat
from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.plan.layout import bound

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import BoolVarT as BoolVar
    from ortools.sat.python.cp_model import LinearExpr

MOVES = 200
"""If a buffer exceeds the limit of a layout, a move places the buffer earlier. A search within a limit makes at most
MOVES moves.
"""
PERSISTENCE = 2
"""The function fit() tries only one limit, and makes up to PERSISTENCE times MOVES moves."""
SEED = 20261120
PAIR_SECONDS = 1e-7
MODEL_SECONDS = 6e-5
"""Estimated seconds for each constraint of CP-SAT's model before the search, which CP-SAT's own clock does not
count.
"""
SOLVER_SECONDS = 2.2
"""Estimated seconds of real time for a second of CP-SAT's deterministic time."""
PATIENCE, PATIENT = 0.05, 0.1
"""CP-SAT stops if it finds no better layout for PATIENCE seconds or for the fraction PATIENT of the time limit,
whichever is longer.
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
    tried = (replace(tighten(problem.decided(turned), budget, part), backward=turned) for turned in starts)
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
        if tried := fit(problem.decided(backward), found.top, budget, part):
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


def tighten(problem: LayoutProblem, budget: Budget = UNBOUNDED, part: SearchPart = SearchPart.LAYOUT) -> Layout:
    """Return the lowest layout that bisection finds between the lower bound and a layout without any limit."""
    neighbours = _neighbours(problem)
    budget.spend(PAIR_SECONDS * len(problem.constraints))
    found = _fitted(problem, math.inf, neighbours, budget, 0) or ()
    limit = least = problem.lower_bound
    top = _top(problem, found)
    while not _is_least(top, least) and budget.allows(part):
        if (lower := _fitted(problem, limit, neighbours, budget, MOVES)) is not None:
            found, top = lower, _top(problem, lower)
        else:
            least = limit + 1
        limit = (least + top) // 2
    return Layout(tuple(found), top, proven=False)


def fit(
    problem: LayoutProblem, limit: int, budget: Budget = UNBOUNDED, part: SearchPart = SearchPart.LAYOUT
) -> Layout | None:
    """Return a layout of at most `limit` bytes, or None if the search finds no layout."""
    if problem.lower_bound > limit or not budget.allows(part):
        return None
    budget.spend(PAIR_SECONDS * len(problem.constraints))
    found = _fitted(problem, limit, _neighbours(problem), budget, PERSISTENCE * MOVES)
    return Layout(tuple(found), _top(problem, found), proven=False) if found is not None else None


_NOWHERE = -1
_Neighbours = Sequence[Sequence[tuple[int, int, int]]]
"""For each buffer, a list of the buffers that are live together with it. An element of the list has three numbers: the
index of the other buffer, its minimum distance above the buffer, and its minimum distance below the buffer.
"""


def _neighbours(problem: LayoutProblem) -> _Neighbours:
    found: list[list[tuple[int, int, int]]] = [[] for _ in problem.nbytes]
    for (lower, upper), distance in problem.constraints.items():
        found[upper].append((lower, problem.constraints[upper, lower], distance))
    return found


def _fitted(
    problem: LayoutProblem, limit: float, neighbours: _Neighbours, budget: Budget, most_moves: int
) -> list[int] | None:
    """Place each buffer as low as possible, large buffers first. If a buffer exceeds `limit`, move the buffer in the
    order before a randomly chosen neighbour, and place all buffers from the new position on again.
    """
    rng, nbytes, moves, pairs = random.Random(SEED), problem.nbytes, 0, 0
    offsets, place, most = [_NOWHERE] * len(nbytes), 0, budget.left / PAIR_SECONDS
    order = sorted(range(len(nbytes)), key=lambda i: -nbytes[i])
    while place < len(order):
        buffer = order[place]
        near = neighbours[buffer]
        pairs += len(near)
        start = _lowest(problem.align[buffer], near, offsets)
        if start + nbytes[buffer] <= limit:
            offsets[buffer] = start
            place += 1
            continue
        placed = [other for other, *_ in near if offsets[other] != _NOWHERE]
        if not placed or moves == most_moves or pairs > most:
            break
        moves += 1
        to = order.index(rng.choice(placed))
        for other in order[to:place]:
            offsets[other] = _NOWHERE
        order.insert(to, order.pop(place))
        place = to
    budget.spend(PAIR_SECONDS * pairs)
    return offsets if place == len(order) else None


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
