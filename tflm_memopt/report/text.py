"""Formats answers for the terminal, with a note at each figure of RAM that says what was counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tflm_memopt.analysis.diagnosis import Diagnosis
from tflm_memopt.answers.convention import PLANNED_FOR
from tflm_memopt.answers.report import GroupReport, KeptBuiltin, RollingBufferReport
from tflm_memopt.emit.printing import printable
from tflm_memopt.model.graph import short_name
from tflm_memopt.model.interface import ANY
from tflm_memopt.report import facts, times
from tflm_memopt.report.facts import Fact
from tflm_memopt.report.parts import INDENT, AnswerTable, page, section
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena
from tflm_memopt.tflm.libraries import REFERENCE

if TYPE_CHECKING:  # Importing the classes would slow down the command.
    from tflm_memopt.answers.batch import Batch
    from tflm_memopt.answers.exploration import Exploration
    from tflm_memopt.answers.fits import BoardReport, Fits
    from tflm_memopt.answers.inspection import Inspection, OperatorReport
    from tflm_memopt.answers.report import Report
    from tflm_memopt.runtime.cases import Difference
    from tflm_memopt.runtime.verification import ComparedConstants, Measured, ModuleRuns, Verification

MOST_DIFFERENT = 5
"""Maximum number of differing constants that are listed."""
HOW: Mapping[str, str] = {
    "tflm-wheel": "under the official TFLM interpreter",
    "host-reference": "in this package's reference kernels: no official TFLM wheel exists for this platform",
}
LEFT = (">RAM\nleft", ">flash\nleft")
"""Headings of the table columns that state how much RAM and flash stay free on a board."""


def optimized(report: Report, folder: Path, files: Iterable[str]) -> RenderableType:
    verdict, kept, unchanged = times.verdict(report), report.kept_builtin, report.interface_kept
    style = "green" if verdict == "rewritten" else "yellow"
    title = Text(printable(report.model), "bold").append(f": {printable(verdict)}", style)
    kind = [] if report.diagnosis.what in report.why_unchanged else [_diagnosis(report.diagnosis)]
    interface = [f"{i.side} '{short_name(i.name)}': {i.before} -> {i.after}" for i in report.interface]
    return page(
        Group(title, *kind, _facts(facts.of_report(report))),
        _arenas(report),
        _groups(report.groups) if report.groups else None,
        section("Operators that stay builtin", _stays_builtin(kept)) if kept else None,
        section("The model's interface has changed", lines(interface)) if interface else None,
        section("Inputs and outputs that --int8-io keeps", lines(unchanged)) if unchanged else None,
        section(f"Written to {printable(str(folder))}", lines(files)),
    )


def batch(result: Batch, folder: Path) -> RenderableType:
    counts = f"{result.rewritten} rewritten, {result.unchanged} unchanged, {result.failed} failed"
    title = Text(printable(result.folder), "bold").append(f": {counts}", "red" if result.failed else "green")
    convention = next((m.report.convention for m in result.models if m.report), "")
    table = AnswerTable("model", ">TFLM today", ">rewritten", ">arena", ">flash", ">MACs", "")
    for m in result.models:
        r = m.report
        if r is None:
            table.add_row(printable(m.model), *[""] * 5, Text(f"failed: {m.error.code}" if m.error else "", "red"))
            continue
        before, after, flash = r.original_arena, r.arena, facts.percent(r.flash.original, r.flash.rewritten)
        totals = before.figure(before.total), after.figure(after.total), facts.arena_percent(before, after)
        figures = (*totals, flash, f"{r.overhead:.2f} x")
        remark = times.verdict(r).removeprefix("rewritten").removeprefix(", ")
        table.add_row(printable(m.model), *figures, printable(remark))
    return page(
        Group(title, Text(f"  arenas in B, {convention}", "dim")) if convention else title,
        table,
        Text(f"Written to {printable(str(folder))}") if result.failed < len(result.models) else None,
    )


def exploration(result: Exploration, files: Iterable[str]) -> RenderableType:
    before, written = result.original_arena, list(files)
    title = Text(printable(result.model), "bold").append(f"   {result.convention}", "dim")
    timed = any(p.milliseconds for p in result.points)
    counted = f">instructions,\n{result.core}" if result.cost == "instructions" and not timed else None
    slow_column, ms_column = ">slow" if result.slow else None, ">ms" if timed else None
    left = LEFT if result.board else ()
    table = AnswerTable(">plan", ">F", counted, ">arena, B", slow_column, ">change", "groups", ms_column, *left)
    today = ("original", "1.000", _count(result.original_instructions), before.figure(before.total))
    table.add_row(*today, "", "", "", times.most(result.original_milliseconds))
    for number, p in enumerate(result.points):
        groups = f"{p.groups}" + (f" ({p.tiled} tiled)" if p.tiled else "")
        if n := p.rematerialisations:
            groups += f", {n} rematerialisation{'s' * (n > 1)}"
        slow = f"{p.memories.slow:,}" if p.memories else ""
        figures = (f"{p.overhead:.3f}", f"{p.instructions:,}", p.arena.figure(p.arena.total), slow)
        change, ms = facts.arena_percent(before, p.arena), times.most(p.milliseconds)
        table.add_row(str(number), *figures, change, groups, ms, *left_over(p.left))
    return page(
        Group(title, Text(), table, *([Text(f"  {times.UPPER}", "dim")] if timed else [])),
        None if result.points else Text("No operator can run row by row: inspect says why.", "yellow"),
        section("Written", lines(written)) if written else None,
    )


def left_over(left: Sequence[int] | None) -> tuple[Text, ...]:
    """Return how many bytes a plan leaves free in each memory of a board, with negative numbers in red."""
    return tuple(Text(f"{n:,}", "red" if n < 0 else "") for n in left or ())


def inspection(result: Inspection, files: Iterable[str] = ()) -> RenderableType:
    kept = [
        KeptBuiltin(op.index, op.operator, op.code, op.reason, op.hint) for op in result.operators if not op.supported
    ]
    answer = Group(_diagnosis(result.diagnosis), _facts(facts.of_inspection(result)))
    refused = Padding(Text(printable(result.refused), "red"), (0, 0, 0, INDENT))
    return page(
        Group(Text(printable(result.model), "bold"), *([refused, answer] if result.refused else [answer])),
        _operators(result),
        section("Operators that would stay builtin", _stays_builtin(kept)) if kept else None,
        section("Written", lines(written)) if (written := list(files)) else None,
    )


def fits(result: Fits, shown: Sequence[BoardReport]) -> RenderableType:
    title = Text(printable(result.model), "bold").append(f"   {result.convention}", "dim")
    times_known = [row.time for row in shown if row.time]
    slow = any(row.slow_needed for row in shown)
    slow_column, ms_column = ">slow RAM\nleft" if slow else None, ">ms" if times_known else None
    table = AnswerTable("board", "original", "rewritten", LEFT[0], slow_column, LEFT[1], ms_column)
    table.columns[0].no_wrap = True
    for row in shown:
        fit = row.rewritten
        ram, *rest = left_over((fit.ram_left, fit.slow_left, fit.flash_left))
        most = Text("" if fit.known else "at most ").append(ram)
        before, after = _on(row.original, result.original_refused), _on(fit)
        table.add_row(row.board.id, before, after, most, *rest, times.both(row.time))
    notes = ["left: bytes of the board beside the rewritten model; flash is estimated"]
    notes += times.rest_on(times_known)
    if len(shown) < len(result.boards):
        notes.append(f"the boards closest to its needs; --all shows all {len(result.boards)}")
    others = sum(not row.rewritten.runs for row in result.boards)
    remarks = {"rewritten": f"{others} have another target" if others else "", "original": ""}
    sides = {"rewritten": [row.rewritten for row in result.boards], "original": [row.original for row in result.boards]}
    counts = {side: f"fits on {sum(fit.fits for fit in fits)} of {len(fits)} boards" for side, fits in sides.items()}
    fitting = _facts((side, count, remarks[side]) for side, count in counts.items())
    return page(Group(title, fitting), Group(table, Text("\n".join(f"  {note}" for note in notes), "dim")))


def _on(fit: BoardFit, refused: str = "") -> Text:
    words, summary = ("TFLM refuses it", "no") if refused else facts.fit_on_board(fit)
    if fit.lacking and words == fit.missed:
        words = f"lacks {', '.join(fit.lacking)}"
    return Text(words, {"yes": "green", "partly": "yellow", "no": "red"}[summary])


def verification(result: Verification) -> RenderableType:
    answer = Text(result.answer, "bold green" if result.bit_exact else "bold red")
    inputs = [f"{result.runs:,} random (seed {result.seed})", f"{result.extremes} extreme"]
    if result.every_value:
        inputs.append(f"{result.every_value} in which each input byte takes every value")
    said = [f"inputs: {', '.join(inputs)}, {result.files} given", HOW[result.how]]
    if result.threads != (1,):
        counts = ("one thread" if count == 1 else f"{count} threads" for count in result.threads)
        said.append(f"the rewritten model on {' and on '.join(counts)}")
    if result.planned_for:
        said.append(f"planned for {PLANNED_FOR.get(result.planned_for, result.planned_for)}")
    if result.planned_for not in ("", ANY, REFERENCE.name):
        said.append("TFLM's reference kernels ran it here; run it once with its own kernels on the device")
    if result.steps:
        said.append(f"{result.steps} steps, one after the other")
    if result.guarded:
        said.append(f"the rewritten model's programs also ran {result.guarded} times between canaries")
    said += [f"undefined: {result.undefined}"] if result.undefined else []
    said += wrong(result.failure, result.difference, result.constants)
    if result.module:
        said += _module(result.module)
    return page(
        Group(answer, Padding(lines(said), (0, 0, 0, INDENT))), _measured(result.measured) if result.measured else None
    )


def wrong(failure: str, differs: Difference | None, found: ComparedConstants | None) -> Iterator[str]:
    yield from [failure] if failure else []
    yield from [difference(differs)] if differs else []
    if found is None:
        return
    yield f"weights, biases and scales of {_how_many(found.equal)} equal the original's"
    if found.unknown:
        yield f"without a counterpart in the original: {_how_many(found.unknown)}"
    yield from found.different[:MOST_DIFFERENT]
    if len(found.different) > MOST_DIFFERENT:
        yield f"and {len(found.different) - MOST_DIFFERENT:,} more"


def _how_many(count: int) -> str:
    return "1 operator" if count == 1 else f"{count:,} operators"


def _module(module: ModuleRuns) -> Iterator[str]:
    watched = ", under ASan and UBSan" if module.sanitized else ""
    yield f"the C module {module.source} ran {module.runs} times on this machine{watched}"
    if module.failure:
        yield f"the C module: {module.failure}"
    elif module.selftest:
        yield f"the C module: its self-test returns {module.selftest}"
    for port in module.ports:
        same = "the same bytes" if not port.different else f"{port.different:,} of {port.bytes:,} bytes DIFFER"
        yield f"  output {port.output} '{port.name}': {same}"


def lines(lines: Iterable[str]) -> Text:
    return Text("\n".join(map(printable, lines)))


def _diagnosis(found: Diagnosis) -> Text:
    style = "yellow" if found.advice else "dim"
    return Text(f"  {printable(str(found))}", style, no_wrap=True, overflow="ignore")  # A URL must stay on one line.


def _facts(found: Iterable[Fact]) -> Table:
    table = Table.grid(padding=(0, 3))
    for name, figure, remark in found:
        table.add_row(f"  {name}", Text(figure, "bold"), Text(remark, "dim"))
    return table


def _arenas(report: Report) -> RenderableType:
    # The module `summary` is slow to import, and only `optimize` needs it.
    from tflm_memopt.report import summary  # noqa: PLC0415

    table = AnswerTable("arena, B", ">head", ">tail", ">total")
    for name, arena in (("original", report.original_arena), ("rewritten", report.arena)):
        table.add_row(name, *sizes(arena))
    lines = [f"  head {summary.head(report)}"]
    if report.arena_size is not None:
        lines.append(f"  to declare: {report.arena_size:,} B, enough for every build of TFLM")
    if report.cut_short:
        lines.append(f"  cut short: {', '.join(report.cut_short)}; --effort high searches longer")
    return Group(table, *(Text(line, "dim") for line in lines))


def sizes(arena: Arena) -> tuple[str, str, str]:
    return arena.figure(arena.head), arena.figure(arena.tail), arena.figure(arena.total)


def _groups(groups: Sequence[GroupReport]) -> Table:
    table = AnswerTable("group", "operators", ">bytes", "keeps")
    for number, group in enumerate(groups):
        table.add_row(str(number), _span(group), f"{group.bytes:,}", _keeps(group))
    return table


def _span(group: GroupReport) -> str:
    names = [printable(name) for name in group.operators]
    chain = " .. ".join(names if len(names) < 3 else (names[0], names[-1]))
    again = [i for stage in group.stages if stage.rematerialised for i in stage.ops]
    return f"{_indices(group.ops)} {chain}" + (f", rematerialisation of {_indices(again)}" if again else "")


def _keeps(group: GroupReport) -> str:
    sums = [f"{group.accumulators:,} B of sums"] if group.accumulators else []
    stripes = [f"in {group.stripes} stripes"] if group.stripes else []
    return ", ".join([*_rolling_buffers(group.rolling_buffers), *sums, *stripes]) or "whole tensors only"


def _rolling_buffers(rolling_buffers: Sequence[RollingBufferReport]) -> list[str]:
    """Describe a group's rolling buffers: their number, depths and bytes.

    >>> _rolling_buffers((RollingBufferReport("a", 48, 3, 300), RollingBufferReport("b", 48, 5, 500)))
    ['2 rolling buffers of 3-5 rows (800 B)']
    >>> _rolling_buffers((RollingBufferReport("a", 48, 0, 300),))
    ['1 window (300 B)']
    """
    kept = []
    if windows := [rolling_buffer.bytes for rolling_buffer in rolling_buffers if not rolling_buffer.depth]:
        kept.append(f"{len(windows)} window{'s' * (len(windows) > 1)} ({sum(windows):,} B)")
    if deep := [rolling_buffer for rolling_buffer in rolling_buffers if rolling_buffer.depth]:
        depths = sorted(rolling_buffer.depth for rolling_buffer in deep)
        rows = str(depths[0]) if depths[0] == depths[-1] else f"{depths[0]}-{depths[-1]}"
        size = sum(rolling_buffer.bytes for rolling_buffer in deep)
        kept.append(
            f"{len(deep)} rolling buffer{'s' * (len(deep) > 1)} of {rows} row{'s' * (rows != '1')} ({size:,} B)"
        )
    return kept


def _stays_builtin(kept: Sequence[KeptBuiltin]) -> Table:
    table = AnswerTable("operator", "reason", "try", "which")
    groups: dict[tuple[str, str], list[KeptBuiltin]] = {}
    for k in kept:
        groups.setdefault((k.operator, k.code), []).append(k)
    for (operator, _), alike in groups.items():
        reason, hint = printable(alike[0].reason), printable(alike[0].hint)
        table.add_row(printable(operator), reason, hint, _indices([k.index for k in alike]))
    return table


def _indices(indices: Sequence[int]) -> str:
    """Return indices as text, with consecutive indices as first..last.

    >>> _indices([0, 1, 2, 5])
    '0..2, 5'
    """
    runs: list[tuple[int, int]] = []
    for i in sorted(indices):
        if runs and i <= runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], i)
        else:
            runs.append((i, i))
    return ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in runs)


def _operators(result: Inspection) -> Table:
    dead = ">dead" if result.dead_channels else None
    table = AnswerTable(">#", "operator", "output", dead, ">MACs", ">alive, B", "row by row")
    for op in result.operators:
        peak = op.index == result.peak_operator
        table.add_row(
            str(op.index), printable(op.operator), _shapes(result, op), _count(op.dead_channels),
            _count(op.macs), f"{op.live_bytes:,}" + (" peak" if peak else ""),
            "yes" if op.supported else f"no: {printable(op.code)}",
            style="bold" if peak else "",
        )  # fmt: skip
    return table


def _count(number: int | None) -> str:
    return f"{number:,}" if number else ""


def _shapes(result: Inspection, op: OperatorReport) -> str:
    return ", ".join(
        f"{'x'.join(map(str, t.shape))} {t.dtype.lower()}" for t in (result.tensors[i] for i in op.outputs)
    )


def _measured(measured: Measured) -> RenderableType:
    recording = ", recording interpreter" if measured.recording else ""
    table = AnswerTable(f"measured, B ({measured.abi}{recording})", ">head", ">tail", ">total")
    for name, arena in (("original", measured.original), ("rewritten", measured.rewritten)):
        table.add_row(name, f"{arena.head:,}", f"{arena.tail:,}", f"{arena.total:,}")
    return table


def difference(d: Difference) -> str:
    where = (
        f"run {d.run} ({printable(d.label)}), output {d.output} '{printable(short_name(d.name))}' at {list(d.index)}"
    )
    apart = "" if d.ulps is None else f", by up to {d.ulps:,} ulp"
    return (
        f"{where}: original {d.original}, rewritten {d.rewritten}; {d.elements:,} elements of this output differ{apart}"
    )
