"""Makes plans for all compute budgets, and finds the lowest budget that keeps a RAM limit (msf-CNN, section 5)."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.plan.choices import SWITCHES
from tflm_memopt.plan.effort import SEARCH, Budget, Spent, allowance
from tflm_memopt.plan.pareto import undominated
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import Options, Planner, Pricing, cost, planners, plans
from tflm_memopt.plan.search.spill import SlowCost
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.rowgraph.graph import RowGraph, tensor_sizes
from tflm_memopt.rowgraph.rematerialisation import Choice, choices, rematerialised

FULL_WIDTH = 0xFFFF
"""Maximum number of columns of a feature map, because the C library stores the width of a tile as a uint16_t."""
ROUNDING = 1e-9
"""Tolerance for rounding errors of the compute factor F."""
_WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "stripes": {"stripe_rows": (1,), "whole_map": 0},
    "windows": {"tile": FULL_WIDTH},
    "cache": {"cache": False},
    "overlap": {"overlap": False},
    "channel-groups": {"group_channels": 0},
}
VAIN = 2
"""The search ends after VAIN sets of repeated operators that bring no gain."""


def settings(without: Collection[str] = (), max_overhead: float | None = None) -> Settings | None:
    """Return the limits of tiled groups, with the techniques of `without` switched off, or None if tiled groups are
    switched off.

    Raises UsageError for unknown techniques.
    """
    unknown = sorted(set(without) - set(SWITCHES))
    if unknown:
        what = f"'{unknown[0]}' is not a technique that can be switched off"
        raise UsageError(what, hint=one_of(unknown[0], SWITCHES))
    if "tiles" in without:
        return None
    chosen = Settings()
    if max_overhead is not None:
        chosen = replace(chosen, max_overhead=max(1.0, max_overhead) + ROUNDING)
    if "recompute" in without or (max_overhead is not None and max_overhead <= 1.0):
        chosen = chosen.once
    for technique in without:
        chosen = replace(chosen, **_WITHOUT.get(technique, {}))
    return chosen


def roomy(chosen: Settings | None) -> Settings | None:
    """Return `chosen` without tiles of single pixels and without channel groups, which packed kernels do not
    support.
    """
    return replace(chosen, tile=FULL_WIDTH, group_channels=0) if chosen else None


class Plans:
    def __init__(
        self,
        graph: RowGraph,
        options: Options,
        spent: Spent | None = None,
        better: Callable[[int, Plan], Plan] | None = None,
        warm: Plans | None = None,
    ) -> None:
        """The argument `better` is a function that improves a plan by running operators in parts.

        The argument `warm` has the plans of an earlier search, whose operator orders are reused.
        """
        self._better, self._warm = better, warm
        self._graph, self._options, self._spent = graph, options, spent or Spent()
        self.macs = graph.macs
        self.at = cache(self._at)
        self._with = cache(self._planners_with)
        self._known: list[Plan] = []

    @cached_property
    def inputs(self) -> int:
        """Number of bytes of all inputs together, which TFLM keeps in the arena at the same time."""
        sizes = tensor_sizes(self._graph)
        return sum(sizes.get(t, 0) for t in self._graph.model.inputs)

    @cached_property
    def least_macs(self) -> int:
        return min(planner.points()[-1].macs for planner in self._once)

    @cached_property
    def _once(self) -> Sequence[Planner]:
        tiles = self._options.tiles and self._options.tiles.once
        if self._warm and self._warm.searched:
            found = [planner.within(tiles) for planner in self._warm._once]
            self._spent.groups_found()
            return found
        return planners(self._graph, replace(self._options, tiles=tiles), self._spent)

    @property
    def searched(self) -> bool:
        return "_once" in vars(self)

    @cached_property
    def choices(self) -> Sequence[Choice]:
        """Sets of operators that may run twice, beginning with the empty set."""
        options, tiles, sizes = self._options, self._options.tiles, tensor_sizes(self._graph)
        if not (options.rematerialisation and tiles and tiles.recompute):
            return (Choice((), self.macs, 0),)
        found = choices(self._graph, sizes)
        return tuple(choice for choice in found if choice.macs <= tiles.max_overhead * self.macs)

    def _planners_with(self, choice: Choice) -> Sequence[Planner]:
        tiles = self._options.tiles
        if not (tiles and tiles.recompute):
            return ()
        if not choice.rematerialisations:
            return [planner.within(tiles) for planner in self._once]
        if choice.macs:
            tiles = replace(tiles, max_overhead=tiles.max_overhead * self.macs / choice.macs)
        graph = rematerialised(self._graph, choice.rematerialisations)
        searching = Budget(SEARCH * allowance(len(graph.model.ops), self._options.effort), self._spent)
        return (Planner(graph, replace(self._options, tiles=tiles), searching=searching),)

    def _at(self, macs: int) -> Plan:
        """Return the plan with the least activation memory within `macs` multiply-accumulates or, if `macs` is smaller,
        within `least_macs`.

        The search first tries large sets of repeated operators, because large sets promise the most gain. If VAIN sets
        of repeated operators bring no gain, the search tries only plans without repeated operators.
        """
        found: list[Plan] = []
        vain = 0
        for choice in reversed(self.choices if macs > self.macs else ()):
            least = min((plan.head for plan in found), default=choice.bound + 1)
            if choice.macs <= macs and choice.bound < least and not (choice.rematerialisations and vain == VAIN):
                new = [plan for plan in self._plans(self._with(choice), macs) if plan.macs <= macs]
                vain = 0 if not found or any(plan.head < least for plan in new) else vain + 1
                found += new
        if all(self.choices[0].bound < plan.head for plan in found):
            once = self._plans(self._once, macs)
            found += [plan for plan in once if plan.macs <= macs] or once[:1]
        best = min(found, key=partial(cost, self._options.ops))
        return self._better(macs, best) if self._better else best

    def roomier(self, plan: Plan, head: int, price: Pricing) -> Plan:
        """Return the plan with the cheapest variants of its tiled groups for which `head` bytes of activation memory
        suffice.
        """
        same = (c for c in self.choices if c.rematerialisations == plan.rematerialisations)
        repeating = (planner for choice in same for planner in self._with(choice))
        found = (planner.roomier(plan, head, price) for planner in (*self._once, *repeating))
        return next((other for other in found if other is not None), plan)

    def spilled(self, limit: int, cost: SlowCost) -> Plan | None:
        """Return the plan without recompute that fits in `limit` bytes and moves the fewest bytes of slow memory, or
        None if no plan fits.
        """
        found = [plan for planner in self._once if (plan := planner.spilled(limit, cost))]
        return min(found, key=lambda plan: plan.slow_bytes, default=None)

    def _plans(self, planners: Sequence[Planner], macs: int) -> list[Plan]:
        found = list(plans(planners, macs, self._known))
        for plan in found:
            if all(plan is not other for other in self._known):
                self._known.append(plan)
        return found

    @cached_property
    def budgets(self) -> list[int]:
        """Budgets of multiply-accumulates at which the smallest plan probably changes, in ascending order."""
        points, vain = _points(self._once), 0
        for choice in self.choices:
            least = min(nbytes for _, nbytes in points)
            points += _points(self._with(choice))
            vain = vain + 1 if choice.rematerialisations and min(nbytes for _, nbytes in points) >= least else 0
            if vain == VAIN:
                break
        return [math.ceil(share * self.macs) for share in IN_PARTS] if self._better else _rising(points)

    def budgets_with(self, choice: Choice) -> list[int]:
        return self.budgets if self._better else _rising(_points(self._with(choice)))


def _points(planned: Sequence[Planner]) -> list[tuple[int, int]]:
    return [(p.macs, p.nbytes) for planner in planned for p in planner.points()]


def _rising(points: Collection[tuple[int, int]]) -> list[int]:
    return [macs for macs, _ in undominated(points, lambda point: point)]


IN_PARTS = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0)
"""Factors by which a plan may increase the multiply-accumulates of a model, if TFLM's kernels run operators in parts.
"""


def cheapest(budgets: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    """Return the lowest budget whose plan fits, found by bisection, or None if no plan fits.

    The function assumes that plans with larger budgets never take more bytes.

    >>> cheapest([10, 20, 30, 40], lambda macs: macs >= 25)
    30
    """
    if not budgets or not fits(budgets[-1]):
        return None
    return budgets[bisect.bisect_left(range(len(budgets) - 1), True, key=lambda i: fits(budgets[i]))]
