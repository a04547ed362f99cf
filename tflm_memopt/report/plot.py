"""Draws the figure that `--plot` writes as an SVG file."""

from __future__ import annotations

from pathlib import Path

from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.errors import UsageError
from tflm_memopt.report import figures
from tflm_memopt.report.drawing import Drawing

WIDTH = 480
"""Width of a plot in pixels. The text of a plot stays readable if a page shows the plot 400 pixels wide."""
HEIGHT = 240
"""Height of each memory map in pixels."""


def check(path: Path | None) -> None:
    """Raise UsageError for a file of another format than SVG."""
    if path and path.suffix.lower() != ".svg":
        raise UsageError(f"a plot is an .svg file, but {path} is not", hint=f"--plot {path.stem}.svg")


def optimized(result: Optimized, width: float = WIDTH) -> Drawing:
    """Draw the memory before and after the rewrite at the same scale."""
    before, report = result.inspection.memory, result.report
    return figures.before_and_after(
        before, result.memory, width, title=report.model, note=report.convention, height=HEIGHT
    )
