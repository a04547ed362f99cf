"""Selects the main figures of a result, such as RAM and time, for the terminal and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from tflm_memopt.analysis.timing import Time
from tflm_memopt.answers.convention import PLANNED_FOR
from tflm_memopt.report import times
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena

if TYPE_CHECKING:  # Importing the classes would slow down every command.
    from tflm_memopt.answers.inspection import Inspection
    from tflm_memopt.answers.report import Accuracy, Balance, MemoriesReport, Report, WindowReport

Fact: TypeAlias = tuple[str, str, str]
"""Name, value and remark of a figure in a report."""


def of_report(report: Report) -> list[Fact]:
    flash, macs = report.flash, report.macs
    work = (
        f"{macs.original:,} -> {macs.rewritten:,}" if macs.rewritten != macs.original else "nothing is computed twice"
    )
    twice = sum(stage.rematerialised for group in report.groups for stage in group.stages)
    work += f", {twice} operators run twice" if twice else ""
    dead = report.dead_channels
    work += f", {dead:,} dead channel{'s' * (dead > 1)} folded away" if dead else ""
    size = f"{flash.original:,} B -> {flash.rewritten:,} B ({percent(flash.original, flash.rewritten)})"
    before, after = report.original_arena, report.arena
    less = f" ({arena_percent(before, after)})" if before.exact else ""
    return [
        ("arena", f"{before.figure(before.total)} B -> {after.figure(after.total)} B{less}", report.conventions),
        *([_slow_memory(report.memories, report.time)] if report.memories and report.memories.slow else []),
        *([_copies(report.memories)] if report.memories and report.memories.weights_copied else []),
        ("flash", size, ".tflite file"),
        ("MACs", f"{report.overhead:.2f} x", work),
        *([("original", "does not run", report.original_refused)] if report.original_refused else []),
        *([("planned for", report.planned_for, PLANNED_FOR[report.planned_for])] if report.planned_for else []),
        *([("in parts", ", ".join(map(str, report.in_parts)), "")] if report.in_parts else []),
        *([("to register", ", ".join(report.to_register), "in firmware")] if report.to_register else []),
        *([_window(report.window, report.overhead)] if report.window else []),
        *times.rows(report),
        *([("cores", "any", packed)] if (packed := times.packed(report)) else []),
        *([_accuracy(report.accuracy)] if report.accuracy else []),
        *([_cores(report)] if report.cores else []),
        *([_board(report.board)] if report.board else []),
        *([_balance(report.balance)] if report.balance and not report.balance.worthwhile else []),
        *([("smaller", f"{report.in_arena:,} B", _smaller(report))] if report.in_arena else []),
    ]


def of_inspection(result: Inspection) -> list[Fact]:
    arena = result.arena
    head, tail, least = map(arena.figure, (arena.head, arena.tail, arena.min))
    running = sum(op.supported for op in result.operators)
    dead = "cannot influence any output: folded away"
    waiting = "must stay until a reduction over them ends; --max-macs above 1 may compute them twice"
    return [
        ("arena", f"{arena.figure(arena.total)} B", result.convention),
        ("", f"head {head} B, tail {tail} B", f"AllocateTensors() needs {least} B"),
        *([("variables", *_variables(arena))] if arena.variables else []),
        ("flash", f"{result.flash:,} B", ".tflite file"),
        ("MACs", f"{result.macs:,}", "of the operators that run row by row"),
        ("dead", f"{result.dead_channels:,} of {result.channels:,} channels, {result.dead_macs:,} MACs", dead),
        *([("waiting", f"{result.waiting} tensor{'s' * (result.waiting > 1)}", waiting)] if result.waiting else []),
        ("operators", f"{running} of {len(result.operators)} run row by row", ""),
    ]


def percent(before: int, after: int) -> str:
    """Return a relative change in percent.

    >>> percent(200, 50), percent(0, 9)
    ('-75 %', 'new')
    """
    return f"{100 * (after - before) / before:+.0f} %" if before else "new"


def arena_percent(before: Arena, after: Arena) -> str:
    return percent(before.total, after.total) if before.exact else ""


def fit_on_board(fit: BoardFit) -> tuple[str, Literal["yes", "partly", "no"]]:
    """Return a few words that say whether a model fits on a board, and the summary yes, partly or no."""
    if fit.only_external:
        return "only in external RAM", "partly"
    if not fit.fits:
        return fit.missed, "partly" if fit.undecided else "no"
    return ("fits", "yes") if fit.fits_with_radio else ("without radio", "partly")


def _copies(memories: MemoriesReport) -> Fact:
    return ("copied", f"{memories.weights_copied:,} B", f"weights; {memories.weights_read:,} B are read in flash")


def _slow_memory(memories: MemoriesReport, time: Time | None) -> Fact:
    moved = f"reads {memories.slow_read:,} B and writes {memories.slow_written:,} B per inference"
    moved += f", and {memories.weights_read:,} B of weights"
    if time and time.mhz and not (time.rewritten and time.rewritten.milliseconds):
        moved += "; the time of these bytes is unknown"
    return ("slow memory", f"{memories.slow:,} B", moved)


def _cores(report: Report) -> Fact:
    shares = " + ".join(f"{core.share:.1%}" for core in report.cores)
    met = f"; {report.barriers.count:,} barriers" if report.barriers else ""
    stack = f"; core 1's stack takes {report.cores[1].stack:,} B"
    alone = "; the time above is for one core" if report.time and report.time.mhz else ""
    return ("two cores", shares, f"of one core's instructions, estimated{alone}{met}{stack}")


def _board(left: BoardFit) -> Fact:
    flash = left.flash
    tflm = f" and TFLM {flash.tflm:,} B" if flash.tflm else ""
    counted = f"flash: model {flash.model:,} B, library {flash.library:,} B{tflm}, estimated"
    return (left.board, f"{left.ram_left:,} B of RAM left, {left.flash_left:,} B of flash", counted)


def _balance(b: Balance) -> Fact:
    gone = f"; TFLM's kernels that may leave: {b.tflm:,} B" if b.tflm > 0 else ""
    gone += f", kernels {-b.tflm:,} B" if b.tflm < 0 else ""
    counted = f"file {b.model:+,} B, library {b.library:,} B on {b.core}, estimated{gone}"
    return ("balance", f"{-b.ram_saved:+,} B of RAM, {b.flash_added:+,} B of flash", counted)


def _window(window: WindowReport, overhead: float) -> Fact:
    told = "no layer slides: each step computes the whole window" if overhead >= 1 else "MACs are those of one step"
    return ("window", f"{window.new:,} of {window.rows:,} rows", f"{told}; {window.inferences:,} steps fill it")


def _smaller(report: Report) -> str:
    less = report.arena.total - (report.in_arena or 0)
    moved = "a window that slides" if report.window else "the streamed input"
    return f"with --input arena: {less:,} B less than with {moved}"


def _accuracy(right: Accuracy) -> Fact:
    on = f"float to int8, on {right.examples:,} examples; int8 before optimizing: {right.int8:.1%}"
    return ("accuracy", f"{right.keras:.1%} -> {right.rewritten:.1%}", on)


def _variables(arena: Arena) -> tuple[str, str]:
    count = f"{arena.variables} resource variable{'s' * (arena.variables > 1)}"
    return f"{arena.variable_bytes:,} B", f"of the tail: MicroResourceVariables for {count}, and their values"
