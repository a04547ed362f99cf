"""Time of a model before and after the rewrite (analysis/timing.py), and time limits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tflm_memopt.analysis import builtin_cost, costs, timing
from tflm_memopt.analysis.costs import Table, Work
from tflm_memopt.analysis.timing import Clock, Span, Time, TimeLimit
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.limits import Limits
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import is_region, read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.plan import Group
from tflm_memopt.results import Optimized, PackedEstimate
from tflm_memopt.targets.boards import Board

PACKED_CORE = "cortex-m4"
"""A core with packed kernels and its target, for reports of generic programs."""


def clock(board: Board | None, core: str | None, on: Table, mhz: float | None) -> Clock | None:
    """Return the clock of `core` or else of the board, with the given frequency or else the board's. Return None if it
    is unknown.
    """
    name = core or (board.core if board else on.core)
    if board:
        return board.clock(name, mhz)
    return Clock(name, mhz) if mhz else None


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


def less_builtin(limits: Limits, conversion: Conversion) -> Limits:
    """Return the limits without the time that builtin operators take. Raises UsageError if that time is unknown."""
    if limits.time is None:
        return limits
    rest = _beside(conversion, limits.time.clock, round(limits.time.cycles))
    if rest is None:
        raise UsageError(
            "the time limit cannot be checked: the run time of builtin operators is unknown",
            code="time_unknown",
            where=", ".join(dict.fromkeys(op.type for op in _builtin_ops(conversion))),
            hint="omit --time-limit; inspect lists why they stay builtin",
        )
    return replace(limits, time=replace(limits.time, builtin=rest[1]))


def _beside(conversion: Conversion, clock: Clock, ours: int) -> Span | None:
    """Return the cycles of operators that stay builtin, or None if unknown. ours: instructions of custom operators."""
    builtins = _builtin_ops(conversion)
    if not builtins or conversion.rows is None:
        return 0.0, 0.0
    return _of_operators(conversion.rows.model, builtins, clock, ours)


def _of_operators(graph: Graph, ops: Collection[Op], clock: Clock, ours: int) -> Span | None:
    """Return the cycles of operators that TFLM runs, or None if unknown. ours: instructions of custom operators."""
    if clock.esp:
        return clock.esp.operators(graph, ops)
    return clock.builtin(builtin_cost.of_operators(graph, ops, clock.core, ours))


def builtin(conversion: Conversion, core: str, ours: int) -> int | None:
    """Return the instructions of operators that stay builtin, or None if unknown. ours: instructions of custom
    operators.
    """
    builtins = _builtin_ops(conversion)
    if not builtins or conversion.rows is None:
        return 0
    return _total(builtin_cost.of_operators(conversion.rows.model, builtins, core, ours))


def instructions_today(conversion: Conversion, core: str) -> int | None:
    """Return the instructions of the original model under TFLM with CMSIS-NN, or None if unknown."""
    return builtin_cost.instructions(conversion.source.graph, core)


def cycles_today(graph: Graph, clock: Clock | None) -> Span | None:
    """Return the cycles of a model that runs entirely with TFLM's own kernels and the chip's kernel library, or None if
    unknown.
    """
    if clock is None:
        return None
    return clock.esp.original(graph) if clock.esp else clock.builtin(builtin_cost.of_model(graph, clock.core))


def time(
    conversion: Conversion, chosen: Converted | None, done: Sequence[Work], on: Table, clock: Clock | None
) -> Time:
    """Return the time before and after the rewrite. done: work of our operators in the chosen plan."""
    core = clock.core if clock else on.core
    before = after = instructions_today(conversion, core)
    was = taken = cycles_today(conversion.source.graph, clock)
    if chosen and not done:  # the whole model runs with TFLM's own kernels
        after = builtin_cost.instructions(chosen.read.graph, core)
        taken = cycles_today(chosen.read.graph, clock)
    if done:
        ours = on.known(done)
        rest = builtin(conversion, core, ours) if core == on.core and ours is not None else None
        after = None if rest is None or ours is None else ours + rest
        known = clock is not None and (clock.esp is not None or rest is not None)
        of_builtin = _beside(conversion, clock, ours or 0) if clock and known else None
        moved = chosen.slow_moved if chosen else (0, 0)
        taken = _sum(clock.cycles(done, moved) if clock else None, of_builtin)
    return timing.time_of(clock, core, (before, after), (was, taken), done)


def _sum(one: Span | None, other: Span | None) -> Span | None:
    return (one[0] + other[0], one[1] + other[1]) if one and other else None


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
    """Return the time of a result on a board, or None if its cycles are unknown there."""
    clock = board.clock(board.measured_core or board.core)
    if not clock.known:
        return None
    original, rewritten = read(result.original).graph, read(result.model).graph
    was, before = cycles_today(original, clock), builtin_cost.instructions(original, clock.core)
    if not result.work:
        taken, after = cycles_today(rewritten, clock), builtin_cost.instructions(rewritten, clock.core)
        return timing.time_of(clock, clock.core, (before, after), (was, taken))
    ours = None if clock.esp else costs.tables()[clock.core].known(result.work)
    ops = [op for op in rewritten.ops if not is_region(op)]
    taken = _sum(clock.cycles(result.work, _slow_moved(result)), _of_operators(rewritten, ops, clock, ours or 0))
    rest = _total(builtin_cost.of_operators(rewritten, ops, clock.core, ours or 0))
    after = None if ours is None or rest is None else ours + rest
    return timing.time_of(clock, clock.core, (before, after), (was, taken), result.work)


def _total(counts: builtin_cost.Counts | None) -> int | None:
    return None if counts is None else round(sum(counts.values()))


def _slow_moved(result: Optimized) -> tuple[int, int]:
    memories = result.report.memories
    return (memories.slow_read, memories.slow_written) if memories else (0, 0)


def of_stages(planned: Planned, milliseconds: Callable[[Work], float | None]) -> dict[int, float]:
    """Return the longest time of each row operator of a plan in milliseconds, by its key, or 0 if it is unknown."""
    keys = [stage.op for step in planned.plan.steps if isinstance(step, Group) for stage in step.stages]
    return {key: milliseconds(one) or 0.0 for key, one in zip(keys, work(planned), strict=True)}


def of_points(conversion: Conversion, clock: Clock | None, on: Table) -> Clock | None:
    """Return the clock for the points of a frontier, or None if operators stay builtin or the cores differ."""
    same = clock is not None and (clock.core == on.core or clock.esp is not None)
    return clock if same and not _builtin_ops(conversion) else None


def _builtin_ops(conversion: Conversion) -> list[Op]:
    if conversion.rows is None:
        return []
    builtins = {node.op for node in conversion.rows.builtins}
    return [op for op in conversion.rows.model.ops if op.index in builtins and op.type not in builtin_cost.FREE]
