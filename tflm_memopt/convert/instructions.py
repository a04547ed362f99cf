"""Chooses plans by estimated instructions or time.

A plan that computes more pixels at once takes more bytes and fewer instructions.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from tflm_memopt.analysis.costs import Cost, Table, Work
from tflm_memopt.analysis.timing import Clock, TimeLimit
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.diagnostics import SMALLER, TooLarge, binding, for_boards, up
from tflm_memopt.convert.frontier import roomy
from tflm_memopt.convert.limits import Limits, SlowMemory
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.format.limits import PACKED_PIXELS
from tflm_memopt.ops.packing import FAST_TILES, TARGETS
from tflm_memopt.plan.choices import PER_GROUP
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.pareto import undominated
from tflm_memopt.plan.plan import Group, Plan
from tflm_memopt.targets.boards import Board
from tflm_memopt.tflm.lifetimes import aligned

MOST_SLOW = 8
CLIFF = 1.2
"""If a plan costs more than CLIFF times as much as a neighbouring plan, plans in between are tried."""
TILED_COST = 1.5
"""In the search for fast plans, a multiply-accumulate in a tile costs TILED_COST times as much as in a whole row."""
STEP = 1 / 32
"""To compute more pixels in a call, a plan's memory grows in steps of at most STEP times the head of the arena."""
STEEP = 1.2
"""If a plan still costs more than STEEP times as much as a neighbouring plan, more plans in between are tried."""
SMALL_STEP = STEP / 8
"""If the costs of two plans differ by more than the factor STEEP, memory grows in steps of at most SMALL_STEP times the
head of the arena.
"""
LEAP = 1 / 4
"""For faster groups, a plan's arena may grow to the middle between the smallest and the largest arena, but by at most
LEAP times its head.
"""
LESS = 0.9
"""Each plan with slow memory gets the fast memory of the previous plan, multiplied by LESS."""
Planning = Callable[[int, int], None]


@dataclass(frozen=True)
class Costed:
    """A plan with its cost. The plan is checked and lowered when first needed."""

    conversion: Conversion
    planned: Planned
    work: tuple[Work, ...]
    table: Table
    known: Converted | None = None
    """The checked and lowered plan, or None if the plan has not been checked."""

    @cached_property
    def instructions(self) -> int:
        return self.table.instructions(self.work)

    @cached_property
    def lowered(self) -> Converted:
        return self.known or self.conversion.lowered(self.planned)

    @cached_property
    def converted(self) -> Converted:
        if self.known is None:
            pipeline.checked(self.planned.graph, self.planned.plan)
        return self.lowered

    @property
    def total(self) -> int:
        """Size of the arena in bytes, which is known before the plan is checked."""
        return self.lowered.arena.total

    @property
    def plan(self) -> Plan:
        return self.planned.plan

    @property
    def operators(self) -> int:
        """Number of the plan's groups or, without `--ops group`, number of the plan's custom operators."""
        return len(self.plan.steps if self.conversion.options.ops == PER_GROUP else self.plan.calls())


Price = Callable[[Costed], float]


def keeps(costed: Costed, limits: Limits) -> bool:
    """Return whether a plan keeps the limits of instructions and time."""
    if limits.instructions is not None and costed.instructions > limits.instructions:
        return False
    return limits.time is None or limits.time.takes(costed.work) <= limits.time.cycles


def costed(conversion: Conversion, planned: Planned, table: Table, known: Converted | None = None) -> Costed:
    return Costed(conversion, planned, tuple(work(planned)), table, known)


def _unless_beaten(form: Conversion, plan: Plan, known: Iterable[Costed], table: Table, price: Price) -> Costed | None:
    """Return `plan` with its cost, or None if a plan in `known` has neither a higher cost nor a larger arena."""
    new = costed(form, form.planned(plan), table)
    cost = price(new)
    return None if any(price(other) <= cost and _excess(other, new) <= 0 for other in known) else new


def _excess(one: Costed, other: Costed) -> int:
    """Return by how many bytes the arena of `one` exceeds the arena of `other`. Only plans with different numbers of
    custom operators must be lowered, which takes long. Other plans differ only in the size of the head.
    """
    if one.operators == other.operators:
        return aligned(one.plan.head) - aligned(other.plan.head)
    return one.total - other.total


def _cheapest_first(found: Iterable[Costed], price: Price) -> list[Costed]:
    """Return plans from cheapest to most expensive, without plans whose arena is at least as large as the arena of a
    cheaper plan.
    """
    kept: list[Costed] = []
    for plan in sorted(found, key=lambda c: (price(c), c.plan.head)):
        if not kept or _excess(kept[-1], plan) > 0:
            kept.append(plan)
    return kept


def _undominated(found: Iterable[Costed], price: Price) -> list[Costed]:
    return undominated(_cheapest_first(found, price), lambda c: (price(c), c.total))


def forms(conversion: Conversion) -> tuple[Conversion, ...]:
    """Return a conversion for each tile width to try: single pixels, the width of a packed kernel, and whole rows.

    Up to three more conversions compute whole rows: one with wide tiles, one without tiled groups, and one in which
    groups compute two rows at once.
    """
    tiles = conversion.options.tiles
    if tiles is None:
        return (conversion,)
    wider = replace(tiles, tile=max(tiles.tile, PACKED_PIXELS), group_channels=0, tiled_cost=TILED_COST)
    each = [conversion.within(form) for form in dict.fromkeys((tiles, wider, roomy(tiles)))]
    wide, rows = each[-1].wide(), conversion.within(None).wide()
    return (*each, *filter(None, (wide, rows, rows and rows.in_two_rows())))


def narrow(conversion: Conversion) -> tuple[Conversion, ...]:
    """Return conversions for tiles of 2 to PACKED_PIXELS - 1 pixels."""
    tiles, family = conversion.options.tiles, TARGETS[conversion.options.target]
    if tiles is None or tiles.tile > 1 or family not in FAST_TILES:
        return ()
    between = replace(tiles, group_channels=0, tiled_cost=TILED_COST)
    return tuple(conversion.within(replace(between, tile=n)) for n in range(2, PACKED_PIXELS))


def by_time(clock: Clock) -> Price:
    @cache
    def cycles(done: tuple[Work, ...]) -> float:
        span = clock.cycles(done)
        return math.inf if span is None else span[1]

    return lambda costed: cycles(costed.work)


def price(cost: Cost, clock: Clock | None) -> Price:
    if cost == "macs":
        return lambda c: c.plan.macs
    return by_time(clock) if cost == "time" and clock else lambda c: c.instructions


def candidates(conversion: Conversion, table: Table, price: Price, planning: Planning) -> list[Costed]:
    """Return plans with several tile widths.

    If the prices of neighbouring plans differ much, the function also tries plans between them: plans with narrower
    tiles, without recompute, or with more memory. The plan with the least memory gets faster variants of its groups in
    the same memory.
    """

    def neighbours(most: float = math.inf) -> list[tuple[Costed, Costed]]:
        """Return the plans of at most `most` multiply-accumulates in pairs: a plan, and the plan with the next higher
        price.
        """
        known = (c for c in found if c.plan.macs <= most)
        return list(itertools.pairwise(_cheapest_first(known, price)))

    def has_cliff() -> bool:
        return any(price(slower) > CLIFF * price(faster) for faster, slower in neighbours())

    def widen(pairs: Sequence[tuple[Costed, Costed]]) -> None:
        for faster, slower in pairs:
            half = _excess(pairs[0][0], pairs[-1][1]) // 2 - _excess(slower, pairs[-1][1])
            to_half = [half] if 0 < half <= LEAP * slower.plan.head else []
            _add_roomier(found, each, slower, _rooms(faster, slower, STEP) + to_half, table, price)

    each, more = forms(conversion), narrow(conversion)
    found = _of_forms(each, [], table, price, planning)
    if more and has_cliff():
        each, found = (*each, *more), _of_forms(more, found, table, price, planning)
    once = neighbours(conversion.plans.macs)
    tried = neighbours()
    widen(tried)
    if has_cliff():
        widen([pair for pair in once if pair not in tried])
    for faster, slower in neighbours():
        if price(slower) > STEEP * price(faster):
            _add_roomier(found, each, slower, _rooms(faster, slower, SMALL_STEP), table, price)
    _add_roomier(found, each, _cheapest_first(found, price)[-1], [0], table, price)
    return found


def _rooms(faster: Costed, slower: Costed, step: float) -> list[int]:
    """Return numbers of bytes by which the head of the plan `slower` may grow, so that its arena stays smaller than the
    arena of the plan `faster`. The numbers rise in steps of at most `step` times the head.
    """
    room, size = _excess(faster, slower), slower.plan.head
    parts = 1 + math.ceil(room / (step * size)) if room > step * size else 1
    return [(room - 1) * part // parts for part in range(1, parts + 1)]


def _add_roomier(
    found: list[Costed], each: Sequence[Conversion], start: Costed, rooms: Sequence[int], table: Table, price: Price
) -> None:
    """Add plans whose kernels compute more pixels in a call than the kernels of the plan `start`. For each number in
    `rooms`, the head of a new plan may be that many bytes larger than the head of `start`.
    """

    def cost(done: Sequence[Work]) -> float:
        return price(replace(start, work=tuple(done)))

    for room, form in itertools.product(rooms, each):
        roomier = form.plans.roomier(start.plan, start.plan.head + room, cost)
        if roomier != start.plan and (new := _unless_beaten(form, roomier, found, table, price)):
            found.append(new)


def _of_forms(
    each: Sequence[Conversion], known: Sequence[Costed], table: Table, price: Price, planning: Planning
) -> list[Costed]:
    """Return the known plans, and a plan for each conversion and each compute budget.

    The search ends at the first plan with recompute that is slower and larger than a known plan. If no plans are known,
    the search tries all budgets of the first conversion.
    """
    budgets = [form.plans.budgets for form in each]
    done, of, found = 0, sum(map(len, budgets)), [*known]
    for form, of_form in zip(each, budgets, strict=True):
        before = None
        for number, macs in enumerate(of_form):
            planning(done + number, of)
            plan = form.plans.at(macs)
            if plan is before:
                continue
            before = plan
            if new := _unless_beaten(form, plan, found, table, price):
                found.append(new)
            elif plan.macs > form.plans.macs and (known or form is not each[0]):
                break
        done += len(of_form)
    planning(of, of)
    return found


def frontier(conversion: Conversion, cost: Cost, table: Table, clock: Clock | None, planning: Planning) -> list[Costed]:
    how = price(cost, clock)
    found = []
    if cost != "macs" and not (cost == "time" and clock and clock.esp):
        demand_counted(conversion, table)
    for variant in conversion.state_variants():
        if cost == "macs":
            found += _of_forms((variant,), [], table, how, planning)
        else:
            found += candidates(variant, table, how, planning)
    return _undominated(found, how)


def in_less_memory(conversion: Conversion, slow: SlowMemory, table: Table) -> Iterator[Costed]:
    """Yield plans that use slow memory, without recompute, each with less fast memory than the previous plan."""
    each, total = _forms_for(conversion, slow), conversion.once.arena.total - 1
    for _ in range(MOST_SLOW):
        found = _in_two_memories(each, Limits(total=total, slow=slow), slow)
        if found is None or found.planned.plan.slow_bytes > slow.nbytes:
            return
        yield costed(conversion, found.planned, table, found)
        total = int(found.arena.total * LESS)


def known_cost(conversion: Conversion, cost: Cost, table: Table, timer: Clock | None) -> Cost:
    """Return the kind of cost that the user requested, or a simpler kind if the cost of some operators is unknown."""
    if cost == "time" and timer is not None and timer.esp:
        return cost
    if cost != "macs" and not_counted(conversion, table):
        return "macs"
    return "instructions" if cost == "time" and timer is None else cost


def not_counted(conversion: Conversion, table: Table) -> set[str]:
    """Return the names of the kernels whose instructions were not counted on the core."""
    rows = conversion.rows
    names = {op.packing.name if op.packing else op.kind.name for op in rows.ops.values()} if rows else set[str]()
    return names - {kernel.split()[0] for kernel in table.kernels}


def demand_counted(conversion: Conversion, table: Table) -> None:
    """Raise UsageError if the instructions of a kernel, such as a float32 convolution, were not counted on the core."""
    if unknown := not_counted(conversion, table):
        raise UsageError(
            f"the instructions of some kernels are unknown on {table.core}",
            code="time_unknown",
            where=", ".join(sorted(unknown)),
            hint="limit RAM or multiply-accumulates instead: --ram-limit, --max-macs",
        )


def within_macs(conversion: Conversion, limits: Limits, table: Table, price: Price, planning: Planning) -> list[Costed]:
    """Return plans that keep the limit of multiply-accumulates. A plan with a higher price needs less RAM."""
    most = math.inf if limits.overhead is None else conversion.macs(limits.overhead)
    found = candidates(conversion, table, price, planning)
    return _undominated((c for c in found if c.plan.macs <= most), price)


def within_budget(conversion: Conversion, limits: Limits) -> Converted:
    """Return the plan with the least RAM in a compute budget, or the plan with the least compute in a RAM limit
    (msf-CNN's P1, P2).

    Raises TooLarge if no plan keeps the RAM limit, and DoesNotFit if no plan keeps the compute budget.
    """
    plans = conversion.plans
    budget = conversion.macs(1.0 if limits.overhead is None else limits.overhead)
    scarce = budget < plans.macs and budget < plans.least_macs
    if scarce and limits.overhead is not None:
        hint = f"--max-macs {up(conversion.overhead(plans.least_macs))}"
        what = f"no plan has at most {limits.overhead:g} times the model's multiply-accumulates"
        raise DoesNotFit(what, code="too_slow", hint=hint)
    if limits.ram is None:
        return conversion.at(plans.least_macs if scarce else budget)
    if limits.spills:
        first = conversion.first(limits)
        found, best = (first if limits.admit(first.arena) else None), first
    else:
        found, best = conversion.least(limits)
    if (slow := limits.slow) and not limits.admit(conversion.first(limits).arena) and not (found and not slow.clock):
        spilled = _in_two_memories(_forms_for(conversion, slow), limits, slow)
        both = [plan for plan in (found, spilled) if plan]
        found = min(both, key=lambda plan: _most_cycles(plan, slow.clock), default=None)
    if found is None:
        raise TooLarge(conversion, limits, best)
    if limits.slow and found.planned.plan.slow_bytes > limits.slow.nbytes:
        raise DoesNotFit(
            f"needs {found.planned.plan.slow_bytes:,} B of slow memory, limit is {limits.slow.nbytes:,} B",
            hint=f"--memory fast={limits.ram},slow={found.planned.plan.slow_bytes}",
        )
    return found


def _in_same_memory(conversion: Conversion, least: Converted, limits: Limits, table: Table) -> Converted:
    """Return the plan `least` with faster variants of its tiled groups, which use activation memory that is free. The
    returned plan keeps the limits, and its activation memory is at most as large as that of `least`.
    """
    plan = least.planned.plan
    if not conversion.is_packed or not any(isinstance(step, Group) and step.stripes for step in plan.steps):
        return least
    faster = conversion.of(conversion.plans.roomier(plan, plan.head, table.instructions))
    return faster if limits.fit(faster.arena, faster.firmware) else least


def _in_two_memories(each: Sequence[Conversion], limits: Limits, slow: SlowMemory) -> Converted | None:
    found = [plan for form in each if (plan := form.spilled(limits))]
    within = [plan for plan in found if plan.planned.plan.slow_bytes <= slow.nbytes] or found
    return min(within, key=lambda plan: _most_cycles(plan, slow.clock), default=None)


def _most_cycles(plan: Converted, clock: Clock | None) -> float:
    span = clock.cycles(work(plan.planned), plan.slow_moved) if clock else None
    return math.inf if span is None else span[1]


def _forms_for(conversion: Conversion, slow: SlowMemory) -> tuple[Conversion, ...]:
    return forms(conversion) if slow.clock else (conversion,)


def choose(conversion: Conversion, limits: Limits, table: Table, planning: Planning) -> Converted:
    """Return the plan with the least arena within a limit of time or instructions.

    If RAM and instructions are limited, the plan with the fewest instructions within both limits is returned. Raises
    DoesNotFit if no plan keeps all limits, and UsageError if the time of a kernel is unknown.
    """
    if limits.time:
        return _choose_in_time(conversion, limits, limits.time, table, planning)
    most = limits.instructions
    if most is None:
        return _in_same_memory(conversion, within_budget(conversion, limits), limits, table)
    demand_counted(conversion, table)
    found = within_macs(conversion, limits, table, price("instructions", None), planning)
    if not found:
        return within_budget(conversion, replace(limits, instructions=None))
    fewest = found[0].instructions
    small = [c for c in found if limits.admit(c.converted.arena)]
    if fewest > most:
        hint = f"--max-instructions {(small or found)[0].instructions}"
        if not small:
            beyond = limits.admit_beyond(found[0].converted.arena)
            hint = f"{hint} --ram-limit {found[0].total}" if beyond else SMALLER
        raise DoesNotFit(
            f"no plan has as few estimated instructions as {most:,}",
            code="too_slow",
            where=f"{fewest:,} on {table.core}, in {found[0].total:,} B",
            hint=hint,
        )
    within = [c for c in found if keeps(c, limits)]
    if limits.ram is None:
        return within[-1].converted
    if small and small[0].instructions <= most:
        return small[0].converted
    least = within[-1]
    ways = [f"--max-instructions {small[0].instructions} (fits in {small[0].total:,} B)"] if small else []
    if limits.admit_beyond(least.converted.arena):
        ways.append(f"--ram-limit {least.total}")
    raise DoesNotFit(
        f"needs {least.total:,} B within {most:,} instructions, limit is {limits.ram:,} B",
        where=binding(least.converted),
        hint=", or ".join(ways) or SMALLER,
    )


def _choose_in_time(
    conversion: Conversion, limits: Limits, limit: TimeLimit, table: Table, planning: Planning
) -> Converted:
    found = within_macs(conversion, limits, table, by_time(limit.clock), planning)
    if not found:
        return within_budget(conversion, replace(limits, instructions=None, time=None, slow=None))
    if all(math.isinf(limit.takes(c.work)) for c in found):
        demand_counted(conversion, table)
    best = _least(found, limits)
    if best is not None and limits.admit(best.converted.arena):
        return best.converted
    ways = ", or ".join(_ways(conversion, limits, limit, table, found)) or SMALLER
    if best is not None:
        what = f"needs {best.total:,} B within {limit.milliseconds:g} ms, limit is {limits.ram:,} B"
        raise DoesNotFit(what, where=binding(best.converted), hint=ways)
    first = found[0]
    taken = limit.takes(first.work)
    counted = f"{first.instructions:,} instructions, estimated, in {first.total:,} B"
    where = f"{counted}; up to {taken:,.0f} cycles on {limit.clock.core} at {limit.clock.mhz:g} MHz"
    what = f"takes up to {limit.least(taken):g} ms, limit is {limit.milliseconds:g} ms"
    raise DoesNotFit(what, code="too_slow", where=where, hint=ways)


def _least(found: Sequence[Costed], limits: Limits) -> Costed | None:
    return next((c for c in reversed(found) if keeps(c, limits)), None)


def _ways(
    conversion: Conversion, limits: Limits, limit: TimeLimit, table: Table, found: Sequence[Costed]
) -> Iterator[str]:
    if table.target in TARGETS and table.target != conversion.options.target:
        other = conversion.packed_for(table.target)
        packed = within_macs(other, limits, table, by_time(limit.clock), lambda _done, _of: None)
        best = _least(packed, limits)
        if best is not None and limits.admit(best.converted.arena):
            yield f"--target {table.target} ({limit.least(limit.takes(best.work)):g} ms in {best.total:,} B)"
    admitted = [c for c in found if limits.ram is None or limits.admit(c.converted.arena)]
    if admitted:
        yield f"--time-limit {limit.least(limit.takes(admitted[0].work)):g}ms (in {admitted[0].total:,} B)"
    best = _least(found, limits)
    if best is not None and limits.total is not None and limits.admit_beyond(best.converted.arena):
        yield f"--ram-limit {best.total}"
    there = best or found[0]
    if limits.board is not None and (limits.total is None or there.total <= limits.total):

        def is_fast(on: Board) -> bool:
            its = replace(limit, clock=on.clock(limit.clock.core))
            return on.measured_core == limit.clock.core and its.clock.known and its.takes(there.work) <= its.cycles

        yield from for_boards(there.converted.arena, there.converted.firmware, is_fast)
