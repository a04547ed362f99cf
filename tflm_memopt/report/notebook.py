"""Show results in a notebook: figures that can be displayed and saved, and short summaries.

The functions are registered with generic.py.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from tflm_memopt import generic
from tflm_memopt.files import write_file
from tflm_memopt.report import plot, svg, times
from tflm_memopt.report.drawing import Drawing
from tflm_memopt.report.figures import change
from tflm_memopt.results import Exploration, Optimized

WIDTH = 960
"""Width in pixels."""


class Figure:
    """A figure of a report. A notebook displays it."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing

    def save(self, path: str | Path) -> None:
        """Save it as an .svg file."""
        plot.check(Path(path))
        write_file(Path(path), svg.document(self.drawing).encode())

    def _repr_svg_(self) -> str:
        return svg.document(self.drawing).partition("?>\n")[2]


@generic.picture.register
def memory(result: Optimized) -> Figure:
    """Draw the memory before and after at the same scale."""
    return Figure(plot.optimized(result, WIDTH))


@generic.picture.register
def frontier(result: Exploration) -> Figure:
    """Draw RAM against compute."""
    return Figure(plot.exploration(result, WIDTH))


@generic.summary.register
def summary(result: Optimized) -> str:
    """Return the three main numbers and the memory maps as HTML."""
    r = result.report
    state = times.verdict(r)
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
