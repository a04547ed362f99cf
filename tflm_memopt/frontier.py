"""Plans of one model at every compute budget: which to make, and the cheapest that fits a RAM limit.

msf-CNN's problems (section 5): P1, the least RAM within a compute budget; P2, the least compute within a RAM limit.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import TypeVar

from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph
from tflm_memopt.plan.plan import Plan
from tflm_memopt.plan.planner import Options, Planner, cost, planners
from tflm_memopt.plan.regions import Partition
from tflm_memopt.plan.tiles_plan import Settings

FULL_WIDTH = 0xFFFF
"""Columns of a tile that no map exceeds (TMO's tile is a uint16_t)."""
ROUNDING = 1e-9
"""F is given as a decimal fraction; a search must not lose the plan that is exactly there."""
SWITCHES: Mapping[str, str] = {
    "strips": "strips of more than one row",
    "windows": "tiles narrower than the map",
    "groups": "channel groups",
    "cache": "keeping the overlap of strips",
    "recompute": "computing the overlap of strips again",
    "overlap": "a block's output in the bytes that its input leaves",
    "reorder": "other orders than the model's own",
    "turn": "blocks that fire from the last row to the first",
    "tiles": "tiled blocks altogether: row rings are left",
}
"""Ingredient that can be left out -> what it is."""


def settings(without: Collection[str] = (), max_overhead: float | None = None) -> Settings | None:
    """What tiled blocks may use when some ingredients are left out; UsageError for an ingredient that is none."""
    unknown = sorted(set(without) - set(SWITCHES))
    if unknown:
        raise UsageError(
            f"'{unknown[0]}' is no ingredient that can be left out", code="unknown_ingredient", hint=", ".join(SWITCHES)
        )
    if "tiles" in without:
        return None
    chosen = Settings()
    if max_overhead is not None:
        chosen = replace(chosen, max_overhead=max(1.0, max_overhead) + ROUNDING)
    if "recompute" in without or (max_overhead is not None and max_overhead <= 1.0):
        chosen = replace(chosen, recompute=False, max_overhead=1.0)
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
    """Plans of one partitioned graph, made when they are asked for."""

    def __init__(self, graph: Graph, partition: Partition, options: Options) -> None:
        self._graph, self._partition, self._options = graph, partition, options
        tiles = options.tiles
        once = replace(tiles, recompute=False, max_overhead=1.0) if tiles else None
        self._once = planners(graph, partition, replace(options, tiles=once))
        self.macs = self._once[0].macs
        self.least_macs = min(planner.points()[-1].macs for planner in self._once)
        """No plan computes less."""
        self.at = cache(self._at)

    @cached_property
    def _again(self) -> Sequence[Planner]:
        """Plans with recompute: searching them takes longer, so that it is put off until somebody asks."""
        tiles = self._options.tiles
        return [planner.within(tiles) for planner in self._once] if tiles and tiles.recompute else ()

    def _at(self, macs: int) -> Plan:
        """The plan of least head with at most so many multiply-accumulates; `least_macs` at the least."""
        found = [planner.plan(macs) for planner in self._once]
        if macs > self.macs:
            found += [planner.plan(macs) for planner in self._again]
        return min((p for p in found if p.macs <= macs), key=cost, default=found[0])

    @cached_property
    def budgets(self) -> list[int]:
        """Multiply-accumulates at which the least bytes change, as far as it can be told before planning: rising."""
        points = [(p.macs, p.nbytes) for planner in (*self._once, *self._again) for p in planner.points()]
        return [macs for macs, _ in undominated(points, lambda point: point)]


def spaced(budgets: Sequence[int], step: int) -> list[int]:
    """The first, then each that is a step away from the one before, and the last.

    >>> spaced([100, 101, 105, 120, 121], 10)
    [100, 120, 121]
    """
    chosen: list[int] = []
    for macs in budgets:
        if not chosen or macs >= chosen[-1] + step:
            chosen.append(macs)
    return sorted({*chosen, *budgets[-1:]})


T = TypeVar("T")


def cheapest(budgets: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    """The lowest budget that fits, when more compute never takes more bytes: bisection; None when even the last fails.

    >>> cheapest([10, 20, 30, 40], lambda macs: macs >= 25)
    30
    """
    if not budgets or not fits(budgets[-1]):
        return None
    return budgets[bisect.bisect_left(range(len(budgets) - 1), True, key=lambda i: fits(budgets[i]))]


def undominated(points: Collection[T], cost: Callable[[T], tuple[int, int]]) -> Iterator[T]:
    """Of points by (multiply-accumulates, bytes): those with fewer bytes than all that compute no more.

    >>> list(undominated([(1, 9), (2, 9), (3, 7)], lambda p: p))
    [(1, 9), (3, 7)]
    """
    least: int | None = None
    for point in sorted(points, key=cost):
        nbytes = cost(point)[1]
        if least is None or nbytes < least:
            least = nbytes
            yield point
