"""Chooses the plan that the user gets, and decides when a model is not rewritten."""

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tflm_memopt.analysis.flash import Firmware, kernels
from tflm_memopt.analysis.timing import Span, Time, TimeLimit
from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.answers.report import Balance, FasterPlan
from tflm_memopt.convert import annotation, speed
from tflm_memopt.convert import instructions as by_instructions
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.diagnostics import SMALLER, TooLarge, no_other_plan, too_large
from tflm_memopt.convert.frontier import roomy
from tflm_memopt.convert.instructions import Costed
from tflm_memopt.convert.limits import Limits
from tflm_memopt.convert.request import ConversionTask, Request
from tflm_memopt.convert.weights import ALIGN, copying
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.ops.packing import GENERIC, Family, family
from tflm_memopt.plan.choices import BUILTIN, MOVES
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.search.groups import UNLIMITED
from tflm_memopt.tflm.arena import Arena
from tflm_memopt.tflm.refused import refusals, refuse

NOTHING_SUPPORTED = "no operator can run row by row: the list of builtin operators has the reasons"
NO_GAIN = "the rewritten model would not need a smaller arena"
NO_PARTS = f"{NO_GAIN}; --allow-ops {','.join(MOVES)} also lets operators run in parts"
NO_FLASH = "the original model is within the limits; the rewritten model would need too much flash"
NO_BALANCE = "it would save less RAM than it adds to flash"
LITTLE = 0.1
"""If a rewrite saves at least the fraction LITTLE of the arena, TFLM kernels that it no longer needs count as saved
flash.
"""
ROOM = 4_000
"""For faster packed kernels, the arena may be ROOM bytes larger than the least arena."""
SHARE = 1.2
"""For ESP-NN, which is faster than C code, the arena may be SHARE times as large as the least arena."""
SLOWER = 1.3
"""If all plans are slower than the original, the arena may be SLOWER times as large as the arena of a generic program.
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """The plan that the user gets, or the reason why the model is not rewritten."""

    task: ConversionTask
    conversion: Conversion
    limits: Limits
    chosen: Converted | None = None
    why: str = ""
    balance: Balance | None = None
    """RAM saved and flash added by the rewrite, or None without a rewrite."""
    faster: FasterPlan | None = None
    """A faster plan that takes more RAM, if the chosen plan is slower than the original."""

    @property
    def model(self) -> bytes:
        """The rewritten model or, without a rewrite, the original model."""
        return self.chosen.model if self.chosen else self.task.given.data

    @property
    def arena(self) -> Arena:
        return self.chosen.arena if self.chosen else self.task.original.arena

    @property
    def firmware(self) -> Firmware:
        return self.chosen.firmware if self.chosen else self.task.original.firmware

    @property
    def slow(self) -> int:
        return self.chosen.planned.plan.slow_bytes if self.chosen else 0


def decide(task: ConversionTask, planning: by_instructions.Planning) -> Decision:
    """Choose the plan that the user gets. Raises DoesNotFit if no plan keeps the limits, and UsageError if a limit
    cannot be checked.
    """
    try:
        return _decide(task, planning)
    except TooLarge as no:
        raise too_large(no, partial(_chosen, task, no.limits, planning)) from None


def _decide(task: ConversionTask, planning: by_instructions.Planning) -> Decision:
    asked, original = task.asked, task.original
    conversion = _start(task)
    arena = original.arena
    if asked.limits.ram is not None and not arena.exact and conversion.rows is not None:
        arena = conversion.once.arena
    if asked.limits.ram is not None and not arena.exact:
        raise UsageError(
            f"limits cannot be checked: the memory of {', '.join(arena.unknown)} is unknown",
            code="memory_unknown",
            where=f"the arena, {arena.figure(arena.total)} B",
            hint="omit --ram-limit and --board",
        )
    limits = speed.less_builtin(asked.limits, conversion)
    today = speed.cycles_today(conversion.source.graph, limits.time.clock if limits.time else None)
    slow = bool(limits.time and not (today and today[1] <= limits.time.clock.within(limits.time.milliseconds)))
    plan, faster = _plan(task, conversion, limits, planning) if conversion.rows is not None else (None, None)
    if plan is None:
        whole = annotation.left_whole(conversion.source)
        why, weighed = str(whole or NOTHING_SUPPORTED), None
        if asked.saved is not None:
            raise UsageError("this model cannot have a plan", code="bad_plan", where=why, hint="omit --plan")
    else:
        parts = plan.planned.graph
        wanted = bool(conversion.border.replaced or parts.source or parts.window or conversion.refused)
        wanted = wanted or slow or asked.weights == "ram" or asked.saved is not None
        wanted = wanted or any(op.message for op in parts.ops.values())  # TFLM has no operators for messages.
        weighed = balance((original.arena.total, plan.arena.total), original.firmware, plan.firmware, asked.table.core)
        why = _why_left(conversion, limits, original, plan, wanted=wanted)
        if not why and asked.if_worthwhile and not (weighed.worthwhile or wanted or asked.only_rewritten):
            why = NO_BALANCE
    refuse(refusals(plan.read) if plan is not None and not why else conversion.refused, f", and {why}" if why else "")
    if plan is not None and not why:
        return Decision(task, conversion, limits, plan, why, weighed, faster)
    if not limits.fit(original.arena, original.firmware):
        raise no_other_plan(limits, original.arena, original.firmware, why)
    if limits.time and slow:
        raise _original_too_slow(limits.time, today, why)
    return Decision(task, conversion, limits, None, why, weighed)


def _original_too_slow(limit: TimeLimit, taken: Span | None, why: str) -> DoesNotFit:
    """Return the error for an unchanged model that may exceed the time limit."""
    if taken is None:
        what, hint = "the original model's run time is unknown", "omit --time-limit"
    else:
        least = replace(limit, builtin=0).least(taken[1])
        what, hint = f"takes up to {least:g} ms, limit is {limit.milliseconds:g} ms", SMALLER
    return DoesNotFit(what, code="too_slow", where=why, hint=hint)


def _start(task: ConversionTask) -> Conversion:
    """Return the conversion with packed kernels, or with generic kernels if packed ones need more RAM than TFLM."""
    asked, original = task.asked, task.original.arena
    found = _best_state_variant(task.start, asked)
    if found.is_packed and asked.saved is None and original.exact and found.once.arena.total >= original.total:
        return _best_state_variant(task.start.packed_for(GENERIC), asked)
    return found


def _plan(
    task: ConversionTask, conversion: Conversion, limits: Limits, planning: by_instructions.Planning
) -> tuple[Converted, FasterPlan | None]:
    asked = task.asked
    if asked.saved is not None:
        plan = conversion.saved(asked.saved)
        if not limits.fit(plan.arena, plan.firmware):
            raise no_other_plan(limits, plan.arena, plan.firmware, "the saved plan", "another plan")
        return plan, None
    plan, faster = by_instructions.choose(conversion, limits, asked.table, planning), None
    only_ram = limits.board and replace(limits, total=None) == Limits(board=limits.board, slow=limits.slow)
    is_plain = plan.planned.plan.macs <= conversion.plans.macs and not plan.planned.plan.slow
    if only_ram and (limits.total is None or is_plain):
        plan, faster = _on_board(task, conversion, plan, planning)
    return _with_copies(task, conversion, limits, plan), faster


def _chosen(
    task: ConversionTask, limits: Limits, planning: by_instructions.Planning, other: Conversion
) -> Converted | None:
    try:
        return _plan(task, _best_state_variant(other, task.asked), limits, planning)[0]
    except (TooLarge, DoesNotFit):
        return None


def _with_copies(task: ConversionTask, conversion: Conversion, limits: Limits, plan: Converted) -> Converted:
    asked = task.asked
    waits, in_ram = asked.clock.flash_waits if asked.clock else None, asked.weights == "ram"
    if asked.weights == "flash" or not (in_ram or waits):
        return plan
    most = limits.ram if in_ram else max(plan.arena.total, min(limits.total or 0, task.original.arena.total - 1))
    room = UNLIMITED if most is None else max(0, most - plan.arena.total) // ALIGN * ALIGN
    copied = copying(plan.planned, plan.planned.plan.head + room, None if in_ram else waits)
    found = conversion.of(copied) if copied else plan
    fits = limits.admit(found.arena) and not limits.flash_missing(found.firmware)
    return found if fits and (most is None or found.arena.total <= most) else plan


@dataclass(frozen=True, slots=True)
class _Timed:
    plan: Costed
    time: Time

    @property
    def taken(self) -> float:
        """Time of the slowest inference in milliseconds, or number of instructions if times are unknown."""
        there = self.time.rewritten
        if there is None:
            return math.inf
        return there.milliseconds[1] if there.milliseconds else there.instructions or math.inf

    @property
    def is_slower(self) -> bool:
        return self.time.change is not None and self.time.change[1] > 0

    @property
    def product(self) -> float:
        return self.plan.total * self.taken


def _on_board(
    task: ConversionTask, conversion: Conversion, least: Converted, planning: by_instructions.Planning
) -> tuple[Converted, FasterPlan | None]:
    """Return a pair: the plan with the smallest product of arena and time, and a faster plan or None. The chosen plan
    must not be slower than the original, and must save at least half as much RAM as the plan `least`. The search tries
    the plan of the argument `least`, the plan of whole rows, and then all plans of explore().
    """
    asked = task.asked

    def timed(plan: Costed) -> _Timed:
        return _Timed(plan, speed.time(conversion, plan.converted, plan.work, asked.table, asked.clock))

    start = timed(by_instructions.costed(conversion, least.planned, asked.table, least))
    if start.time.change is None:
        return least, None
    most = (task.original.arena.total + least.arena.total) / 2

    def best(tried: Iterable[_Timed]) -> _Timed | None:
        small = (t for t in tried if t.plan.total <= most and asked.limits.admit(t.plan.converted.arena))
        return min((t for t in small if not t.is_slower), key=lambda t: t.product, default=None)

    rows = () if asked.options.ops == BUILTIN else (conversion.within(roomy(asked.tiles(1.0))).once,)
    if quick := best(
        (start, *(timed(by_instructions.costed(conversion, plan.planned, asked.table, plan)) for plan in rows))
    ):
        return quick.plan.converted, None
    price = by_instructions.price(asked.cost, asked.clock)
    found = by_instructions.within_macs(conversion.within(asked.tiles(1.0)), asked.limits, asked.table, price, planning)
    admitted = [timed(c) for c in found if asked.limits.admit(c.converted.arena)]
    if quick := best(admitted):
        return quick.plan.converted, None
    generic = conversion if conversion.options.target == GENERIC else conversion.packed_for(GENERIC)
    near = SLOWER * generic.within(asked.tiles(1.0)).once.arena.total
    chosen = min((start, *(t for t in admitted if t.plan.total <= min(near, most))), key=lambda t: t.product)
    return chosen.plan.converted, _faster(chosen, admitted)


def _faster(chosen: _Timed, admitted: Sequence[_Timed]) -> FasterPlan | None:
    """Return the smallest plan that is not slower than the original or, if all plans are slower, the fastest plan."""
    quick = min((t for t in admitted if not t.is_slower), key=lambda t: t.plan.total, default=None)
    there = quick or min(admitted, key=lambda t: t.taken, default=chosen)
    if there.taken >= chosen.taken:
        return None
    flag = f"--max-instructions {there.plan.instructions}"
    if there.time.rewritten and there.time.rewritten.milliseconds:
        flag = f"--time-limit {math.ceil(10 * there.taken + 0.01) / 10:g}ms"
    return FasterPlan(flag, there.plan.total)


def _best_state_variant(start: Conversion, asked: Request) -> Conversion:
    """Choose how many layers keep rows of a sliding window: as many as the limits allow."""
    conversion, limits = _within(start, asked), asked.limits
    limited = limits.ram is not None or limits.overhead is not None or limits.timed
    if conversion.rows is None or not conversion.rows.window or not (limited or asked.saved):
        return conversion
    if asked.saved is not None:
        for variant in conversion.state_variants():
            with contextlib.suppress(UsageError):
                variant.saved(asked.saved)
                return variant
        return conversion
    most = math.inf if limits.overhead is None else conversion.macs(limits.overhead)
    least = conversion
    for variant in conversion.state_variants():
        if variant.plans.macs > most:
            break
        other = _within(variant, asked)
        first = other.first(limits)
        if not by_instructions.keeps(by_instructions.costed(other, first.planned, asked.table, first), limits):
            continue
        if limits.ram is not None and not limits.time and limits.admit(first.arena):
            return other  # Later variants compute more, so the first variant within the RAM limit is the best.
        least = min(least, other, key=lambda c: c.first(limits).arena.total)
    return least


def _within(conversion: Conversion, asked: Request) -> Conversion:
    """Return the conversion with those limits of tiled groups that suit the target.

    Packed kernels are slow on single pixels. A plan with packed kernels computes whole rows and all channels at once if
    the arena grows by at most ROOM bytes. A plan for ESP-NN may also compute single pixels instead of whole rows.
    """
    limits = asked.limits
    if limits.timed and limits.overhead is None:
        return conversion.within(asked.tiles())
    if limits.overhead is not None:  # The user's compute factor refers to the model with its dead channels.
        return conversion.within(asked.tiles(limits.overhead / conversion.folded))
    conversion = conversion.within(asked.tiles(1.0 if limits.ram is None or limits.spills else None))
    if conversion.is_packed and asked.saved is None:
        least = conversion.once.arena.total
        whole, tiles = roomy(asked.tiles(1.0)), asked.tiles(1.0)
        forms, most = [whole], least + ROOM + _spared(conversion.once.planned)
        if family(conversion.options.target) is Family.ESP:
            forms, most = [whole, replace(tiles, group_channels=0) if tiles else None], int(least * SHARE)
        for form in forms:
            fast = conversion.within(form)
            if fast.once.arena.total <= most and limits.admit(fast.once.arena):
                return fast
    return conversion


def _spared(planned: Planned) -> int:
    """Return how many bytes of scratch a plan saves because convolutions read single pixels in place."""
    spared = [0]
    for group in planned.groups.values():
        members = [m for m in group.trace.members if m.stage.runs_packed(m.op)]
        usual = (m.op.scratch_bytes(m.nest.tile or m.op.writes.w, m.stage.at_once, m.stage.pixels) for m in members)
        spared.append(max(usual, default=0) - max((m.scratch_bytes for m in members), default=0))
    return max(spared)


def _why_left(conversion: Conversion, limits: Limits, original: Inspection, plan: Converted, *, wanted: bool) -> str:
    """Return the reason why a plan is not used, or "". Raises TooLarge if the plan needs more flash than `limits`
    allow.
    """
    if plan.arena.total >= original.arena.total and not wanted:
        options = conversion.options
        return NO_PARTS if options.ops == BUILTIN and not options.allow_ops else NO_GAIN
    if not limits.flash_missing(plan.firmware):
        return ""
    if limits.fit(original.arena, original.firmware) and not wanted:
        return NO_FLASH
    raise TooLarge(conversion, limits, plan)


def balance(arenas: tuple[int, int], before: Firmware, after: Firmware, core: str) -> Balance:
    """Return the RAM that a rewrite saves and the flash that it adds.

    A rewrite is worthwhile if it saves at least as many bytes of RAM as it adds to flash. TFLM kernels that only the
    original model needs may stay in the firmware for other models. These kernels count as saved flash if the rewrite
    saves at least the fraction LITTLE of the arena. The argument `arenas` has the sizes of the arena in bytes before
    and after the rewrite.
    """
    saved = arenas[0] - arenas[1]
    model, library = after.model - before.model, after.on(core).library
    gone = kernels(before.operators) - kernels(after.operators)
    added = model + library + max(0, -gone)
    return Balance(
        core=core,
        ram_saved=saved,
        flash_added=added,
        model=model,
        library=library,
        tflm=gone,
        worthwhile=saved >= added or (saved >= LITTLE * arenas[0] and saved >= model + library - gone),
    )
