"""The package's functions: optimize(), explore(), inspect(), verify()."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from tflm_memopt import describe, in_time, maps, pipeline, speed, units
from tflm_memopt import instructions as by_instructions
from tflm_memopt.analysis import costs
from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.balance import NO_BALANCE, balance
from tflm_memopt.boards import Board, boards, fits
from tflm_memopt.boards import board as board_named
from tflm_memopt.boards import fit as board_fit
from tflm_memopt.choose import Conversion, Converted, Limits
from tflm_memopt.emit.resolver import arena_bytes
from tflm_memopt.errors import UsageError
from tflm_memopt.files import GivenModel, loaded
from tflm_memopt.firmware import firmware
from tflm_memopt.frontier import roomy, settings, spaced, undominated
from tflm_memopt.instructions import FAR, Costed
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import Model, read
from tflm_memopt.ops.packing import GENERIC, Family
from tflm_memopt.ops.packings import family
from tflm_memopt.plan import waiting
from tflm_memopt.plan.effort import EXACT, NORMAL, factor
from tflm_memopt.plan.firing.work import work
from tflm_memopt.plan.planner import Options
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.results import Balance, BoardReport, Exploration, Fits, Footprints, Inspection, Optimized, Report
from tflm_memopt.rewrite.int8_io import Int8Interface
from tflm_memopt.rewrite.int8_io import int8_io as to_int8_io
from tflm_memopt.rowgraph.inputs import input_mode
from tflm_memopt.rowgraph.supported import Understood
from tflm_memopt.runtime.verify import Verification, verify
from tflm_memopt.suggest import one_of
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.libraries import Kernels, Library, library
from tflm_memopt.tflm.refused import accept
from tflm_memopt.tflm.structs import Abi
from tflm_memopt.ways import misfit, original_misfit

__all__ = [
    "Exploration",
    "Fits",
    "Inspection",
    "Optimized",
    "Report",
    "Verification",
    "explore",
    "fit",
    "inspect",
    "optimize",
    "verify",
]

COSTS = ("macs", "instructions")
NOTHING_SUPPORTED = "no operator can run row by row: see kept_builtin"
NO_GAIN = "the rewritten model would need no less arena"
NO_FLASH = "it fits on the board as it is; the rewritten model would need too much flash"


Progress = Callable[[str, int, int], None]
"""What is being done, how many steps of it are done, and of how many; 0: nobody knows."""


def nothing(what: str, done: int, of: int) -> None:
    """Nobody wants to know."""


ROOM = 4_000
"""Bytes of arena that a plan may take more than the least, if fast kernels run faster in it."""
EXPLORING = 10
"""Times as much work as one conversion may take that explore() may spend on finding blocks, and on each point."""


def optimize(
    model: GivenModel,
    *,
    name: str = "",
    input: str = "arena",  # noqa: A002 (the option's name)
    int8_io: bool = False,
    op_per: Literal["region", "block"] = "region",
    abi: Abi = "ilp32",
    fold: bool = True,
    effort: float | str = NORMAL,
    seconds: float | None = None,
    max_macs: float | None = None,
    ram_limit: int | str | None = None,
    max_instructions: int | str | None = None,
    time_limit: float | str | None = None,
    clock: float | str | None = None,
    core: str | None = None,
    board: str | None = None,
    without: Collection[str] = (),
    target: str | None = None,
    kernels: Kernels = "reference",
    plan: Mapping[str, Any] | None = None,
    if_worthwhile: bool = False,
    frontier: bool = False,
    progress: Progress = nothing,
) -> Optimized:
    """Rewrites a .tflite model so that TFLM runs it with the same output bits in less arena.

    model: its bytes, or the path of a .tflite file or of C source with it as an array.
    name: for the report and the files; by default the file's.
    input: where the model's input lives: "arena", "stream" or "stream:ROWS" (pushed a few rows at a time), "external"
        (read from the caller's buffer).
    int8_io: drop QUANTIZE and DEQUANTIZE at the model's border.
    op_per: one custom operator for each "region", or for each "block".
    abi: of the arena figures: "ilp32" or "lp64".
    fold: leave out channels that cannot influence any output, whatever the input.
    effort: how long to search: "low", "normal", "high", or a factor of normal, which takes at most some ten seconds of
        processor time; what that cuts short is in Report.cut_short.
    seconds: limit of the exact layout's search within that, deterministic time of CP-SAT; by default half a second
        times the effort.
    max_macs: the least RAM with at most so many times the original's multiply-accumulates; by default, nothing is
        computed twice.
    ram_limit: the least compute with an arena of at most so many bytes, tail included: 20480, "20kB" or "64KiB".
    max_instructions: the least RAM with at most so many instructions, by estimate, on `core`: 3200000 or "3.2M"; with a
        RAM limit, the fewest instructions within both.
    time_limit: the least RAM with which an inference takes at most so long, by estimate: "50ms", or a number of
        milliseconds; it needs a board, or a clock.
    clock: of the core: "64MHz", or a number of MHz; by default the board's.
    core: one that runs the target; by default the target's own, for generic programs the slowest.
    board: it has to fit on that one, beside its core, RAM and flash; whose ABI, target and core are taken.
    without: ingredients to leave out, to see their worth: "strips", "recompute", "overlap", ...
    target: whose kernels operators are packed for: "generic" programs run everywhere, others on their cores only, and
        faster; by default the board's, or generic.
    kernels: whose scratch and state the arena figures count for operators that stay builtin: "reference", "cmsis-nn",
        "esp-nn".
    plan: a plan that was saved, as Plan.to_json() gives it.
    if_worthwhile: leave a model as it is whose rewrite adds more bytes to flash than it saves of RAM, unless something
        was asked for that only a rewrite gives: limits, a board, a target, another interface.
    frontier: explore() as well, for the report.
    progress: told what is being done, and how many of how many steps of it are.

    Raises ModelError for what is no model, UsageError for impossible arguments, DoesNotFit when nothing keeps to the
    limits. A model with nothing to gain comes back as it is.
    """
    started = time.monotonic()
    progress("reading", 0, 0)
    data, name, path = loaded(model, name)
    on_board, target, core, abi = _on_board(board, target, core, abi)
    without = _without(without, max_macs)
    on = costs.table(target, core)
    clocked = speed.clock(on_board, core, on, clock)
    ram, instructions = _if_given(units.size, ram_limit), _if_given(units.number, max_instructions)
    limits = Limits(max_macs, ram, instructions, on_board, speed.limit(time_limit, clocked))
    if plan is not None and (limits != Limits() or without):
        raise UsageError(
            "a saved plan leaves nothing to limit or to leave out", code="plan_and_limits", hint="--plan alone"
        )
    conversion = _conversion(
        data, input, int8_io, op_per, abi, kernels, _options(without, effort, seconds, fold, target), settings(without)
    )
    progress("searching blocks", 0, 0)
    if not frontier:
        _tell_left(progress, conversion, limits, started)
    conversion = _within(conversion, limits, without, saved=plan is not None)
    original = describe.inspection(
        name, len(data), conversion.source, _understood(conversion.source), abi, conversion.library,
        int8_interface=int8_io,
    )  # fmt: skip
    if (limits.ram is not None or on_board) and not original.arena.exact:
        raise UsageError(
            f"no limit can be kept: what {', '.join(original.arena.unknown)} allocates is not known",
            code="limit_on_unknown",
            where=f"the arena, {original.arena.figure(original.arena.total)} B",
            hint="no --ram-limit and no --board",
        )
    limits = speed.beside_builtin(limits, conversion, original)
    today = speed.instructions_today(conversion, original, clocked.core if clocked else on.core)
    today_holds = in_time.holds(limits.time, today)
    chosen, why, weighed = None, "", None
    if conversion.partition is None:
        why = pipeline.left_whole(conversion.source) or NOTHING_SUPPORTED
        if plan is not None:
            raise UsageError(
                "there is nothing to plan in this model", code="nothing_to_plan", where=why, hint="no --plan"
            )
    else:
        planning = partial(progress, "planning points")
        choose = in_time.choose if limits.time else by_instructions.choose
        chosen = conversion.saved(plan) if plan is not None else choose(conversion, limits, on, planning)
        asked_for = bool(conversion.border.replaced or chosen.planned.partition.frame) or not today_holds
        wished = asked_for or plan is not None or limits != Limits() or target != GENERIC or bool(without)
        weighed = _balance(original, chosen, on.core)
        why = _why_left(conversion, limits, original, chosen, asked_for=asked_for)
        if not why and if_worthwhile and not weighed.worthwhile and not (wished or op_per == "block"):
            why = NO_BALANCE
        chosen = None if why else chosen
    needs = firmware(chosen.model) if chosen else original.firmware
    arena = chosen.arena if chosen else original.arena
    left = board_fit(on_board, arena, needs) if on_board else None
    if chosen is None and (not limits.admit(original.arena) or (left and not left.fits)):
        raise original_misfit(limits, original.arena, original.firmware, why)
    if chosen is None and limits.time and not today_holds:
        raise in_time.original_misfit(limits.time, today, why)
    on_boards = fits(arena, needs)
    done = tuple(work(chosen.planned.plan, chosen.planned.partition.ops)) if chosen else ()
    report = describe.report(
        name, conversion, chosen, original, (why, on_boards, limits, without, op_per, done), started
    )
    report = replace(
        report, balance=weighed, board=left, in_arena=conversion.in_arena(chosen, limits) if chosen else None,
        time=speed.time(conversion, done, original, on, clocked),
        arena_size=arena_bytes(read(chosen.model) if chosen else conversion.source, report) if arena.exact else None,
        footprint=_footprints(original.firmware, needs, on_board.flash_core if on_board else on.core),
    )  # fmt: skip
    return Optimized(
        model=chosen.model if chosen else data,
        plan=chosen.planned.plan if chosen else None,
        report=report,
        original=data,
        source=path,
        inspection=original,
        memory=maps.of_plan(chosen.planned, chosen.arena) if chosen else original.memory,
        fits=on_boards,
        work=done,
        frontier=explore(
            data, name=name, input=input, int8_io=int8_io, op_per=op_per, abi=abi, fold=fold, effort=effort,
            board=board, without=without, target=target, kernels=kernels, progress=progress,
        ) if frontier else None,
    )  # fmt: skip


def _footprints(before: Firmware, after: Firmware, core: str) -> Footprints:
    return Footprints(before.on(core), after.on(core))


def _if_given(read: Callable[[int | str], int], said: int | str | None) -> int | None:
    return None if said is None else read(said)


def _on_board(
    name: str | None, target: str | None, core: str | None, abi: Abi
) -> tuple[Board | None, str, str | None, Abi]:
    """The board, and the settings that it stands for; what was asked for by name goes first."""
    if name is None:
        return None, target or GENERIC, core, abi
    on = board_named(name)
    target = target or on.target
    return on, target, core or (on.measured_core if costs.runs(on.measured_core, target) else None), on.abi


def _tell_left(progress: Progress, conversion: Conversion, limits: Limits, started: float) -> None:
    """Only where nothing is computed twice: how often other conversions search depends on what they find."""
    once = limits.overhead is None or limits.overhead <= 1
    if once and limits == Limits(limits.overhead):
        searches = 2 if limits == Limits() and conversion.is_packed else 1
        operators = len(conversion.source.graph.ops)
        waiting.tell(progress, conversion.log, operators, conversion.options.seconds, searches, started)


def _within(conversion: Conversion, limits: Limits, without: Collection[str], *, saved: bool) -> Conversion:
    """The conversion with what tiled blocks may use within these limits."""
    if limits.most is not None and limits.overhead is None:
        return conversion.within(settings(without))
    if limits.overhead is not None:  # of the original's multiply-accumulates; a search counts those of what is left
        return conversion.within(settings(without, limits.overhead / conversion.folded))
    conversion = conversion.within(settings(without, 1.0 if limits.ram is None else None))
    if conversion.is_packed and not saved:
        fast = conversion.within(roomy(settings(without, 1.0)))
        if fast.once.arena.total <= conversion.once.arena.total + ROOM and limits.admit(fast.once.arena):
            return fast
    return conversion


def _balance(original: Inspection, chosen: Converted, core: str) -> Balance:
    return balance((original.arena.total, chosen.arena.total), original.firmware, firmware(chosen.model), core)


def _why_left(
    conversion: Conversion, limits: Limits, original: Inspection, chosen: Converted, *, asked_for: bool
) -> str:
    """Why the model is left as it is though a plan was found, or "". Raises DoesNotFit for too little flash.

    asked_for: whether the rewritten model has another interface.
    """
    if chosen.arena.total >= original.arena.total and not asked_for:
        return NO_GAIN
    if limits.board is None or board_fit(limits.board, chosen.arena, firmware(chosen.model)).flash_left >= 0:
        return ""
    if board_fit(limits.board, original.arena, original.firmware).fits and not asked_for:
        return NO_FLASH
    raise misfit(conversion, limits, chosen)


def explore(
    model: GivenModel,
    *,
    name: str = "",
    input: str = "arena",  # noqa: A002 (the option's name)
    int8_io: bool = False,
    op_per: Literal["region", "block"] = "region",
    abi: Abi = "ilp32",
    fold: bool = True,
    board: str | None = None,
    effort: float | str = NORMAL,
    without: Collection[str] = (),
    target: str | None = None,
    kernels: Kernels = "reference",
    cost: Literal["macs", "instructions"] = "macs",
    core: str | None = None,
    progress: Progress = nothing,
) -> Exploration:
    """The frontier of a model: the least arena at every compute budget. Each point is planned, checked and lowered.

    cost: what compute is: multiply-accumulates, or instructions on `core`, by estimate; then plans of several tile
    widths are tried. board: each point says what it leaves of that one. Other arguments as for optimize().
    """
    if cost not in COSTS:
        raise UsageError(f"'{cost}' is nothing that plans cost", code="unknown_cost", hint=one_of(cost, COSTS))
    started = time.monotonic()
    data, name, _ = loaded(model, name)
    on_board, target, core, abi = _on_board(board, target, core, abi)
    widest = settings(_without(without, None))
    options = replace(_options(without, effort, None, fold, target), tiles=widest)
    options = replace(options, effort=EXPLORING * options.effort)
    conversion = _conversion(data, input, int8_io, op_per, abi, kernels, options, widest)
    on = costs.table(target, core)
    timer = speed.of_points(conversion, on_board, core, on)
    points: list[Costed] = []
    planning = partial(progress, "planning points")
    if conversion.partition and cost == "instructions":
        points = by_instructions.frontier(conversion, on, planning)
    elif conversion.partition:
        budgets = spaced(conversion.plans.budgets, conversion.macs(FAR))
        plans = []
        for number, macs in enumerate(budgets):
            planning(number, len(budgets))
            plans.append(conversion.plans.at(macs))
        low = undominated(plans, lambda p: (p.macs, p.head))
        least = undominated([conversion.of(p) for p in low], lambda c: (c.planned.plan.macs, c.arena.total))
        points = [by_instructions.costed(c, on) for c in least]
        planning(len(budgets), len(budgets))
    return Exploration(
        model=name,
        input=str(conversion.options.input),
        op_per=op_per,
        target=target,
        cost=cost,
        core=on.core,
        without=tuple(without),
        original_macs=conversion.understood.macs,
        original_arena=predict(conversion.source, abi, library=conversion.library),
        board=on_board.id if on_board else None,
        points=tuple(describe.point(conversion, point, on_board, timer) for point in points),
        seconds=round(time.monotonic() - started, 3),
    )


def _options(without: Collection[str], effort: float | str, seconds: float | None, fold: bool, target: str) -> Options:
    family(target)
    times = factor(effort)
    seconds = EXACT * times if seconds is None else seconds
    overlap, reorder, turn, second = (n not in without for n in ("overlap", "reorder", "turn", "second-pass"))
    return Options(
        seconds=seconds,
        effort=times,
        fold=fold,
        target=target,
        overlap=overlap,
        reorder=reorder,
        turn=turn,
        second_pass=second,
    )


def _without(without: Collection[str], max_macs: float | None) -> tuple[str, ...]:
    """The ingredients to leave out, each once."""
    wanted = tuple(dict.fromkeys(without))
    settings(wanted)
    barred = [switch for switch in ("recompute", "tiles") if switch in wanted]
    if barred and max_macs is not None and max_macs > 1:
        hint = f"--max-macs 1, or no --without {barred[0]}"
        raise UsageError(
            f"F = {max_macs:g} is of no use without {barred[0]}: nothing can be computed again",
            code="overhead_of_no_use",
            hint=hint,
        )
    return wanted


def _conversion(
    model: bytes,
    input: str,  # noqa: A002 (the option's name)
    int8_io: bool,
    op_per: str,
    abi: Abi,
    kernels: Kernels,
    options: Options,
    widest: Settings | None,
) -> Conversion:
    if op_per not in ("region", "block"):
        raise UsageError(f"unknown setting: op_per={op_per!r}", code="unknown_setting", hint="region or block")
    options = replace(options, op_per_block=op_per == "block", input=input_mode(input))
    source = read(model)
    accept(source)
    border = to_int8_io(source.graph) if int8_io else Int8Interface(source.graph, Changes(), {}, ())
    understood = pipeline.understand(border.graph, pipeline.left_whole(source))
    return Conversion(source, border, understood, options, abi, widest, _library(kernels, options.target))


def _understood(source: Model) -> Understood:
    return pipeline.understand(source.graph, pipeline.left_whole(source))


def _library(kernels: Kernels, target: str) -> Library:
    return library(kernels, mve=family(target) is Family.MVE)


def fit(optimized: Optimized, names: Collection[str] = (), packed: Optimized | None = None) -> Fits:
    """On which boards (boards.json) a model fits before and after optimize(). `names`: of the boards; none: all.

    packed: the same model for a target; boards whose core runs such programs take it, unless it only fits without.
    A model for another target fits on no board. Raises UsageError for a board that is not known.
    """
    report, original = optimized.report, optimized.inspection.firmware
    each = [(one.report, firmware(one.model)) for one in (packed, optimized) if one]
    rows = []
    for on in [board_named(name) for name in names] or list(boards().values()):
        there = [(r, board_fit(on, r.arena, needs, runs=family(on.target) >= family(r.target))) for r, needs in each]
        rewritten, fitting = next((found for found in there if found[1].fits), there[-1])
        before = board_fit(on, report.original_arena, original)
        rows.append(BoardReport(on, before, fitting, speed.on_board(rewritten, on)))
    return Fits(report.model, report.convention, report.original_arena, report.arena, report.flash, tuple(rows))


def inspect(
    model: GivenModel,
    *,
    name: str = "",
    abi: Abi = "ilp32",
    target: str = GENERIC,
    kernels: Kernels = "reference",
) -> Inspection:
    """What a model consists of, what of it would run row by row, and what it needs under TFLM today.

    kernels: whose scratch and state the arena figures count; with CMSIS-NN they depend on the core, `target`.
    """
    data, name, _ = loaded(model, name)
    source = read(data)
    understood = _understood(source)
    whose = _library(kernels, target)
    return describe.inspection(name, len(data), source, understood, abi, whose, int8_interface=False)
