"""Plans by estimated instructions (analysis/costs.py): the frontier, and the least RAM within so many.

The search counts multiply-accumulates. Among plans that do the same number of them, those that make more pixels at once
take fewer instructions and more bytes: so plans of several tile widths are made, and chosen from by their estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tflm_memopt.analysis.costs import Table, Work
from tflm_memopt.convert import budget
from tflm_memopt.convert.conversion import Conversion, Converted, Limits
from tflm_memopt.convert.frontier import roomy, spaced, undominated
from tflm_memopt.convert.misfit import SMALLER
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.ops.packing import MVE_PIXELS, PIXELS, TARGETS, Family
from tflm_memopt.plan.firing.work import work
from tflm_memopt.plan.search.tiles_plan import Settings

FAR = 0.01
"""Points of a frontier are this share of the original's multiply-accumulates apart."""
Planning = Callable[[int, int], None]
"""Told how many plans are made, and of how many."""


@dataclass(frozen=True, slots=True)
class Costed:
    """A plan, lowered, and the estimate of its instructions."""

    converted: Converted
    work: tuple[Work, ...]
    instructions: int

    @property
    def total(self) -> int:
        """Bytes of the whole arena."""
        return self.converted.arena.total


def costed(converted: Converted, table: Table) -> Costed:
    """With the estimate for a core."""
    planned = converted.planned
    done = tuple(work(planned.plan, planned.graph.ops))
    return Costed(converted, done, table.instructions(done))


def forms(tiles: Settings | None, target: str) -> tuple[Settings | None, ...]:
    """Single pixels, as many as a packed kernel computes at once, and whole rows."""
    if tiles is None:
        return (None,)
    few = MVE_PIXELS if TARGETS[target] is Family.MVE else PIXELS
    wider = replace(tiles, tile=max(tiles.tile, few), group_channels=0)
    return tuple(dict.fromkeys((tiles, wider, roomy(tiles))))


def candidates(conversion: Conversion, table: Table, planning: Planning) -> Iterator[Costed]:
    """The frontiers of all forms, by multiply-accumulates and bytes: some of these plans beat others in both."""
    each = [conversion.within(form) for form in forms(conversion.options.tiles, conversion.options.target)]
    budgets = [spaced(form.plans.budgets, conversion.macs(FAR)) for form in each]
    done, of = 0, sum(map(len, budgets))
    for form, of_form in zip(each, budgets, strict=True):
        plans = []
        for macs in of_form:
            planning(done, of)
            plans.append(form.plans.at(macs))
            done += 1
        for plan in undominated(plans, lambda p: (p.macs, p.head)):
            yield costed(form.of(plan), table)
    planning(of, of)


def by_macs(conversion: Conversion, table: Table, planning: Planning) -> list[Costed]:
    """The least arena at every number of multiply-accumulates, fewest first."""
    budgets = spaced(conversion.plans.budgets, conversion.macs(FAR))
    plans = []
    for number, macs in enumerate(budgets):
        planning(number, len(budgets))
        plans.append(conversion.plans.at(macs))
    low = undominated(plans, lambda p: (p.macs, p.head))
    least = undominated([conversion.of(p) for p in low], lambda c: (c.planned.plan.macs, c.arena.total))
    points = [costed(c, table) for c in least]
    planning(len(budgets), len(budgets))
    return points


def frontier(conversion: Conversion, table: Table, planning: Planning) -> list[Costed]:
    """The least arena at every number of instructions, fewest instructions first."""
    return list(undominated(list(candidates(conversion, table, planning)), lambda c: (c.instructions, c.total)))


def of_keepings(conversion: Conversion, cost: str, table: Table, planning: Planning) -> list[Costed]:
    """The least arena at every cost, "macs" or "instructions", however many rows a window that slides keeps."""
    one = frontier if cost == "instructions" else by_macs
    found = [point for kept in conversion.keepings() for point in one(kept, table, planning)]

    def costs(c: Costed) -> tuple[int, int]:
        return c.instructions if cost == "instructions" else c.converted.planned.plan.macs, c.total

    return list(undominated(found, costs))


def within_macs(conversion: Conversion, limits: Limits, table: Table, planning: Planning) -> list[Costed]:
    """What of the frontier keeps to the budget of multiply-accumulates."""
    most = math.inf if limits.overhead is None else conversion.macs(limits.overhead)
    return [c for c in frontier(conversion, table, planning) if c.converted.planned.plan.macs <= most]


def choose(conversion: Conversion, limits: Limits, table: Table, planning: Planning) -> Converted:
    """The least arena within so many instructions or, with a RAM limit too, the fewest instructions within both.

    Raises UsageError for a limit below the fewest of all plans that are tried, DoesNotFit when nothing keeps to both.
    """
    most = limits.instructions
    if most is None:
        return budget.choose(conversion, limits)
    found = within_macs(conversion, limits, table, planning)
    if not found:
        return budget.choose(conversion, replace(limits, instructions=None))  # says what the least is
    fewest = found[0].instructions
    if fewest > most:
        raise UsageError(
            f"no plan is estimated to take so few instructions as {most:,}",
            code="instructions_too_low",
            where=f"{fewest:,} on {table.core}, in {found[0].total:,} B",
            hint=f"--max-instructions {fewest}",
        )
    within = [c for c in found if c.instructions <= most]
    if limits.ram is None:
        return within[-1].converted
    small = [c for c in found if limits.admit(c.converted.arena)]
    if small and small[0].instructions <= most:
        return small[0].converted
    larger = [f"--max-instructions {small[0].instructions} (fits in {small[0].total:,} B)"] if small else []
    raise DoesNotFit(
        f"needs {within[-1].total:,} B within {most:,} instructions, limit is {limits.ram:,} B",
        code="does_not_fit_in_time",
        where=conversion.binding(within[-1].converted),
        hint=", or ".join([*larger, *([] if limits.board else [f"--ram-limit {within[-1].total}"])]) or SMALLER,
    )
