"""Time of a model before and after the rewrite (analysis/timing.py), and time limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflm_memopt.analysis import builtin_cost, costs, timing
from tflm_memopt.analysis.costs import Table, Work
from tflm_memopt.analysis.timing import Clock, Time, TimeLimit
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.limits import Limits
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Op
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.plan import Group
from tflm_memopt.results import Optimized, PackedEstimate
from tflm_memopt.targets.boards import Board

PACKED_CORE = "cortex-m4"
"""The core with packed kernels that reports of generic programs name, and its target."""


def clock(board: Board | None, core: str | None, on: Table, mhz: float | None) -> Clock | None:
    """Return the clock of `core` or else of the board, with the given frequency or the board's. None if unknown."""
    mhz = mhz or (float(board.mhz) if board else 0.0)
    name = core or (board.core if board else on.core)
    return Clock(name, mhz, board.id if board else "", board.flash_timing if board else None) if mhz else None


def limit(milliseconds: float | None, clock: Clock | None) -> TimeLimit | None:
    """Return the time limit. Raises UsageError without a clock or for a core whose cycles are not modelled."""
    if milliseconds is None:
        return None
    if clock is None:
        raise UsageError(
            "a time limit needs a clock",
            code="time_unknown",
            hint="--board BOARD, or --clock 64MHz with the --target or --core that it is of",
        )
    clock.within(1)
    return TimeLimit(milliseconds, clock)


def beside_builtin(limits: Limits, conversion: Conversion) -> Limits:
    """Return the limits minus the time of operators that stay builtin. Raises UsageError if that time is unknown."""
    if limits.time is None:
        return limits
    clock = limits.time.clock
    counted = builtin(conversion, clock.core, round(limits.time.cycles))
    rest = clock.builtin(counted) if counted else (0.0, 0.0) if counted == 0 else None
    if rest is None:
        raise UsageError(
            "the time limit cannot be checked: the run time of builtin operators is unknown",
            code="time_unknown",
            where=", ".join(dict.fromkeys(op.type for op in _kept(conversion))),
            hint="omit --time-limit; inspect lists why they stay builtin",
        )
    return replace(limits, time=replace(limits.time, builtin=rest[1]))


def builtin(conversion: Conversion, core: str, ours: int) -> int | None:
    """Return the instructions of operators that stay builtin, or None if unknown. ours: those of custom operators."""
    kept = _kept(conversion)
    if not kept or conversion.rows is None:
        return 0
    return builtin_cost.of_operators(conversion.rows.model, kept, core, ours)


def instructions_today(conversion: Conversion, core: str) -> int | None:
    """Return the instructions of the original model under TFLM with CMSIS-NN, or None if unknown."""
    return builtin_cost.instructions(conversion.source.graph, core)


def time(
    conversion: Conversion, chosen: Converted | None, done: Sequence[Work], on: Table, clock: Clock | None
) -> Time:
    """Return the time before and after. done: work of our operators in the chosen plan."""
    core = clock.core if clock else on.core
    before = after = instructions_today(conversion, core)
    taken = None
    if chosen and not done:  # TFLM's own kernels run the whole model
        after = builtin_cost.instructions(chosen.read.graph, core)
        taken = clock.builtin(after) if clock else None
    if done:
        ours = on.known(done)
        rest = builtin(conversion, core, ours) if core == on.core and ours is not None else None
        after = None if rest is None or ours is None else ours + rest
        taken = clock.cycles(done) if clock and rest is not None else None
        beside = clock.builtin(rest) if clock and rest else (0.0, 0.0)
        taken = (taken[0] + beside[0], taken[1] + beside[1]) if taken and beside else None
    return timing.time_of(clock, core, before, after, taken)


def packed(conversion: Conversion, chosen: Converted) -> PackedEstimate | None:
    """Estimate the chosen generic plan with packed kernels; None if no operator has one or the time is unknown."""
    planned = chosen.planned
    there = pipeline.pack_for(planned.graph, PACKED_CORE)
    if not any(op.packing for op in there.ops.values()):
        return None
    table = costs.tables()[PACKED_CORE]
    plain, fast = (table.known([*work(one)]) for one in (planned, replace(planned, graph=there)))
    if plain is None or fast is None:
        return None
    return PackedEstimate(PACKED_CORE, instructions_today(conversion, PACKED_CORE), plain, fast)


def on_board(result: Optimized, board: Board) -> Time | None:
    """Return the time of a result on a board, or None if it has another core or unmodelled cycles."""
    time = result.report.time
    if time is None or time.core != board.measured_core:
        return None
    clock = Clock(time.core, board.mhz, board.id, board.flash_timing)
    if clock.rates is None:
        return None
    before, after = (one.instructions if one else None for one in (time.original, time.rewritten))
    ours = costs.tables()[time.core].instructions(result.work)
    taken, beside = clock.cycles(result.work), clock.builtin(after - ours if after and result.work else 0)
    both = (taken[0] + beside[0], taken[1] + beside[1]) if result.work and taken and beside and after else None
    if result.report.changed and not result.work:
        both = clock.builtin(after)
    return timing.time_of(clock, time.core, before, after, both)


def of_stages(planned: Planned, clock: Clock) -> dict[int, float]:
    """Return the longest time of each row operator of a plan in milliseconds, by its key; 0 if it is unknown."""
    keys = [stage.op for step in planned.plan.steps if isinstance(step, Group) for stage in step.stages]
    spans = (clock.milliseconds(clock.cycles([one])) for one in work(planned))
    return {key: span[1] if span else 0.0 for key, span in zip(keys, spans, strict=True)}


def of_points(conversion: Conversion, clock: Clock | None, on: Table) -> Clock | None:
    """Return the clock for the points of a frontier, or None if operators stay builtin or the core differs."""
    return clock if clock and clock.core == on.core and not _kept(conversion) else None


def _kept(conversion: Conversion) -> list[Op]:
    if conversion.rows is None:
        return []
    kept = {node.op for node in conversion.rows.kept}
    return [op for op in conversion.rows.model.ops if op.index in kept and op.type not in builtin_cost.FREE]
