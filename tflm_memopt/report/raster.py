"""Encode a drawing as PNG. This needs matplotlib: `pip install tflm-memopt[plot]`."""

from __future__ import annotations

import io
from typing import Any

from tflm_memopt.errors import UsageError
from tflm_memopt.report.drawing import LIGHT, STYLES, Drawing, Label, Polygon, Shape

PIXELS_PER_INCH = 96
SHARPNESS = 2
"""Number of dots of the picture for each pixel of the drawing."""
POINTS_PER_PIXEL = 72 / PIXELS_PER_INCH


def require() -> None:
    """Raise UsageError when matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401, PLC0415 (an optional dependency)
    except ImportError as error:
        raise UsageError(
            "--plot FILE.png needs matplotlib",
            code="not_installed",
            hint="FILE.svg, or pip install 'tflm-memopt[plot]'",
        ) from error


def png(drawing: Drawing) -> bytes:
    """Encode a drawing in the light colours. The same drawing gives the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415 (an optional dependency)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"hatch.linewidth": 1.2, "hatch.color": LIGHT["paper"], "font.family": "sans-serif"}):
        size = drawing.width / PIXELS_PER_INCH, drawing.height / PIXELS_PER_INCH
        figure = Figure(figsize=size, facecolor=LIGHT["paper"])
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, drawing.width)
        axes.set_ylim(drawing.height, 0)
        axes.axis("off")
        for order, shape in enumerate(drawing.shapes):
            _draw(axes, shape, order)
        page = io.BytesIO()
        figure.savefig(page, format="png", dpi=PIXELS_PER_INCH * SHARPNESS, metadata={"Software": None})
    return page.getvalue()


def _draw(axes: Any, shape: Shape, order: int) -> None:
    from matplotlib import patches, patheffects  # noqa: PLC0415
    from matplotlib.colors import to_rgba  # noqa: PLC0415

    style = STYLES[shape.style]
    if isinstance(shape, Label):
        anchor = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
        text = axes.text(
            shape.x, shape.y, shape.text.replace("$", r"\$"), ha=anchor, va="baseline", color=LIGHT[style.fill],
            fontsize=style.size * POINTS_PER_PIXEL, fontweight="bold" if style.bold else "normal", zorder=order,
        )  # fmt: skip
        text.set_path_effects([patheffects.withStroke(linewidth=1.9, foreground=LIGHT[style.halo], alpha=0.6)])
        return
    width = style.width * POINTS_PER_PIXEL if style.stroke else 0
    dash: Any = (0, [d / style.width for d in style.dash]) if style.dash else "solid"
    if isinstance(shape, Polygon):
        axes.add_patch(
            patches.Polygon(
                shape.points, closed=True, zorder=order, linewidth=width, linestyle=dash,
                facecolor=to_rgba(LIGHT[style.fill], style.opacity) if style.fill else "none",
                edgecolor=LIGHT[style.stroke] if style.stroke else "none",
            )
        )  # fmt: skip
        if style.hatch:
            hatch = {"facecolor": "none", "edgecolor": to_rgba(LIGHT["paper"], 0.4), "linewidth": 0, "hatch": "/////"}
            axes.add_patch(patches.Polygon(shape.points, closed=True, zorder=order, **hatch))
    else:
        xs, ys = zip(*shape.points, strict=True)
        axes.plot(xs, ys, color=LIGHT[style.stroke], linewidth=width, linestyle=dash, zorder=order)
