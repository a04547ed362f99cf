"""Write one page with all results about a model and its rewrite, self-contained and readable on a phone and in print.

Nothing is computed here that is not in the results. The page is page.html, a jinja2 template.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import tflm_memopt
from tflm_memopt.model.graph import short_name
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.report import figures, summary, svg, times
from tflm_memopt.report.drawing import Drawing
from tflm_memopt.report.figures import Mark
from tflm_memopt.report.summary import Card
from tflm_memopt.results import Inspection, MemoriesReport, Optimized, Report, StageReport
from tflm_memopt.targets.boards import BoardFit, boards

WIDTHS = {"wide": 1080, "narrow": 352}
"""Widths of a figure in pixels, on a large and a small screen. The style sheet shows the one that fits."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table. `bar`: its share of the largest value, 0 to 1. `mark`: a class for the style sheet."""

    text: str
    bar: float | None = None
    mark: str = ""
    whole: str = ""
    """The full text, which is shown when the reader points at the cell, if `text` is a short form of it."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    number: bool = False
    long: bool = False
    """Whether it contains names of tensors, which may be very long."""


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of the page. `key`: name of the CSV file that it can be saved as."""

    key: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def optimized(result: Optimized, model: Path | None = None, folder: Path = Path()) -> str:
    """Return the page of `optimize`. model: file of the original. folder: folder of the rewritten model's files."""
    report, original = result.report, result.inspection
    after = result.memory if report.changed else None
    total, limit = report.arena.total, report.original_arena.total
    said = report.arena.figure(total)
    data: dict[str, Any] = {"report": report.to_json(), "inspection": original.to_json()}
    data |= {"memory": {"original": original.memory.to_json(), "rewritten": result.memory.to_json()}}
    if result.plan:
        data["plan"] = result.plan.to_json()
    marks = [Mark(total, f"rewritten: {said} B", "limit")] if after else []
    return _page(
        original,
        report=report,
        data=data,
        convention=report.convention,
        verdict=times.verdict(report),
        cards=summary.cards(report, original.channels),
        steps=summary.steps(report, model or Path(report.model), folder),
        head=summary.head(report) if report.changed else "",
        left=report.board,
        balance=_balance_table(report),
        new_boards=_new_boards(original.fits, result.fits),
        arena=_arena_table(report),
        flash=_flash_table(report),
        memories=_memories_table(report.memories),
        boards=_boards(original.fits, result.fits),
        fitting=(len(report.original_boards), len(report.boards), len(result.fits)),
        before=_both(lambda w: figures.memory_map(original.memory, w, height=_height(w), marks=marks)),
        after=_both(lambda w: figures.memory_map(after, w, height=_height(w), marks=_bound(after))) if after else None,
        same=_both(lambda w: figures.memory_map(after, w, height=_height(w), full=limit)) if after else None,
        live=_both(lambda w: figures.live_bytes(original.memory, after, w)),
        buffers=[t for m in (original.memory, after) if m for t in (_buffers(m),)],
        groups=[_group(number, report) for number in range(len(report.groups))],
        kept=_kept((k.index, k.operator, k.reason, k.hint) for k in report.kept_builtin),
        interface=[f"{i.side} '{short_name(i.name)}': {i.before} becomes {i.after}" for i in report.interface],
        interface_kept=report.interface_kept,
        settings=_settings(report),
    )


def inspection(result: Inspection) -> str:
    """Return the page of `inspect`."""
    refused = ((op.index, op.operator, op.reason, op.hint) for op in result.operators if not op.supported)
    return _page(
        result,
        report=None,
        data={"inspection": result.to_json(), "memory": {"original": result.memory.to_json()}},
        convention=result.convention,
        verdict="as it is",
        cards=_plain_cards(result),
        steps=[],
        head="",
        left=None,
        balance=None,
        new_boards=[],
        arena=None,
        flash=None,
        memories=None,
        boards=_boards(result.fits, None),
        fitting=(sum(b.fits for b in result.fits), None, len(result.fits)),
        before=_both(lambda w: figures.memory_map(result.memory, w, height=_height(w), marks=_bound(result.memory))),
        after=None,
        same=None,
        live=_both(lambda w: figures.live_bytes(result.memory, None, w)),
        buffers=[_buffers(result.memory)],
        groups=[],
        kept=_kept(refused),
        interface=[],
        interface_kept=[],
        settings=[],
    )  # fmt: skip


def _page(original: Inspection, **context: Any) -> str:
    page: str = _template().render(
        model=original.model,
        version=tflm_memopt.__version__,
        styles=Markup(svg.style_sheet()),
        hatch=Markup(svg.HATCH),
        operators=_operators(original, context["report"]),
        tensors=_tensors(original),
        **context | {"data": _embedded(context["data"])},
    )
    return page


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8"))


def _embedded(data: Mapping[str, Any]) -> Markup:
    """Return JSON for a script element, escaped so that no text can end the element."""
    text = json.dumps(data, separators=(",", ":"), default=str)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _both(draw: Callable[[float], Drawing]) -> Mapping[str, Markup]:
    return {name: Markup(svg.inline(draw(width))) for name, width in WIDTHS.items()}


def _height(width: float) -> float:
    return 340 if width > figures.WIDE else 300


def _bound(memory: MemoryMap | None) -> list[Mark]:
    return [Mark(memory.bound, f"least possible head: {memory.bound:,} B")] if memory else []


# --- Parts of the page


def _plain_cards(result: Inspection) -> list[Card]:
    """Return the cards of a model without a rewrite."""
    arena = result.arena
    head, tail, least = map(arena.figure, (arena.head, arena.tail, arena.min))
    parts = f"head {head} B, tail {tail} B, smallest arena {least} B"
    dead = f"{result.dead_macs:,} of them in {result.dead_channels:,} dead channels"
    compute = f"{dead} of {result.channels:,}, which cannot influence any output"
    return [
        Card("RAM", "", f"{arena.figure(arena.total)} B", "", parts),
        Card("Flash", "", f"{result.flash:,} B", "", ".tflite file"),
        Card("Compute", "", f"{result.macs:,} MACs", "", compute),
    ]


def _arena_table(report: Report) -> PageTable:
    """Return the table of both arenas, part by part."""
    parts = ("head", "tail", "total", "min")
    rows = []
    for name, arena in (("original", report.original_arena), ("rewritten", report.arena)):
        rows.append((Cell(name), *(Cell(arena.figure(getattr(arena, part))) for part in parts)))
    columns = ("arena, B", "head", "tail", "total", "smallest")
    return PageTable("arena", tuple(Column(c, number=i > 0) for i, c in enumerate(columns)), tuple(rows))


def _flash_table(report: Report) -> PageTable | None:
    """Return the table of the flash for inference, part by part."""
    if report.footprint is None:
        return None
    both = (("original", report.footprint.original), ("rewritten", report.footprint.rewritten))
    rows = tuple(
        (Cell(name), *(Cell(f"{n:,}") for n in (flash.model, flash.library, flash.tflm, flash.total)))
        for name, flash in both
    )
    columns = ("flash, B", "model", "library", "TFLM", "total")
    return PageTable("flash", tuple(Column(c, number=i > 0) for i, c in enumerate(columns)), rows)


def _memories_table(memories: MemoriesReport | None) -> PageTable | None:
    """Return the table of what an inference reads and writes in each memory."""
    if memories is None:
        return None
    rows = (
        ("fast memory", memories.fast, "the arena"),
        ("slow memory", memories.slow, "whole tensors"),
        ("read in slow memory", memories.slow_read, "per inference"),
        ("written in slow memory", memories.slow_written, "per inference"),
        ("weights read", memories.weights_read, "per inference: weights, biases and scales, once per iteration"),
    )
    cells = tuple((Cell(what), Cell(f"{n:,}"), Cell(remark)) for what, n, remark in rows)
    return PageTable("memories", (Column("memories"), Column("bytes", number=True), Column("")), cells)


def _balance_table(report: Report) -> PageTable | None:
    """Return the table of RAM saved and flash added by the rewrite."""
    if (b := report.balance) is None:
        return None
    kept = "kept" if report.changed else "" if b.worthwhile else "not kept: it saves less RAM than it adds to flash"
    rows = (
        ("RAM saved", b.ram_saved, kept),
        ("flash added", b.flash_added, "file and library"),
        ("growth of the file", b.model, "exact"),
        ("C library", b.library, f"on {b.core}, estimated"),
        ("TFLM's kernels no longer needed", b.tflm, "estimated; they stay if another model needs them")
        if b.tflm >= 0
        else ("TFLM's kernels that are new", -b.tflm, "estimated, part of the flash added"),
    )
    cells = tuple((Cell(what), Cell(f"{n:,}"), Cell(remark)) for what, n, remark in rows)
    return PageTable("balance", (Column("B"), Column("bytes", number=True), Column("")), cells)


def _new_boards(before: Sequence[BoardFit], after: Sequence[BoardFit]) -> list[str]:
    """Return the names of boards on which only the rewritten model fits."""
    return [now.name for was, now in zip(before, after, strict=True) if now.fits and not was.fits]


def _boards(before: Sequence[BoardFit], after: Sequence[BoardFit] | None) -> PageTable:
    columns = [Column("board"), Column("RAM, B", True), Column("flash, B", True), Column("original")]
    columns += [Column("rewritten"), Column("RAM left, B", True)] if after else [Column("RAM left, B", True)]
    rows = []
    for i, fit in enumerate(before):
        board, last = boards()[fit.board], (after or before)[i]
        row = [Cell(f"{fit.name} ({board.chip})"), Cell(f"{board.ram:,}"), Cell(f"{board.flash:,}"), _fits(fit)]
        rows.append((*row, *([_fits(after[i])] if after else []), Cell(last.ram_said)))
    return PageTable("boards", tuple(columns), tuple(rows))


def _named(tensor: str) -> Cell:
    """Return the cell of a tensor's name."""
    return Cell(short_name(tensor), whole=tensor)


def _fits(fit: BoardFit) -> Cell:
    if fit.only_external:
        return Cell("✗ only in external RAM", mark="partly")
    if not fit.fits:
        return Cell("? not known", mark="partly") if fit.undecided else Cell(f"✗ {fit.missed}", mark="no")
    return Cell("✓ fits", mark="yes") if fit.fits_with_radio else Cell("✓ without radio", mark="partly")


def _buffers(memory: MemoryMap) -> tuple[str, PageTable]:
    columns = (
        Column("tensor", long=True), Column("kind"), Column("written by"), Column("bytes", True),
        Column("address", True), Column("of it"),
    )  # fmt: skip
    rows = tuple(
        (
            _named(b.name),
            Cell(b.role.replace("_", " ")),
            Cell(b.maker),
            Cell(f"{b.nbytes:,}"),
            Cell(f"{b.offset:,}"),
            Cell(b.kept),
        )
        for b in sorted(memory.buffers, key=lambda b: (b.first, b.offset))
    )
    return memory.title, PageTable(f"buffers {memory.title.lower()}", columns, rows)


def _group(number: int, report: Report) -> Mapping[str, Any]:
    group = report.groups[number]
    columns = (
        Column("op", True), Column("operator"), Column("output", long=True), Column("kept, B", True),
        Column("of, B", True), Column("how", long=True),
    )  # fmt: skip
    rows = tuple(
        (
            Cell(", ".join(map(str, s.ops))),
            Cell(s.operator),
            _named(s.tensor),
            Cell(f"{s.kept:,}", bar=s.kept / s.whole if s.whole else 0),
            Cell(f"{s.whole:,}"),
            Cell(how := _how(s, tiled=group.stripes > 0), whole=how),
        )
        for s in group.stages
    )
    rolling_buffers = PageTable(
        f"rolling buffers of group {number}",
        (Column("tensor", long=True), Column("rows kept", True), Column("rows", True), Column("bytes", True)),
        tuple(
            (_named(r.tensor), Cell(f"{r.depth:,}" if r.depth else "pixels"), Cell(f"{r.rows:,}"), Cell(f"{r.bytes:,}"))
            for r in group.rolling_buffers
        ),
    )
    facts = [
        f"{group.bytes:,} B at its worst moment",
        f"in {group.stripes:,} stripes" if group.stripes else "row by row",
    ]
    if group.accumulators:
        facts.append(f"{group.accumulators:,} B of int32 sums")
    return {
        "number": number,
        "ops": f"{min(group.ops)}" + (f" to {max(group.ops)}" if len(group.ops) > 1 else ""),
        "facts": ", ".join(facts),
        "stages": PageTable(f"group {number}", columns, rows),
        "rolling_buffers": rolling_buffers,
    }


def _how(stage: StageReport, *, tiled: bool) -> str:
    """Describe one operator of a group."""
    words = []
    if tiled:
        words.append(f"{stage.stripe} row{'s' * (stage.stripe != 1)} a stripe")
        words.append(f"{stage.tile} column{'s' * (stage.tile != 1)} at a time" if stage.tile else "whole rows")
    else:
        words.append("row by row")
    if stage.again or stage.cached:
        words.append("overlap computed again" if stage.again else "overlap cached")
    if stage.channel_groups > 1:
        words.append(f"{stage.channel_groups} channel groups")
    if stage.sums:
        words.append("int32 sums")
    if stage.rematerialised:
        words.append("rematerialisation")
    return ", ".join(words)


def _operators(original: Inspection, report: Report | None) -> PageTable:
    where = {i: n for n, group in enumerate(report.groups if report else ()) for i in group.ops}
    dead = original.dead_channels > 0
    columns = [Column("op", True), Column("operator"), Column("output"), Column("MACs", True), Column("alive, B", True)]
    columns += [Column("channels", True), Column("dead", True)] if dead else []
    columns.append(Column("group", True) if report else Column("row by row"))
    most = max((op.live_bytes for op in original.operators), default=1) or 1
    rows = []
    for op in original.operators:
        outputs = (original.tensors[i] for i in op.outputs)
        shape = ", ".join(f"{'×'.join(map(str, t.shape))} {t.dtype.lower()}" for t in outputs)
        peak = "peak" if op.index == original.peak_operator else ""
        row = [Cell(str(op.index)), Cell(op.operator), Cell(shape), Cell(f"{op.macs:,}")]
        row.append(Cell(f"{op.live_bytes:,}", bar=op.live_bytes / most, mark=peak))
        row += [Cell(f"{op.channels:,}"), Cell(f"{op.dead_channels:,}")] if dead else []
        row.append(Cell(str(where.get(op.index, "TFLM"))) if report else Cell("yes" if op.supported else op.code))
        rows.append(tuple(row))
    return PageTable("operators", tuple(columns), tuple(rows))


def _tensors(original: Inspection) -> PageTable:
    columns = (
        Column("tensor", True), Column("name", long=True), Column("shape"), Column("type"), Column("bytes", True),
        Column("where"),
    )  # fmt: skip
    rows = tuple(
        (
            Cell(str(t.index)), _named(t.name), Cell("×".join(map(str, t.shape)) or "scalar"), Cell(t.dtype.lower()),
            Cell(f"{t.bytes:,}"), Cell("flash" if t.constant else "arena"),
        )
        for t in original.tensors
    )  # fmt: skip
    return PageTable("tensors", columns, rows)


def _kept(refusals: Iterable[tuple[int, str, str, str]]) -> PageTable | None:
    rows = tuple((Cell(str(i)), Cell(operator), Cell(reason), Cell(hint)) for i, operator, reason, hint in refusals)
    columns = (Column("op", True), Column("operator"), Column("why it stays builtin"), Column("try"))
    return PageTable("builtin operators", columns, rows) if rows else None


SETTINGS = ("input", "op_per", "max_macs", "ram_limit", "flash_limit", "max_instructions", "without")


def _settings(report: Report) -> list[tuple[str, str]]:
    """Return the settings and the other facts of the report."""
    shown = {k: v for k, v in asdict(report).items() if k in SETTINGS}
    facts = [(key.replace("_", " "), _word(value)) for key, value in shown.items()]
    facts += [(f"instructions on {core}, estimated", f"{n:,}") for core, n in report.instructions.items()]
    if there := report.packed:
        original = f"{there.original:,}" if there.original else "unknown"
        facts.append((f"the same on {there.core}", f"{there.generic:,}, with packed kernels {there.packed:,}"))
        facts.append((f"original on {there.core}, with CMSIS-NN", original))
    facts += _timed(report)
    facts.append(("head", summary.head(report)))
    facts.append(("arena to declare", f"{report.arena_size:,} B" if report.arena_size is not None else "not known"))
    facts.append(("searches cut short (--effort)", ", ".join(report.cut_short) or "none"))
    facts.append(("ABI", report.arena.abi))
    if report.arena.unknown:
        facts.append(("arena not known of", ", ".join(report.arena.unknown)))
    if report.arena.variables:
        facts.append(("resource variables", f"{report.arena.variables}, {report.arena.variable_bytes:,} B of the tail"))
    facts.append(("seconds", f"{report.seconds:.3f}"))
    if report.accuracy:
        a = report.accuracy
        shares = f"float {a.keras:.4f}, int8 {a.int8:.4f}, rewritten {a.rewritten:.4f}"
        facts.append(("accuracy", f"{shares}, of {a.examples:,} examples"))
    return facts


def _timed(report: Report) -> list[tuple[str, str]]:
    """Return the times to a tenth of a millisecond, and their basis."""
    facts = []
    if report.time_limit is not None:
        facts.append(("time limit", f"{report.time_limit:,.1f} ms"))
    if (time := report.time) is None:
        return facts
    for name, one in ((f"original, with {time.library}", time.original), ("rewritten", time.rewritten)):
        if one:
            counted = [f"{one.instructions:,} instructions"] if one.instructions is not None else []
            span = [f"{one.milliseconds[0]:,.1f} to {one.milliseconds[1]:,.1f} ms"] if one.milliseconds else []
            facts.append((f"one inference of the {name}, estimated", ", ".join([*counted, *span])))
    return [*facts, ("time of", times.basis(time))]


def _word(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)
