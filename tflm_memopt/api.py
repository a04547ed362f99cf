"""The package's functions: optimize(), explore(), inspect(), verify()."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import tflm_memopt.convert.saved
import tflm_memopt.report.notebook  # noqa: F401 (both register with generic.py)
from tflm_memopt.convert import describe, pipeline, speed
from tflm_memopt.convert import instructions as by_instructions
from tflm_memopt.convert.conversion import Conversion, Limits
from tflm_memopt.convert.instructions import Costed
from tflm_memopt.convert.policy import decide
from tflm_memopt.convert.request import Request, request, whose_kernels
from tflm_memopt.emit.firmware import firmware
from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.files import GivenModel, loaded
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.ops.packings import family
from tflm_memopt.plan import waiting
from tflm_memopt.plan.effort import NORMAL
from tflm_memopt.plan.waiting import Progress
from tflm_memopt.results import BoardReport, Exploration, Fits, Inspection, Optimized, Report
from tflm_memopt.runtime.verify import Verification, verify
from tflm_memopt.targets.boards import board as board_named
from tflm_memopt.targets.boards import boards
from tflm_memopt.targets.boards import fit as board_fit
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.libraries import Kernels
from tflm_memopt.tflm.structs import Abi

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


def nothing(what: str, done: int, of: int) -> None:
    """Nobody wants to know."""


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
    asked = request(
        input=input, int8_io=int8_io, op_per=op_per, abi=abi, fold=fold, effort=effort, seconds=seconds,
        max_macs=max_macs, ram_limit=ram_limit, max_instructions=max_instructions, time_limit=time_limit, clock=clock,
        core=core, board=board, without=without, target=target, kernels=kernels, plan=plan,
        if_worthwhile=if_worthwhile,
    )  # fmt: skip
    conversion = asked.conversion(data)
    progress("searching blocks", 0, 0)
    if not frontier:
        _tell_left(progress, conversion, asked.limits, started)
    original = describe.inspection(
        name, len(data), conversion.source, conversion.original, asked.abi, asked.library, int8_interface=int8_io
    )
    made = decide(asked, conversion, original, partial(progress, "planning points"))
    done = describe.optimized(data, asked, made, original, started)
    explored = _explored(data, name, asked.exploring(), "macs", progress) if frontier else None
    return replace(done, source=path, frontier=explored)


def _tell_left(progress: Progress, conversion: Conversion, limits: Limits, started: float) -> None:
    """Only where nothing is computed twice: how often other conversions search depends on what they find."""
    once = limits.overhead is None or limits.overhead <= 1
    if once and limits == Limits(limits.overhead):
        searches = 2 if limits == Limits() and conversion.is_packed else 1
        operators = len(conversion.source.graph.ops)
        waiting.tell(progress, conversion.log, operators, conversion.options.seconds, searches, started)


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
    data, name, _ = loaded(model, name)
    asked = request(
        input=input, int8_io=int8_io, op_per=op_per, abi=abi, fold=fold, effort=effort, core=core, board=board,
        without=without, target=target, kernels=kernels,
    )  # fmt: skip
    return _explored(data, name, asked.exploring(), cost, progress)


def _explored(model: bytes, name: str, asked: Request, cost: str, progress: Progress) -> Exploration:
    started = time.monotonic()
    conversion, on_board = asked.conversion(model), asked.limits.board
    timer = speed.of_points(conversion, asked.clock, asked.table)
    points: list[Costed] = []
    planning = partial(progress, "planning points")
    if conversion.partition and cost == "instructions":
        points = by_instructions.frontier(conversion, asked.table, planning)
    elif conversion.partition:
        points = by_instructions.by_macs(conversion, asked.table, planning)
    return Exploration(
        model=name,
        input=str(conversion.options.input),
        op_per=asked.op_per,
        target=conversion.options.target,
        cost=cost,
        core=asked.table.core,
        without=asked.without,
        original_macs=conversion.understood.macs,
        original_arena=predict(conversion.source, asked.abi, library=conversion.library),
        board=on_board.id if on_board else None,
        points=tuple(describe.point(conversion, point, on_board, timer) for point in points),
        seconds=round(time.monotonic() - started, 3),
    )


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
    understood = pipeline.understand(source.graph, pipeline.left_whole(source))
    return describe.inspection(name, len(data), source, understood, abi, whose_kernels(kernels, target))
