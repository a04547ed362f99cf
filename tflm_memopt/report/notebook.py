"""How results show themselves in a notebook: pictures that know how to be shown and saved, and short summaries."""

from __future__ import annotations

from html import escape
from pathlib import Path

from tflm_memopt import maps
from tflm_memopt.files import write_file
from tflm_memopt.plan.plan import Plan
from tflm_memopt.report import figures, plot, svg
from tflm_memopt.report.drawing import Drawing
from tflm_memopt.report.figures import change
from tflm_memopt.results import Exploration, Optimized

WIDTH = 960
"""Pixels."""


class Picture:
    """A figure of a report. A notebook shows it."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing

    def save(self, path: str | Path) -> None:
        """As .svg, or as .png (with matplotlib)."""
        path = Path(path)
        write_file(path, plot.of_form(path)(self.drawing))

    def _repr_svg_(self) -> str:
        return svg.document(self.drawing).partition("?>\n")[2]


def memory(result: Optimized) -> Picture:
    """Before and after, at the same scale."""
    return Picture(plot.optimized(result, WIDTH))


def frontier(result: Exploration) -> Picture:
    """RAM against compute."""
    return Picture(plot.exploration(result, WIDTH))


def plan(result: Plan) -> Picture:
    """A plan alone: it knows no names, and not what is alive inside a block."""
    return Picture(figures.memory_map(maps.of_bare_plan(result), WIDTH))


def summary(result: Optimized) -> str:
    """The three numbers and the memory maps, as HTML."""
    r = result.report
    state = "rewritten" if r.changed else f"unchanged: {r.why_unchanged}"
    old, new, flash = r.original_arena, r.arena, r.flash
    less_ram = change(old.total, new.total) if old.exact else ""
    less_flash = change(flash.original, flash.rewritten)
    rows = (
        ("RAM", old.figure(old.total), new.figure(new.total), less_ram, r.convention),
        ("flash", f"{flash.original:,}", f"{flash.rewritten:,}", less_flash, ".tflite file"),
    )
    lines = "".join(
        f"<tr><td>{name}</td><td>{before} B</td><td>{after} B</td><td>{changed}</td><td>{escape(note)}</td></tr>"
        for name, before, after, changed, note in rows
    )
    work = f"{r.macs.rewritten:,} of {r.macs.original:,} MACs"
    table = f"<table>{lines}<tr><td>F</td><td></td><td>{r.overhead:.2f}</td><td></td><td>{work}</td></tr></table>"
    return f"<b>{escape(r.model)}</b>: {escape(state)}{table}{memory(result)._repr_svg_()}"
