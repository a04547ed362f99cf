"""Byte offsets: put every buffer somewhere, lowest top wins.

Two buffers that are alive together need offset(upper) - offset(lower) >= separation(lower, upper) for one of the two
orders; normally the separation is the lower buffer's size, for a pair that shares memory row by row it is less
(plan/firing/liveness.py). A heuristic (largest first, then hill climbing over the order) gives a first layout; where it
does not meet the lower bound, a better bound is sought (bound.py), then CP-SAT decides these disjunctions.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.plan import cp_sat
from tflm_memopt.plan.effort import Meter, SearchPart
from tflm_memopt.plan.layout import bound

CLIMB_STEPS = 200
SEED = 20261120
PAIR_SECONDS = 2e-7
"""Work (effort.py) to compare a buffer with one that is placed already."""
MODEL_SECONDS = 6e-5
"""To write down a separation for CP-SAT, which simplifies what it reads before it counts its time."""
SOLVER_SECONDS = 2.2
"""Work for a second of CP-SAT's deterministic time."""
MOST_PLACED = 2000
_PLACED: OrderedDict[tuple[bytes, float, SearchPart], tuple[float, float, Layout]] = OrderedDict()
"""Layouts by problem, as searches meet the same blocks again and again; with the work that must be left for that, and
that it spends. Those that were cut short are not among them, so that nothing depends on what was placed before."""


Separations = Mapping[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Turn:
    """A block that may fire from the last row to the first (plan/search/turn.py)."""

    forward: Separations
    """What its buffers must keep otherwise."""
    turned: Separations
    nbytes: Mapping[int, int]
    """Sizes of its own buffers when it is turned."""


@dataclass(frozen=True, slots=True)
class LayoutProblem:
    """Sizes and alignments in bytes. `separations[lower, upper]`: both orders of each pair that is alive together."""

    nbytes: tuple[int, ...]
    align: tuple[int, ...]
    separations: Mapping[tuple[int, int], int]
    lower_bound: int
    turns: tuple[Turn, ...] = ()
    """Blocks that may be turned; their forward separations are not among `separations`."""

    def decided(self, turned: Collection[int]) -> LayoutProblem:
        """This problem with these blocks turned and the others not."""
        separations, nbytes = dict(self.separations), list(self.nbytes)
        for number, turn in enumerate(self.turns):
            for pair, distance in (turn.turned if number in turned else turn.forward).items():
                separations[pair] = max(distance, separations.get(pair, distance))
            for i in turn.nbytes if number in turned else ():
                nbytes[i] = turn.nbytes[i]
        return LayoutProblem(tuple(nbytes), self.align, separations, self.lower_bound)


@dataclass(frozen=True, slots=True)
class Layout:
    offsets: tuple[int, ...]
    top: int
    proven: bool
    """No layout has a lower top."""
    turned: frozenset[int] = frozenset()
    """Numbers of the problem's turns that are taken."""


def place(
    problem: LayoutProblem, *, seconds: float, meter: Meter | None = None, part: SearchPart = SearchPart.LAYOUT
) -> Layout:
    """The best layout found within the time limit; the heuristic's at worst, never a failure.

    `seconds`: CP-SAT's deterministic time, about seconds, the same on every machine. `meter`: what all of it may cost,
    `part`: what is cut short where that is not enough.
    """
    meter, key = meter or Meter(), (_digest(problem), seconds, part)
    needs, spent, found = _PLACED.get(key, (math.inf, 0.0, None))
    if found is None or meter.left <= needs:
        own = Meter(meter.left)
        found = _place(problem, seconds, own, part)
        spent = own.log.seconds
        meter.log.cut.update(own.log.cut)
        if not own.log.cut:
            _PLACED[key] = spent + SOLVER_SECONDS * seconds, spent, found
            if len(_PLACED) > MOST_PLACED:
                _PLACED.popitem(last=False)
    meter.spend(spent)
    return found


def forget() -> None:
    """Places anew what was placed before."""
    _PLACED.clear()


def _digest(problem: LayoutProblem) -> bytes:
    """A digest of all that a problem says, in its order, which CP-SAT's answers depend on."""
    own = problem.nbytes, problem.align, problem.lower_bound, *problem.separations.items()
    turns = [(*t.forward.items(), 0, *t.turned.items(), 0, *t.nbytes.items()) for t in problem.turns]
    return hashlib.blake2b(repr((own, turns)).encode(), digest_size=16).digest()


def _place(problem: LayoutProblem, seconds: float, meter: Meter, part: SearchPart) -> Layout:
    """place() of what is not known yet."""
    numbers = range(len(problem.turns))
    starts = dict.fromkeys(frozenset(turned) for turned in ((), numbers[::2], numbers[1::2]))
    found = min((_with(problem, turned, meter, part) for turned in starts), key=lambda x: x.top)
    bounded = found.top > problem.lower_bound and seconds > 0 and not problem.turns
    work = bound.SECONDS + bound.PAIR_SECONDS * len(problem.separations)
    if bounded and meter.allows(part, work):
        meter.spend(work)
        least = bound.clique_bound(problem.nbytes, problem.align, problem.separations, problem.lower_bound)
        problem = replace(problem, lower_bound=max(problem.lower_bound, least))
    if found.top <= problem.lower_bound:
        return replace(found, proven=True)
    pairs = len(problem.separations) + sum(len(turn.forward) + len(turn.turned) for turn in problem.turns)
    if not seconds or not meter.allows(part, MODEL_SECONDS * pairs):
        return found
    meter.spend(MODEL_SECONDS * pairs)
    if meter.left < SOLVER_SECONDS * seconds:
        meter.allows(part, SOLVER_SECONDS * seconds)
        seconds = meter.left / SOLVER_SECONDS
    found, spent = exact(problem, found, seconds=seconds)
    meter.spend(SOLVER_SECONDS * spent)
    return found


def _with(problem: LayoutProblem, turned: frozenset[int], meter: Meter, part: SearchPart) -> Layout:
    """What climbing finds when it is decided which blocks are turned."""
    return replace(climb(problem.decided(turned), meter, part), turned=turned)


def climb(problem: LayoutProblem, meter: Meter | None = None, part: SearchPart = SearchPart.LAYOUT) -> Layout:
    """Place one buffer after the other as low as possible; improve the order by moving single buffers."""
    meter = meter or Meter()
    rng = random.Random(SEED)
    count = len(problem.nbytes)
    order = sorted(range(count), key=lambda i: (-problem.nbytes[i], i))
    neighbours = _neighbours(problem)
    pairs = [len(others) for others in neighbours]
    offsets = _stack(problem, order, neighbours)
    top = _top(problem, offsets)
    meter.spend(PAIR_SECONDS * len(problem.separations))
    for _ in range(CLIMB_STEPS if count > 1 else 0):
        if top <= problem.lower_bound or not meter.allows(part):
            break
        to, at = rng.randrange(count), rng.randrange(count)
        if to == at:
            continue
        trial = order.copy()
        trial.insert(to, trial.pop(at))
        meter.spend(PAIR_SECONDS * sum(map(pairs.__getitem__, trial[min(to, at) :])))
        tried = _restack(problem, trial, (at, to), neighbours, offsets, top)
        if tried:
            order, offsets, top = trial, tried, _top(problem, tried)
    return Layout(tuple(offsets), top, proven=False)


_NOWHERE = -1
"""The offset of a buffer that is not yet placed."""
Neighbours = Sequence[Mapping[int, tuple[int, int]]]


def _neighbours(problem: LayoutProblem) -> Neighbours:
    """Per buffer u: v -> (separation of v below u, separation of u below v) of all buffers v that it meets."""
    result: list[dict[int, tuple[int, int]]] = [{} for _ in problem.nbytes]
    for (lower, upper), distance in problem.separations.items():
        result[upper][lower] = distance, problem.separations[upper, lower]
    return result


def _stack(problem: LayoutProblem, order: Sequence[int], neighbours: Neighbours) -> list[int]:
    """Puts one buffer after the other as low as those before it let it."""
    offsets = [_NOWHERE] * len(order)
    for u in order:
        offsets[u] = _lowest(problem.align[u], neighbours[u], offsets)
    return offsets


def _restack(
    problem: LayoutProblem,
    order: Sequence[int],
    moved: tuple[int, int],
    neighbours: Neighbours,
    before: Sequence[int],
    limit: int,
) -> list[int]:
    """What _stack() makes of an order of which `before` is known but for one buffer, moved from one place to another;
    empty when a buffer would end above the limit. A buffer stays where it was unless one that it meets changed.
    """
    (first, last), mover = sorted(moved), order[moved[1]]
    offsets = list(before)
    for u in order[first:]:
        offsets[u] = _NOWHERE
    changed = {mover}
    for place, u in enumerate(order[first:], first):
        if place == last + 1 and offsets[mover] == before[mover]:
            changed.discard(mover)
        if u != mover and changed.isdisjoint(neighbours[u]):
            offsets[u] = before[u]
            continue
        offsets[u] = _lowest(problem.align[u], neighbours[u], offsets)
        if offsets[u] + problem.nbytes[u] > limit:
            return []
        if offsets[u] != before[u]:
            changed.add(u)
    return offsets


def _lowest(align: int, neighbours: Mapping[int, tuple[int, int]], offsets: Sequence[int]) -> int:
    """The lowest offset that the placed ones of its neighbours leave to a buffer."""
    taken = [(offsets[v] - below, offsets[v] + above) for v, (above, below) in neighbours.items() if offsets[v] >= 0]
    start = 0
    for low, high in sorted(taken):  # a start strictly between is too close to that neighbour
        if start <= low:
            break
        if start < high:
            start = high + -high % align
    return start


def exact(problem: LayoutProblem, hint: Layout, *, seconds: float) -> tuple[Layout, float]:
    """CP-SAT on the disjunctions, and on which blocks are turned, from the hint on; and the time that it took."""
    cp_sat.load()
    from ortools.sat.python import cp_model  # noqa: PLC0415 (see cp_sat.load)

    model = cp_model.CpModel()
    top = model.new_int_var(problem.lower_bound, hint.top, "top")
    offsets: list[cp_model.LinearExpr] = []
    for i, (nbytes, align) in enumerate(zip(problem.nbytes, problem.align, strict=True)):
        units = model.new_int_var(0, max(0, (hint.top - nbytes) // align), f"offset_{i}")
        model.add_hint(units, hint.offsets[i] // align)
        offsets.append(units * align)
        model.add(offsets[i] + nbytes <= top)
    below: dict[tuple[int, int], cp_model.IntVar] = {}
    known = problem.decided(hint.turned).separations

    def hold(separations: Separations, *when: cp_model.BoolVarT) -> None:
        for (lower, upper), distance in separations.items():
            pair = min(lower, upper), max(lower, upper)
            if pair not in below:
                below[pair] = model.new_bool_var(f"{pair[0]}_below_{pair[1]}")
                apart = hint.offsets[pair[1]] - hint.offsets[pair[0]]
                model.add_hint(below[pair], apart >= known.get(pair, apart))
            order = below[pair] if lower < upper else ~below[pair]
            model.add(offsets[upper] - offsets[lower] >= distance).only_enforce_if(order, *when)

    hold(problem.separations)
    turns = [model.new_bool_var(f"turn_{i}") for i in range(len(problem.turns))]
    for i, (turn, is_turned) in enumerate(zip(problem.turns, turns, strict=True)):
        hold(turn.forward, ~is_turned)
        hold(turn.turned, is_turned)
        for buffer, nbytes in turn.nbytes.items():
            model.add(offsets[buffer] + nbytes <= top).only_enforce_if(is_turned)
        model.add_hint(is_turned, i in hint.turned)
    model.minimize(top)
    solver = cp_sat.solver(seconds, SEED % 1000)
    status = solver.solve(model)
    spent = solver.response_proto.deterministic_time
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return hint, spent
    values = tuple(int(solver.value(o)) for o in offsets)
    turned = frozenset(i for i, is_turned in enumerate(turns) if solver.value(is_turned))
    return Layout(values, _top(problem.decided(turned), values), status == cp_model.OPTIMAL, turned), spent


def _top(problem: LayoutProblem, offsets: Sequence[int]) -> int:
    return max((o + n for o, n in zip(offsets, problem.nbytes, strict=True)), default=0)
