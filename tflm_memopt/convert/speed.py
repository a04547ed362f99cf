"""Estimates the time of a model before and after the rewrite (analysis/timing.py)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tflm_memopt.analysis import builtin_cost, costs
from tflm_memopt.analysis.costs import Table, Work
from tflm_memopt.analysis.timing import Clock, Inference, Span, Time, TimeLimit
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.answers.report import PackedEstimate
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.conversion import Conversion, Converted
from tflm_memopt.convert.limits import Limits
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import is_region, read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.plan import Group
from tflm_memopt.targets.boards import Board

PACKED_CORE = "cortex-m4"
"""Core for which a report estimates the gain from packed kernels."""


def clock(board: Board | None, core: str | None, on: Table, mhz: float | None) -> Clock | None:
    """Return the clock of a core, or None if its frequency is unknown."""
    name = core or (board.core if board else on.core)
    if board:
        return board.clock(name, mhz)
    return Clock(name, mhz) if mhz else None


def limit(milliseconds: float | None, clock: Clock | None) -> TimeLimit | None:
    """Return the time limit, or None without a limit. Raises UsageError if the core's clock is unknown or the core's
    cycles are not modelled.
    """
    if milliseconds is None:
        return None
    if clock is None:
        raise UsageError(
            "a time limit needs a clock",
            code="time_unknown",
            hint="--board BOARD, or --clock 64MHz with --target or --core",
        )
    clock.within(1)
    return TimeLimit(milliseconds, clock)


def less_builtin(limits: Limits, conversion: Conversion) -> Limits:
    """Return limits whose time limit includes the cycles of TFLM's own kernels. Raises UsageError if the cycles are
    unknown.
    """
    if limits.time is None:
        return limits
    builtins, graph = builtin_ops(conversion), conversion.rows.model if conversion.rows else conversion.source.graph
    rest = _of_operators(graph, builtins, limits.time.clock, round(limits.time.cycles))
    if rest is None:
        raise UsageError(
            "the time limit cannot be checked: the run time of builtin operators is unknown",
            code="time_unknown",
            where=", ".join(dict.fromkeys(op.type for op in builtins)),
            hint="omit --time-limit; inspect lists the reasons why operators stay builtin",
        )
    return replace(limits, time=replace(limits.time, builtin=rest[1]))


def _of_operators(graph: Graph, ops: Collection[Op], clock: Clock, ours: int) -> Span | None:
    """Return the cycles of the operators that TFLM runs, or None if the cycles are unknown. The argument `ours` is the
    number of instructions of custom operators.
    """
    if not ops:
        return 0.0, 0.0
    if clock.esp:
        return clock.esp.operators(graph, ops)
    return clock.builtin(builtin_cost.of_operators(graph, ops, clock.core, ours))


def instructions_today(conversion: Conversion, core: str) -> int | None:
    """Return the number of instructions of the original model with CMSIS-NN, or None if TFLM still runs some operators
    after the rewrite.
    """
    return None if builtin_ops(conversion) else builtin_cost.instructions(conversion.source.graph, core)


def cycles_today(graph: Graph, clock: Clock | None) -> Span | None:
    """Return a model's cycles under TFLM with the chip's kernel library, or None if the cycles are unknown."""
    if clock is None:
        return None
    if clock.esp:
        return clock.esp.operators(graph, graph.ops)
    return clock.builtin(builtin_cost.of_model(graph, clock.core))


def time(
    conversion: Conversion, chosen: Converted | None, done: Sequence[Work], on: Table, clock: Clock | None
) -> Time:
    """Return the time of an inference before and after the rewrite. The argument `done` is the work of the custom
    operators in the chosen plan.
    """
    graphs = conversion.source.graph, (chosen.read if chosen else conversion.source).graph
    return _time(graphs, done, chosen.slow_moved if chosen else (0, 0), on, clock)


def on_board(result: Optimized, board: Board) -> Time | None:
    """Return the time of an optimized model on a board, or None if the board's cycles are unknown."""
    clock, memories = board.clock(board.measured_core or board.core), result.report.memories
    if not clock.known:
        return None
    moved = (memories.slow_read, memories.slow_written) if memories else (0, 0)
    graphs = read(result.original).graph, read(result.model).graph
    return _time(graphs, result.work, moved, None if clock.esp else costs.tables()[clock.core], clock)


def _time(
    graphs: tuple[Graph, Graph], done: Sequence[Work], moved: tuple[int, int], on: Table | None, clock: Clock | None
) -> Time:
    """The argument `moved` states how many bytes of slow memory are read, and how many are written."""
    core = clock.core if clock else on.core if on else ""
    (before, after), (was, taken) = (
        [builtin_cost.instructions(graph, core) for graph in graphs],
        [cycles_today(graph, clock) for graph in graphs],
    )
    if done:
        ops = [op for op in graphs[1].ops if not is_region(op) and op.type not in builtin_cost.FREE]
        ours = on.known(done) if on and on.core == core else None
        counts = None if ours is None else builtin_cost.of_operators(graphs[1], ops, core, ours) if ops else {}
        after = None if ours is None or counts is None else ours + round(sum(counts.values()))
        known = clock is not None and (clock.esp is not None or after is not None)
        builtins = _of_operators(graphs[1], ops, clock, ours or 0) if clock and known else None
        own = clock.cycles(done, moved) if clock else None
        taken = (own[0] + builtins[0], own[1] + builtins[1]) if own and builtins else None
    per = clock.per_instruction if clock else None
    if taken and after and clock and clock.rates:
        per = taken[0] / after, taken[1] / after

    def inference(counted: int | None, cycles: Span | None) -> Inference | None:
        span = clock.milliseconds(cycles) if clock else None
        return None if counted is None and span is None else Inference(counted, span)

    return Time(
        core=core,
        board=clock.board if clock else "",
        mhz=clock.mhz if clock else None,
        cycles=(round(per[0], 2), round(per[1], 2)) if per else None,
        original=inference(before, was),
        rewritten=inference(after, taken),
        library=clock.library if clock else "CMSIS-NN",
        share=clock.esp.share(done) if clock and clock.esp else None,
    )


def packed(conversion: Conversion, chosen: Converted) -> PackedEstimate | None:
    """Estimate how many instructions the chosen plan would need if kernels had packed weights."""
    planned = chosen.planned
    there = pipeline.pack_for(planned.graph, PACKED_CORE)
    if not any(op.packing for op in there.ops.values()):
        return None
    table = costs.tables()[PACKED_CORE]
    plain, fast = (table.known([*work(one)]) for one in (planned, replace(planned, graph=there)))
    if plain is None or fast is None:
        return None
    return PackedEstimate(PACKED_CORE, instructions_today(conversion, PACKED_CORE), plain, fast)


def of_stages(planned: Planned, milliseconds: Callable[[Work], float | None]) -> dict[int, float]:
    """Return the longest time of each row operator in milliseconds by the operator's key, or 0 if the time is
    unknown.
    """
    keys = [stage.op for step in planned.plan.steps if isinstance(step, Group) for stage in step.stages]
    return {key: milliseconds(one) or 0.0 for key, one in zip(keys, work(planned), strict=True)}


def of_points(conversion: Conversion, clock: Clock | None, on: Table) -> Clock | None:
    """Return the clock for the plans of a frontier, or None if the plans' times are unknown."""
    same = clock is not None and (clock.core == on.core or clock.esp is not None)
    return clock if same and not builtin_ops(conversion) else None


def builtin_ops(conversion: Conversion) -> list[Op]:
    """Return the operators with a cost that TFLM runs, or none for a model without any row operator."""
    if conversion.rows is None:
        return []
    builtins = {node.op for node in conversion.rows.builtins}
    return [op for op in conversion.rows.model.ops if op.index in builtins and op.type not in builtin_cost.FREE]
