"""A frontier as a picture: RAM on a logarithmic axis, compute beside it.

Needs matplotlib: `pip install tflm-memopt[plot]`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tflm_memopt.errors import UsageError
from tflm_memopt.results import Exploration

DOTS_PER_INCH = 160
INCHES = 7.0, 4.2


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a plot: (bytes, F) for each point."""

    name: str
    points: Sequence[tuple[int, float]]
    joined: bool = True
    """A frontier: between two points, the one that computes less is what there is."""


def require() -> None:
    """UsageError when matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401, PLC0415 (an optional dependency)
    except ImportError as error:
        raise UsageError("--plot needs matplotlib", hint="pip install 'tflm-memopt[plot]'") from error


def exploration(result: Exploration, form: str) -> bytes:
    """The picture of one model: its frontier, and TFLM today."""
    ours = Series("tflm-memopt", [(p.arena.total, p.overhead) for p in result.points])
    today = Series("TFLM today", [(result.original_arena.total, 1.0)], joined=False)
    return draw([ours, today], form, title=result.model, ram=f"arena, bytes ({result.convention})")


def draw(lines: Sequence[Series], form: str, *, title: str, ram: str) -> bytes:
    """The picture in the format `form` (png, svg), the same bytes for the same data."""
    import matplotlib as mpl  # noqa: PLC0415 (an optional dependency)
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    style: Any = {"svg.hashsalt": "tflm-memopt", "svg.fonttype": "none", "font.size": 9}
    with mpl.rc_context(style):
        figure = Figure(figsize=INCHES, layout="constrained")
        axes = figure.subplots()
        for line in lines:
            points = sorted(line.points)
            x, y = [nbytes for nbytes, _ in points], [overhead for _, overhead in points]
            axes.plot(
                x, y, "o-" if line.joined else "s", drawstyle="steps-post", markersize=4, linewidth=1.2, label=line.name
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g} kB"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(0.06, 0.08)
        axes.grid(alpha=0.3)
        axes.set_title(title)
        axes.set_xlabel(ram)
        axes.set_ylabel("F: multiply-accumulates / original's")
        axes.legend()
        page = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(page, format=form, dpi=DOTS_PER_INCH, metadata=metadata)
    return page.getvalue()
