"""Plans of one model at every compute budget: which to make, and the cheapest that fits a RAM limit.

msf-CNN's problems (section 5): P1, the least RAM within a compute budget; P2, the least compute within a RAM limit.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import TypeVar

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.plan.choices import SWITCHES
from tflm_memopt.plan.effort import SEARCH, Log, Meter, allowance
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import Options, Planner, cost, planners, plans
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.rowgraph.graph import RowGraph, tensor_sizes
from tflm_memopt.rowgraph.second_pass import Choice, choices, with_passes

FULL_WIDTH = 0xFFFF
"""Columns of a tile that no map exceeds (TMO's tile is a uint16_t)."""
ROUNDING = 1e-9
"""F is given as a decimal fraction; a search must not lose the plan that is exactly there."""
VAIN = 2
"""Sets of second passes in a row that may bring nothing before a search ends."""


def settings(without: Collection[str] = (), max_overhead: float | None = None) -> Settings | None:
    """What tiled blocks may use when some ingredients are left out; UsageError for an ingredient that is none."""
    unknown = sorted(set(without) - set(SWITCHES))
    if unknown:
        what = f"'{unknown[0]}' is no ingredient that can be left out"
        raise UsageError(what, code="bad_option", hint=one_of(unknown[0], SWITCHES))
    if "tiles" in without:
        return None
    chosen = Settings()
    if max_overhead is not None:
        chosen = replace(chosen, max_overhead=max(1.0, max_overhead) + ROUNDING)
    if "recompute" in without or (max_overhead is not None and max_overhead <= 1.0):
        chosen = chosen.once
    if "strips" in without:
        chosen = replace(chosen, strip_rows=(1,), whole_map=0)
    if "windows" in without:
        chosen = replace(chosen, tile=FULL_WIDTH)
    if "cache" in without:
        chosen = replace(chosen, cache=False)
    if "overlap" in without:
        chosen = replace(chosen, overlap=False)
    if "groups" in without:
        chosen = replace(chosen, group_channels=0)
    return chosen


def roomy(chosen: Settings | None) -> Settings | None:
    """The same without what costs fast kernels their speed: single pixels and channel groups, which nobody packs."""
    return replace(chosen, tile=FULL_WIDTH, group_channels=0) if chosen else None


class Plans:
    """Plans of one row graph, made when they are asked for."""

    def __init__(
        self,
        graph: RowGraph,
        options: Options,
        log: Log | None = None,
        better: Callable[[int, Plan], Plan] | None = None,
        like: Plans | None = None,
    ) -> None:
        """`log`: where the search notes what it does. `better`: what makes a better plan of one, in parts, with at most
        so many multiply-accumulates. `like`: of the same graph, with other options of tiled blocks: what it knows of
        orders and of row blocks is not looked for again.
        """
        self._better, self._like = better, like
        self._graph, self._options, self._log = graph, options, log or Log()
        self.macs = graph.macs
        """Multiply-accumulates of all row operators, each output once."""
        self.at = cache(self._at)
        self._with = cache(self._planners_with)
        self._known: list[Plan] = []
        """Those that have a layout; what cannot be better gets none."""

    @cached_property
    def inputs(self) -> int:
        """Bytes of the model's inputs in the arena, which TFLM keeps side by side: no plan takes less."""
        sizes = tensor_sizes(self._graph)
        return sum(sizes.get(t, 0) for t in self._graph.model.inputs)

    @cached_property
    def least_macs(self) -> int:
        """No plan computes less: outputs that nobody reads need not be computed."""
        return min(planner.points()[-1].macs for planner in self._once)

    @cached_property
    def _once(self) -> Sequence[Planner]:
        """Plans without recompute."""
        tiles = self._options.tiles and self._options.tiles.once
        if self._like and self._like.searched:
            found = [planner.within(tiles) for planner in self._like._once]
            self._log.found()
            return found
        return planners(self._graph, replace(self._options, tiles=tiles), self._log)

    @property
    def searched(self) -> bool:
        """Whether blocks have been looked for."""
        return "_once" in vars(self)

    @cached_property
    def choices(self) -> Sequence[Choice]:
        """What may be computed again in a second pass: nothing first."""
        options, tiles, sizes = self._options, self._options.tiles, tensor_sizes(self._graph)
        if not (options.second_pass and tiles and tiles.recompute):
            return (Choice((), self.macs, 0),)
        found = choices(self._graph, sizes)
        return tuple(choice for choice in found if choice.macs <= tiles.max_overhead * self.macs)

    def _planners_with(self, choice: Choice) -> Sequence[Planner]:
        """Plans with recompute: searching them takes longer, so that it is put off until somebody asks."""
        tiles = self._options.tiles
        if not (tiles and tiles.recompute):
            return ()
        if not choice.passes:
            return [planner.within(tiles) for planner in self._once]
        tiles = replace(tiles, max_overhead=tiles.max_overhead * self.macs / choice.macs)
        graph = with_passes(self._graph, choice.passes)
        searching = Meter(SEARCH * allowance(len(graph.model.ops), self._options.effort), self._log)
        return (Planner(graph, replace(self._options, tiles=tiles), searching=searching),)

    def _at(self, macs: int) -> Plan:
        """The plan of least head with at most so many multiply-accumulates; `least_macs` at the least.

        The most second passes first: they promise the fewest bytes, and what cannot be better is not planned. After two
        sets in a row that bring nothing, only none is tried.
        """
        found: list[Plan] = []
        vain = 0
        for choice in reversed(self.choices if macs > self.macs else ()):
            least = min((plan.head for plan in found), default=choice.bound + 1)
            if choice.macs <= macs and choice.bound < least and not (choice.passes and vain == VAIN):
                new = [plan for plan in self._plans(self._with(choice), macs) if plan.macs <= macs]
                vain = 0 if not found or any(plan.head < least for plan in new) else vain + 1
                found += new
        if all(self.choices[0].bound < plan.head for plan in found):
            once = self._plans(self._once, macs)
            found += [plan for plan in once if plan.macs <= macs] or once[:1]
        best = min(found, key=cost)
        return self._better(macs, best) if self._better else best

    def _plans(self, planners: Sequence[Planner], macs: int) -> list[Plan]:
        """One plan of each planner."""
        found = list(plans(planners, macs, self._known))
        for plan in found:
            if all(plan is not other for other in self._known):
                self._known.append(plan)
        return found

    @cached_property
    def budgets(self) -> list[int]:
        """Multiply-accumulates at which the least bytes change, as far as it can be told before planning: rising.

        When two more sets of second passes have promised nothing, those after them are not looked at.
        """
        points, vain = _points(self._once), 0
        for choice in self.choices:
            least = min(nbytes for _, nbytes in points)
            points += _points(self._with(choice))
            vain = vain + 1 if choice.passes and min(nbytes for _, nbytes in points) >= least else 0
            if vain == VAIN:
                break
        if self._better:
            return [math.ceil(share * self.macs) for share in IN_PARTS]
        return _rising(points)

    def budgets_with(self, choice: Choice) -> list[int]:
        """Multiply-accumulates of undominated points, rising, with one set of second passes."""
        if self._better:
            return self.budgets
        return _rising(_points(self._with(choice)))


def _points(planned: Sequence[Planner]) -> list[tuple[int, int]]:
    return [(p.macs, p.nbytes) for planner in planned for p in planner.points()]


def _rising(points: Collection[tuple[int, int]]) -> list[int]:
    return [macs for macs, _ in undominated(points, lambda point: point)]


IN_PARTS = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0)
"""Compute that parts are tried with, as a share of the original's multiply-accumulates."""
T = TypeVar("T")


def cheapest(budgets: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    """The lowest budget that fits, when more compute never takes more bytes: bisection; None when even the last fails.

    >>> cheapest([10, 20, 30, 40], lambda macs: macs >= 25)
    30
    """
    if not budgets or not fits(budgets[-1]):
        return None
    return budgets[bisect.bisect_left(range(len(budgets) - 1), True, key=lambda i: fits(budgets[i]))]


def undominated(points: Collection[T], cost: Callable[[T], tuple[float, int]]) -> Iterator[T]:
    """Points by (price, bytes) that have fewer bytes than all others that cost no more.

    >>> list(undominated([(1, 9), (2, 9), (3, 7)], lambda p: p))
    [(1, 9), (3, 7)]
    """
    least: int | None = None
    for point in sorted(points, key=cost):
        nbytes = cost(point)[1]
        if least is None or nbytes < least:
            least = nbytes
            yield point
