"""Write the figures of a report as files, for --plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tflm_memopt.errors import UsageError
from tflm_memopt.report import figures, raster, svg
from tflm_memopt.report.drawing import Drawing
from tflm_memopt.report.figures import Series
from tflm_memopt.results import Exploration, Optimized

WIDTH = 480
"""Width in pixels. Text stays readable when a page shows the plot 400 pixels wide."""
HEIGHT = 240
"""Height of each memory map."""


def of_form(path: Path) -> Callable[[Drawing], bytes]:
    """Return the function that encodes a drawing for the file's suffix. Raises UsageError if it is not possible."""
    form = path.suffix.lower().removeprefix(".")
    if form not in ("png", "svg"):
        raise UsageError(f"a plot is a .png or an .svg file, not {path}", hint=f"--plot {path.stem}.svg")
    if form == "png":
        raster.require()
    return lambda drawing: encoded(drawing, form)


def encoded(drawing: Drawing, form: str) -> bytes:
    """Encode a drawing. The same drawing gives the same bytes. `form`: png, svg."""
    return raster.png(drawing) if form == "png" else svg.document(drawing).encode()


def optimized(result: Optimized, width: float = WIDTH) -> Drawing:
    """Draw the memory before and after at the same scale."""
    before, report = result.inspection.memory, result.report
    return figures.before_and_after(
        before, result.memory, width, title=report.model, note=report.convention, height=HEIGHT
    )


def exploration(result: Exploration, width: float = WIDTH) -> Drawing:
    """Draw the frontier of one model, and TFLM today."""
    return figures.frontier(result, width)


def draw(lines: Sequence[Series], form: str, *, title: str, ram: str) -> bytes:
    """Draw RAM against compute, one line for each series."""
    return encoded(figures.plot(lines, WIDTH, title=title, ram=ram), form)
