"""Formats the results for an application, for the terminal and as an HTML page."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from tflm_memopt.answers.convention import convention
from tflm_memopt.apps.results import AppExploration, AppOptimized, CoreLoad
from tflm_memopt.emit.printing import printable
from tflm_memopt.model.graph import short_name
from tflm_memopt.report import figures, svg, text
from tflm_memopt.report.drawing import Drawing
from tflm_memopt.report.figures import Series
from tflm_memopt.report.parts import AnswerTable, section
from tflm_memopt.report.parts import page as joined
from tflm_memopt.runtime.verification import Verification

PAGE_WIDTH = 1100


def optimized(result: AppOptimized, folder: Path, files: Iterable[str]) -> RenderableType:
    report = result.report
    title = Text(printable(report.app), "bold").append(f"   {_convention(result)}", "dim")
    table = AnswerTable("model", ">TFLM today", ">head", ">tail", ">alone", ">MACs")
    for name, done in result.models.items():
        before, after = done.report.original_arena, done.report.arena
        sizes = (before.figure(before.total), *text.sizes(after))
        table.add_row(printable(name), *sizes, f"{done.report.overhead:.2f} x")
    facts = [f"  {name:34} {nbytes:>12,} B" for name, nbytes in _facts(result)]
    runs = [f"  at the same time: {', '.join(group)}" for group in report.concurrent] or ["  all models in turn"]
    pausing = [
        f"  {printable(one.model)}: {len(one.pauses)} pauses, {one.milliseconds:g} ms apart at the most, for "
        f"{', '.join(map(printable, one.runs))}"
        for one in report.pausing
    ] + [f"  every {ms:g} ms: {nbytes:,} B" for ms, nbytes in report.curve]
    reserved = [
        f"  {printable(x.model)}: bytes {x.first:,} to {x.end:,}, '{printable(short_name(x.tensor))}', {x.why}"
        for x in report.reserved
    ]
    return joined(
        Group(title, Text("\n".join(runs), "dim")),
        table,
        Text("\n".join(facts)),
        section("Times", Text("\n".join(_times(report.times)))) if report.times else None,
        section("Cores", Text("\n".join(_cores(report.cores)))) if report.cores else None,
        section("Pauses", Text("\n".join(pausing))) if pausing else None,
        section("Reserved while others run", Text("\n".join(reserved))) if reserved else None,
        section(f"Written to {printable(str(folder))}", Text("\n".join(map(printable, files)))),
    )


def exploration(result: AppExploration, files: Sequence[str]) -> RenderableType:
    rated = any(point.busy is not None for point in result.points)
    load = f">instructions, {result.core}", ">of the core" if rated else None
    table = AnswerTable("choice", *(f">{printable(name)}" for name in result.models), *load, ">head", ">tail", ">total")
    for number, point in enumerate(result.points):
        load = f"{point.instructions:,}", _percent(point.busy or ())
        sizes = (f"{nbytes:,}" for nbytes in (point.head, point.tail, point.arena))
        table.add_row(str(number), *(str(point.points[name]) for name in result.models), *load, *sizes)
    each = [f"  {name}: {len(points)} point{'s' * (len(points) > 1)}" for name, points in result.models.items()]
    how = "proved: no choice of these points is better" if result.proven else "not proved: the search was cut short"
    return joined(
        Group(
            Text(printable(result.app), "bold").append(f"   {result.convention}", "dim"),
            Text("\n".join(map(printable, each)), "dim"),
            Text(f"  TFLM today, an arena for each: {result.apart:,} B; {how}", "dim"),
        ),
        table,
        section("Times", Text("\n".join(_times(result.times)))) if result.times else None,
        section("Written", Text("\n".join(map(printable, files)))) if files else None,
    )


def frontier(result: AppExploration) -> Drawing:
    line = Series("tflm-memopt", [(point.arena, point.instructions / 1e6) for point in result.points])
    compute = f"million instructions of all models, {result.core}, estimated"
    return figures.plot([line], title=result.app, ram=f"arena ({result.convention})", compute=compute)


def verified(models: Mapping[str, Verification]) -> RenderableType:
    parts = [Group(Text(printable(name), "bold"), text.verification(one)) for name, one in models.items()]
    return Group(*parts, Text("All plans were replayed: in no order of runs does a model overwrite another's data."))


def _times(times: Mapping[str, str]) -> list[str]:
    return [f"  {printable(name)}: {basis}" for name, basis in times.items()]


def _cores(cores: Sequence[CoreLoad]) -> list[str]:
    return [
        f"  core {number}: {_percent([one.busy])} of its time, {', '.join(map(printable, one.models)) or 'no model'}"
        for number, one in enumerate(cores)
    ]


def _percent(busy: Iterable[float]) -> str:
    return ", ".join(f"{100 * load:.1f} %" for load in busy)


def _facts(result: AppOptimized) -> list[tuple[str, int]]:
    r = result.report
    declared = [("AllocateTensors() needs", r.arena.min)] if r.interpreter else []
    if r.arena_size is not None:
        declared.append(("to declare, for every build of TFLM", r.arena_size))
    return [
        ("TFLM today, an arena for each", r.apart),
        ("TFLM today, one allocator, in turn", r.shared),
        ("rewritten, an arena for each", r.alone),
        ("rewritten, one arena", r.arena.total),
        ("of it head", r.arena.head),
        *declared,
        *([("slow memory, shared", r.slow)] if r.slow else []),
    ]


def _convention(result: AppOptimized) -> str:
    inputs = (done.report.input for done in result.models.values())
    return convention(result.report.arena, *inputs) + ("" if result.report.interpreter else " -> C modules")


def page(result: AppOptimized) -> str:
    drawing = figures.memory_map(result.memory, PAGE_WIDTH, height=420)
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{done.report.original_arena.total:,}</td><td>{done.report.arena.head:,}</td>"
        f"<td>{done.report.arena.tail:,}</td><td>{done.report.overhead:.2f} x</td></tr>"
        for name, done in result.models.items()
    )
    facts = "".join(f"<tr><td>{escape(name)}</td><td>{nbytes:,} B</td></tr>" for name, nbytes in _facts(result))
    return f"""\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(result.report.app)}: one arena</title>
<style>{svg.style_sheet()}
body{{font-family:{svg.FONT};max-width:1140px;margin:2em auto;padding:0 1em;background:var(--paper);color:var(--ink)}}
td,th{{text-align:right;padding:.15em .8em}}td:first-child,th:first-child{{text-align:left}}</style></head>
<body><svg width="0" height="0"><defs>{svg.HATCH}</defs></svg>
<h1>{escape(result.report.app)}</h1><p>{escape(_convention(result))}</p>
<table>{facts}</table>
<table><tr><th>model</th><th>TFLM today, B</th><th>head</th><th>tail</th><th>MACs</th></tr>{rows}</table>
{svg.inline(drawing)}
</body></html>
"""
