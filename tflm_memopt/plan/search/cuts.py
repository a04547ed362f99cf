"""Divides a region's operators into groups by an exact search over partial divisions (Pareto label setting).

For each division of the first operators, the search records the bytes of the largest group, and the number of
multiply-accumulates. The search drops a partial division if another division of the same operators is at least as good
in bytes and in multiply-accumulates. The search solves problems P1 and P2 of the paper on msf-CNN (section 5), on the
graph of the paper's Figure 4. The search first estimates the size of a group by its peak of live bytes. For the groups
of the best division, the search replaces the estimated sizes by the sizes of exact layouts, and then divides the region
again.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from tflm_memopt.errors import UsageError
from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.plan.pareto import undominated
from tflm_memopt.plan.search.groups import MAX_OPERATORS, MAX_ORDERS, UNLIMITED, Candidate, Chain, candidates
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_any import iterated
from tflm_memopt.plan.search.tiles_plan import Settings

SHORT = 16
"""At every position of a region, the search tries groups of up to SHORT operators."""
SLACK = 16
"""A search raises its limit by the fraction 1 / SLACK, and keeps the groups for later calls with a higher limit."""
FUSING = 0.5
"""The search for groups of several operators that run row by row gets at least the fraction FUSING of the time
budget.
"""
LONG = 0.1
"""Extra budget of the search for the longest groups, as a fraction of the budget for groups without tiles."""
TURNS = 0.3
"""Budget for groups that compute their outputs in turn, as a fraction of the budget for all other groups."""
FRONT_SECONDS = 1e-5
Place = Callable[[Candidate, int], int]
"""Function (group, enough) that returns a group's size in a layout. If the function finds a layout of at most `enough`
bytes, it need not search for a smaller layout.
"""
Reverse = Callable[[Candidate, int], Candidate | None]
"""Function (group, limit) that returns the reversed group if it needs fewer than `limit` bytes, and otherwise None."""


@dataclass(frozen=True, slots=True)
class CutLabel:
    nbytes: int
    macs: int
    """Number of multiply-accumulates, multiplied by Settings.tiled_cost in tiled groups."""
    spread: tuple[int, ...] = ()
    """Among divisions with equal `nbytes` and `macs`, the search takes the division with the smallest `spread`. If
    `low` is true, the field has the size of each group, largest first, and otherwise only the sum of the sizes. If the
    search takes few groups, the number of groups precedes the sum.
    """
    last: Candidate | None = field(default=None, compare=False)
    before: CutLabel | None = field(default=None, compare=False)

    def groups(self) -> tuple[Candidate, ...]:
        found, label = [], self
        while label.before and label.last:
            found.append(label.last)
            label = label.before
        return tuple(reversed(found))


class RowGroups:
    """Finds the groups of a region that run row by row. The element `by_end[n]` has the groups whose last operator is
    `n - 1`.
    """

    def __init__(self, chain: Chain, budget: Budget = UNBOUNDED) -> None:
        self.chain, self._budget, count, given = chain, budget, len(chain.ops), budget.left
        self._to_lengthen = Budget(FUSING * given, budget.spent)
        self._long: Mapping[int, tuple[Candidate, ...]] = {}
        self._turns = Budget(TURNS * given, budget.spent)
        ends = range(1, count + 1)
        # A group is useless if it needs more bytes than the largest operator alone.
        shortest = {last: next(candidates(chain, last, UNLIMITED, 1, budget=self._budget), None) for last in ends}
        needs = {last: group.nbytes if group else 0 for last, group in shortest.items()}
        limit = max(needs.values(), default=0)
        if budget.left < FUSING * given:
            self._budget = Budget(FUSING * given, budget.spent)
        found = {
            last: self._candidates(last, limit, 1, count - n, SHORT)
            if self._budget.allows(SearchPart.ROW_GROUPS)
            else tuple(group for group in (shortest[last],) if group)
            for n, last in enumerate(sorted(ends, key=lambda last: -needs[last]))
        }
        self.by_end = {last: found[last] for last in ends}
        long = dict(self._longest(limit, Budget(LONG * given, budget.spent)))
        joined = {last: tuple(dict.fromkeys((*found[last], *long.get(last, ())))) for last in ends}
        if _least_of(chain, joined) < _least_of(chain, found):
            self.by_end = joined
        self._limit = {last: 0 if last > SHORT or self._has_orders(last) else limit for last in ends}

    def long(self, limit: int) -> Mapping[int, tuple[Candidate, ...]]:
        """Return long groups by their last operator. In the first call, find groups of at most `limit` bytes."""
        self._long = self._long or dict(self._longest(limit, self._to_lengthen))
        return self._long

    def _longest(self, limit: int, budget: Budget) -> Iterator[tuple[int, tuple[Candidate, ...]]]:
        last = len(self.chain.ops)
        while last and budget.allows(SearchPart.ROW_GROUPS):
            found = tuple(candidates(self.chain, last, limit, 1, budget=budget))
            yield last, found
            last = min((group.first for group in found), default=0)

    def in_all_orders(self, last: int, limit: int, waiting: int = 1) -> tuple[Candidate, ...]:
        if limit > self._limit[last]:
            if not self._budget.allows(SearchPart.ROW_GROUPS):
                return self.by_end[last]
            orders = MAX_ORDERS if self._has_orders(last) else 1
            limit += limit // SLACK
            found = self._candidates(last, limit, orders, waiting)
            self.by_end[last] = tuple(dict.fromkeys((*self.by_end[last], *found)))
            self._limit[last] = limit
        return self.by_end[last]

    def _candidates(
        self, last: int, limit: int, orders: int, waiting: int, length: int = MAX_OPERATORS
    ) -> tuple[Candidate, ...]:
        budget, turns = self._budget.fair(waiting), self._turns.fair(waiting)
        return tuple(candidates(self.chain, last, limit, orders, length, budget, turns))

    def _has_orders(self, last: int) -> bool:
        return any(len(op.inputs) > 1 for op in self.chain.ops[max(0, last - MAX_OPERATORS) : last])


class Cuts:
    def __init__(
        self,
        rows: RowGroups,
        place: Place,
        settings: Settings | None,
        reverse: Reverse = lambda _group, _limit: None,
        budget: Budget = UNBOUNDED,
        *,
        enough: int = 0,
        low: bool = False,
        few: bool = False,
    ) -> None:
        """The argument `settings` has the techniques for groups that compute tiles, or is None if groups compute only
        whole rows. Tiles are not tried if the groups need at most `enough` bytes with whole rows.

        If `low` is true, the search prefers many groups with few bytes to few groups with many bytes. If `few` is true,
        the search takes as few groups as possible without more bytes for the largest group.
        """
        self.chain, self._rows, self._place, self._settings = rows.chain, rows, place, settings
        self._reverse, self._budget, self._enough, self._low, self._few = reverse, budget, enough, low, few
        self._tiled_cost = settings.tiled_cost if settings else 1.0
        roughly = chain_front(self.chain, rows.by_end, low=low)
        if not roughly:
            why = "the operators that read it cannot run row by row together"
            raise UsageError(
                f"the input cannot be streamed: {why}",
                code="unsupported_input",
                hint="--input arena, or --input external",
            )
        self._rough = roughly[0]
        self._tiled = self._tiled_groups()
        several = {last: [c for c in self._tiled.get(last, ()) if last - c.first > 1] for last in rows.by_end}
        self._table = {last: (*found, *several[last]) for last, found in rows.by_end.items()}
        self.known = sum(map(len, self._table.values()))
        self._front: Sequence[CutLabel] | None = None
        self._placed: set[Candidate] = set()

    def _tiled_groups(self) -> Mapping[int, Sequence[Candidate]]:
        if self._settings is None:
            return {}
        limit = max(self._place(group, self._rough.nbytes) for group in self._rough.groups())
        return tiled_candidates(self.chain, self._settings, limit, self._budget) if limit > self._enough else {}

    def refine(self, limit: int) -> bool:
        reached = {0}
        for last, groups in self._table.items():
            if any(c.nbytes < limit and c.first in reached and self._is_once(c) for c in groups):
                reached.add(last)
        far = max(*reached, self.chain.streamed) + MAX_OPERATORS
        ends = [last for last in self._table if last not in reached and last <= far]
        new = {last: self._better(last, limit, len(ends) - i) for i, last in enumerate(ends)}
        for last, groups in new.items():
            self._add(last, groups)
        return any(new.values())

    def once(self) -> Mapping[int, Sequence[Candidate]]:
        """Map each position to the known groups that end just before the position and compute nothing twice."""
        return {last: [group for group in groups if self._is_once(group)] for last, groups in self._table.items()}

    def _is_once(self, group: Candidate) -> bool:
        return group.macs <= sum(op.macs for op in self.chain.ops[group.first : group.last])

    def _better(self, last: int, limit: int, waiting: int) -> tuple[Candidate, ...]:
        known = {c.first: c.nbytes for c in sorted(self._table[last], key=lambda c: -c.nbytes) if not c.stripes}
        groups = (c for c in self._rows.in_all_orders(last, limit - 1, waiting) if c not in self._placed)
        better = [c for c in groups if c.nbytes < min(limit, known.get(c.first, limit))]
        return (*better, *self._reversed(last, limit))

    def _reversed(self, last: int, limit: int) -> Iterator[Candidate]:
        tried: set[int] = {c.first for c in self._table[last] if c.nbytes < limit}
        for group in sorted(self._table[last], key=lambda c: (c.nbytes, c.macs)):
            if group.first not in tried and (found := self._reverse(group, limit)) and found not in self._placed:
                tried.add(group.first)
                yield found

    def add_single(self) -> None:
        least = self.front()[0].nbytes
        for last, found in self._tiled.items():
            by_row = min((c.nbytes for c in self._table[last] if last - c.first == 1), default=UNLIMITED)
            if by_row >= least:
                self._add(last, tuple(c for c in found if last - c.first == 1 and c.nbytes < by_row))

    def add_nests(self) -> None:
        """Add tiled variants of the largest group. The module tiles_any.py counts the bytes of the variants slowly but
        exactly.
        """
        tried: set[Candidate] = set()
        while self._settings and self._budget.allows(SearchPart.TILED_GROUPS):
            worst = max(self.front()[0].groups(), key=lambda group: group.nbytes)
            if worst.stripes or worst in tried or worst.last - worst.first == 1:
                return
            tried.add(worst)
            better = [c for c in iterated(self.chain, worst, self._settings, self._budget) if c.nbytes < worst.nbytes]
            self._add(worst.last, tuple(better))

    def add_long(self) -> None:
        """Add long groups that need at most as many bytes as the largest group."""
        for last, groups in self._rows.long(self.front()[0].nbytes).items():
            self._add(last, tuple(group for group in groups if group not in self._table[last]))

    def front(self) -> Sequence[CutLabel]:
        if self._front is None:
            divided = partial(chain_front, self.chain, self._table, low=self._low, tiled_cost=self._tiled_cost)
            found = divided() or [self._rough]
            self._front = divided(fewest_of=found[0].nbytes) or found if self._few else found
        return self._front

    def settle(self, label: CutLabel, enough: int) -> bool:
        """Replace estimated sizes of groups by sizes of layouts, and return whether any size was estimated."""
        new = [group for group in label.groups() if group not in self._placed]
        for group in new:
            known = replace(group, nbytes=self._place(group, enough))
            self._table[group.last] = tuple(known if c is group else c for c in self._table[group.last])
            self._placed |= {group, known}
            self._front = None
        return bool(new)

    def _add(self, last: int, groups: tuple[Candidate, ...]) -> None:
        if groups:
            self._table[last] += groups
            self.known += len(groups)
            self._front = None


def least_bytes(
    cuts: Sequence[Cuts], macs: int, budget: Budget = UNBOUNDED, bar: int = UNLIMITED
) -> tuple[CutLabel, ...]:
    """Divide each region so that its largest group needs as few bytes as possible, with at most `macs`
    multiply-accumulates in all groups.

    The search stops when every possible division needs at least `bar` bytes, the size of an existing plan.
    """
    while True:
        budget.spend(FRONT_SECONDS * sum(cut.known for cut in cuts))
        options = front(cuts)
        best = next((j for j in options if j.macs <= macs), options[-1])
        if best.nbytes >= bar:
            return best.labels
        chosen = list(zip(cuts, best.labels, strict=True))
        if any(cut.settle(label, best.nbytes) for cut, label in chosen):
            continue
        if not any(cut.refine(best.nbytes) for cut, label in chosen if label.nbytes == best.nbytes):
            return best.labels


class Joint(NamedTuple):
    nbytes: int
    macs: int
    before: Joint | None = None
    last: CutLabel | None = None

    @property
    def labels(self) -> tuple[CutLabel, ...]:
        found, joint = [], self
        while joint.before and joint.last:
            found.append(joint.last)
            joint = joint.before
        return tuple(reversed(found))


def front(cuts: Sequence[Cuts]) -> list[Joint]:
    joints = [Joint(0, 0)]
    for cut in cuts:
        pairs = [Joint(max(j.nbytes, x.nbytes), j.macs + x.macs, j, x) for j in joints for x in cut.front()]
        joints = pairs if len(pairs) == 1 else undominated(pairs, operator.itemgetter(0, 1))
    return joints


def chain_front(
    chain: Chain,
    table: Mapping[int, Sequence[Candidate]],
    *,
    low: bool = False,
    tiled_cost: float = 1.0,
    fewest_of: int = 0,
) -> list[CutLabel]:
    """Return the best divisions of all operators, smallest first. Groups of at most `fewest_of` bytes count as equally
    large, and as few groups as possible are taken.
    """

    def cost(group: Candidate) -> int:
        return int(tiled_cost * group.macs) if group.stripes else group.macs

    spread = _count if fewest_of else partial(_spread, low=low)
    fronts: list[list[CutLabel]] = [[CutLabel(0, 0)]]
    for last in range(1, len(chain.ops) + 1):
        pairs = [(label, group) for group in table[last] for label in fronts[group.first]]
        costs = sorted((max(x.nbytes, b.nbytes, fewest_of), x.macs + cost(b), n) for n, (x, b) in enumerate(pairs))
        best: list[CutLabel] = []
        for (nbytes, macs), alike in itertools.groupby(costs, key=operator.itemgetter(0, 1)):
            if not best or macs < best[-1].macs:
                found = (pairs[n] for *_, n in alike)
                labels = (CutLabel(nbytes, macs, spread(*pair), pair[1], pair[0]) for pair in found)
                best.append(min(labels, key=lambda x: x.spread))
        fronts.append(best)
    return fronts[-1]


def _least_of(chain: Chain, table: Mapping[int, Sequence[Candidate]]) -> int:
    return min((label.nbytes for label in chain_front(chain, table)), default=UNLIMITED)


def _count(label: CutLabel, group: Candidate) -> tuple[int, ...]:
    groups, nbytes = label.spread or (0, 0)
    return groups + 1, nbytes + group.nbytes


def _spread(label: CutLabel, group: Candidate, *, low: bool) -> tuple[int, ...]:
    all_groups = (*label.spread, group.nbytes)
    return tuple(sorted(all_groups, reverse=True)) if low else (sum(all_groups),)
