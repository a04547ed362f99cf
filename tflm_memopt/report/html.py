"""Writes a model's results as an HTML page that needs no further file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import tflm_memopt
from tflm_memopt.answers.inspection import Inspection
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.answers.report import Report, StageReport
from tflm_memopt.model.graph import short_name
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.report import facts, figures, summary, svg, times
from tflm_memopt.report.figures import Mark
from tflm_memopt.targets.boards import BoardFit

_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
SIZES = {"wide": (1080, 340), "narrow": (352, 300)}
"""Width and height in pixels of a figure for large screens and for small screens."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell with a bar of the length `bar` (0 to 1) behind its text. The field `mark` is a class of the style
    sheet.
    """

    text: str
    bar: float | None = None
    mark: str = ""

    @property
    def is_number(self) -> bool:
        return self.text.replace(",", "").isdigit()


@dataclass(frozen=True, slots=True)
class PageTable:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def optimized(result: Optimized, model: Path | None = None, folder: Path = Path()) -> str:
    report, original = result.report, result.inspection
    after = result.memory if report.changed else None
    total = report.arena.total
    marks = [Mark(total, f"rewritten: {report.arena.figure(total)} B", "limit")] if after else []
    data: dict[str, Any] = {"report": report.to_json(), "inspection": original.to_json()}
    data |= {"memory": {"original": original.memory.to_json(), "rewritten": result.memory.to_json()}}
    if result.plan:
        data["plan"] = result.plan.to_json()
    return _page(
        original,
        report,
        data,
        convention=report.convention,
        verdict=times.verdict(report),
        facts=facts.of_report(report),
        steps=summary.steps(report, model or Path(report.model), folder),
        head=summary.head(report) if report.changed else "",
        before=_map(original.memory, marks),
        after=_map(after, _bound(after)) if after else None,
        boards=_boards(original.fits, result.fits),
        groups=[_group(number, report) for number in range(len(report.groups))],
        kept=_stays_builtin((k.index, k.operator, k.reason, k.hint) for k in report.kept_builtin),
        interface=[f"{i.side} '{short_name(i.name)}': {i.before} becomes {i.after}" for i in report.interface]
        + [f"stays: {line}" for line in report.interface_kept],
    )


def inspection(result: Inspection) -> str:
    return _page(
        result,
        None,
        {"inspection": result.to_json(), "memory": {"original": result.memory.to_json()}},
        convention=result.convention,
        verdict="as it is",
        facts=facts.of_inspection(result),
        steps=[],
        head="",
        before=_map(result.memory, _bound(result.memory)),
        after=None,
        boards=_boards(result.fits, None),
        groups=[],
        kept=_stays_builtin((op.index, op.operator, op.reason, op.hint) for op in result.operators if not op.supported),
        interface=[],
    )


def _page(original: Inspection, report: Report | None, data: Mapping[str, Any], **context: Any) -> str:
    return _PAGES.get_template("page.html").render(
        model=original.model,
        version=tflm_memopt.__version__,
        styles=Markup(svg.style_sheet()),
        hatch=Markup(svg.HATCH),
        operators=_operators(original, report),
        data=_embedded(data),
        **context,
    )


def _embedded(data: Mapping[str, Any]) -> Markup:
    """Text in JSON is escaped, so that it cannot end the script element of a page."""
    text = json.dumps(data, separators=(",", ":"), default=str)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _map(memory: MemoryMap, marks: Sequence[Mark]) -> Mapping[str, Markup]:
    drawn = {name: figures.memory_map(memory, w, height=h, marks=marks) for name, (w, h) in SIZES.items()}
    return {name: Markup(svg.inline(drawing)) for name, drawing in drawn.items()}


def _bound(memory: MemoryMap) -> list[Mark]:
    return [Mark(memory.bound, f"least possible head: {memory.bound:,} B")]


def _boards(before: Sequence[BoardFit], after: Sequence[BoardFit] | None) -> PageTable:
    columns = ("board", "original", *(["rewritten"] if after else []), "RAM left, B")
    rows = (
        (Cell(was.name), _fits(was), *([_fits(now)] if after else []), Cell(now.ram_said))
        for was, now in zip(before, after or before, strict=True)
    )
    return PageTable(columns, tuple(rows))


def _fits(fit: BoardFit) -> Cell:
    words, summary = facts.fit_on_board(fit)
    return Cell(f"{'✓' if fit.fits else '?' if fit.undecided else '✗'} {words}", mark=summary)


def _group(number: int, report: Report) -> Mapping[str, Any]:
    group = report.groups[number]
    rows = tuple(
        (
            Cell(", ".join(map(str, s.ops))),
            Cell(s.operator),
            Cell(short_name(s.tensor)),
            Cell(f"{s.kept:,}", bar=s.kept / s.whole if s.whole else 0),
            Cell(f"{s.whole:,}"),
            Cell(_how(s, tiled=group.stripes > 0)),
        )
        for s in group.stages
    )
    order = f"in {group.stripes:,} stripes" if group.stripes else "row by row"
    said = [f"{group.bytes:,} B at its worst moment", order]
    if group.accumulators:
        said.append(f"{group.accumulators:,} B of int32 sums")
    ops = f"{min(group.ops)}" + (f" to {max(group.ops)}" if len(group.ops) > 1 else "")
    return {
        "title": f"Group {number}: operators {ops}",
        "facts": ", ".join(said),
        "stages": PageTable(("op", "operator", "output", "kept, B", "of, B", "how"), rows),
    }


def _how(stage: StageReport, *, tiled: bool) -> str:
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
    where = {i: str(n) for n, group in enumerate(report.groups if report else ()) for i in group.ops}
    most = max((op.live_bytes for op in original.operators), default=1) or 1
    rows = []
    for op in original.operators:
        outputs = (original.tensors[i] for i in op.outputs)
        shape = ", ".join(f"{'×'.join(map(str, t.shape))} {t.dtype.lower()}" for t in outputs)
        peak = "peak" if op.index == original.peak_operator else ""
        place = where.get(op.index, "TFLM") if report else "yes" if op.supported else op.code
        alive = Cell(f"{op.live_bytes:,}", bar=op.live_bytes / most, mark=peak)
        rows.append((Cell(str(op.index)), Cell(op.operator), Cell(shape), Cell(f"{op.macs:,}"), alive, Cell(place)))
    columns = ("op", "operator", "output", "MACs", "alive, B", "group" if report else "row by row")
    return PageTable(columns, tuple(rows))


def _stays_builtin(refusals: Iterable[tuple[int, str, str, str]]) -> PageTable | None:
    rows = tuple((Cell(str(i)), Cell(operator), Cell(reason), Cell(hint)) for i, operator, reason, hint in refusals)
    return PageTable(("op", "operator", "why it stays builtin", "try"), rows) if rows else None
