"""Finds the plan with the least RAM within a time limit."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tflm_memopt.analysis.costs import Table
from tflm_memopt.analysis.timing import Span, TimeLimit
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.diagnostics import MOST_BOARDS, SMALLER, binding
from tflm_memopt.convert.instructions import Costed, Planning, by_time, demand_counted, within_budget, within_macs
from tflm_memopt.convert.limits import Limits
from tflm_memopt.errors import DoesNotFit
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.targets.boards import Board, boards, fit


def choose(conversion: Conversion, limits: Limits, table: Table, planning: Planning) -> Converted:
    """Return the plan with the least arena in the time limit.

    Raises DoesNotFit if no plan keeps all limits, and UsageError if the time of a kernel is unknown.
    """
    if (limit := limits.time) is None:
        raise TypeError("no limit of time")
    found = within_macs(conversion, limits, table, by_time(limit.clock), planning)
    if not found:
        return within_budget(conversion, replace(limits, instructions=None, time=None, slow=None))
    if all(math.isinf(limit.takes(c.work)) for c in found):
        demand_counted(conversion, table)
    best = _least(found, limit, limits.instructions)
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


def holds(limit: TimeLimit | None, taken: Span | None) -> bool:
    """Return whether a model certainly keeps the time limit."""
    if limit is None:
        return True
    return taken is not None and taken[1] <= limit.clock.within(limit.milliseconds)


def original_too_slow(limit: TimeLimit, taken: Span | None, why: str) -> DoesNotFit:
    """Return the error for an unchanged model that may exceed the time limit. The argument `why` is the reason why the
    model stays unchanged.
    """
    if taken is None:
        what, hint = "the original model's run time is unknown", "omit --time-limit"
    else:
        least = replace(limit, builtin=0).least(taken[1])
        what, hint = f"takes up to {least:g} ms, limit is {limit.milliseconds:g} ms", SMALLER
    return DoesNotFit(what, code="too_slow", where=why, hint=hint)


def _least(found: Sequence[Costed], limit: TimeLimit, most: int | None) -> Costed | None:
    """The argument `found` has the plans of a frontier, in ascending order of instructions."""
    within = [c for c in found if limit.takes(c.work) <= limit.cycles and (most is None or c.instructions <= most)]
    return within[-1] if within else None


def _ways(
    conversion: Conversion, limits: Limits, limit: TimeLimit, table: Table, found: Sequence[Costed]
) -> Iterator[str]:
    if table.target in TARGETS and table.target != conversion.options.target:
        other = conversion.packed_for(table.target)
        packed = within_macs(other, limits, table, by_time(limit.clock), lambda _done, _of: None)
        best = _least(packed, limit, limits.instructions)
        if best is not None and limits.admit(best.converted.arena):
            yield f"--target {table.target} ({limit.least(limit.takes(best.work)):g} ms in {best.total:,} B)"
    admitted = [c for c in found if limits.ram is None or limits.admit(c.converted.arena)]
    if admitted:
        yield f"--time-limit {limit.least(limit.takes(admitted[0].work)):g}ms (in {admitted[0].total:,} B)"
    best = _least(found, limit, limits.instructions)
    if best is not None and limits.total is not None and limits.admit_beyond(best.converted.arena):
        yield f"--ram-limit {best.total}"
    there = best or found[0]
    if limits.board is not None and (limits.total is None or there.total <= limits.total):
        yield from _faster(limit, there)


def _faster(limit: TimeLimit, costed: Costed) -> Iterator[str]:
    there = costed.converted

    def keeps(on: Board) -> bool:
        its = replace(limit, clock=on.clock(limit.clock.core))
        return its.clock.known and its.takes(costed.work) <= its.cycles

    names = [
        name
        for name, on in boards().items()
        if on.measured_core == limit.clock.core and keeps(on) and fit(on, there.arena, there.firmware).fits
    ]
    if names:
        yield f"--board {', '.join(names[:MOST_BOARDS])}"
