"""Defines the shapes and the named styles of figures.

People with colour vision deficiencies can distinguish the colours (Okabe and Ito, "Color Universal Design", 2008).
Hatching marks buffers that hold only a part of a tensor.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

Point = tuple[float, float]

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff", "ink": "#1b1f24", "soft": "#5b6270", "grid": "#e2e5ea", "shade": "#c9ced6",
    "sky": "#56b4e9", "blue": "#0072b2", "green": "#009e73", "orange": "#e69f00", "pink": "#cc79a7",
    "red": "#d55e00", "grey": "#8a919e", "white": "#ffffff", "black": "#11151a",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "paper": "#14171c", "ink": "#e9ecf1", "soft": "#a2a9b6", "grid": "#2b3038", "shade": "#454c58",
    "sky": "#56b4e9", "blue": "#2f8fd0", "green": "#1fb58a", "orange": "#e69f00", "pink": "#d78fb6",
    "red": "#ee7a2b", "grey": "#8a919e", "white": "#ffffff", "black": "#11151a",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Style:
    """The look of a shape. A colour is a name, or "" for no colour, and lengths are in pixels."""

    fill: str = ""
    opacity: float = 1.0
    stroke: str = ""
    width: float = 1.0
    dash: tuple[float, float] | None = None
    hatch: bool = False
    size: float = 11.0
    bold: bool = False
    halo: str = "paper"
    """Colour of an outline that keeps the letters readable on any background."""


ROLES: Mapping[str, tuple[str, bool, str]] = {
    "input": ("sky", False, "input"),
    "tensor": ("blue", False, "whole tensor"),
    "output": ("green", False, "output"),
    "rolling_buffer": ("orange", True, "rolling buffer: a few rows or pixels"),
    "accumulator": ("pink", True, "sums"),
    "counters": ("grey", False, "counters"),
    "scratch": ("red", True, "scratch"),
    "weights": ("grey", True, "copied weights"),
}
DARK_ROLES = ("tensor", "output", "scratch")
"""Roles of buffers with a dark colour, on which letters are white."""

STYLES: Mapping[str, Style] = {
    "axis": Style(stroke="soft"),
    "grid": Style(stroke="grid"),
    "phase": Style(stroke="shade", dash=(1, 3)),
    "bound": Style(stroke="ink", width=1.5, dash=(6, 3)),
    "limit": Style(stroke="red", width=1.5, dash=(2, 3)),
    "tail": Style(fill="shade", opacity=0.7, hatch=True),
    "text": Style(fill="ink"),
    "small-text": Style(fill="soft", size=10),
    "head-text": Style(fill="ink", size=13, bold=True),
    "on-light": Style(fill="black", size=10, halo="white"),
    "on-dark": Style(fill="white", size=10, halo="black"),
    **{f"line-{i}": Style(stroke=c, width=1.8) for i, c in enumerate(("blue", "red", "green", "pink", "orange"))},
    **{f"dot-{i}": Style(fill=c) for i, c in enumerate(("blue", "red", "green", "pink", "orange"))},
    **{f"{role}-box": Style(c, 0.16, c, 1) for role, (c, _, _) in ROLES.items()},
    **{f"{role}-fill": Style(c, 0.85, hatch=hatch) for role, (c, hatch, _) in ROLES.items()},
}


@dataclass(frozen=True, slots=True)
class Polygon:
    points: tuple[Point, ...]
    style: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    points: tuple[Point, ...]
    style: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text with its baseline at y. The field `anchor` states whether x is the text's start, middle or end."""

    x: float
    y: float
    text: str
    style: str = "text"
    anchor: str = "start"


Shape = Polygon | Line | Label


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes of a figure with coordinates in pixels from the top left."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str


def text_width(text: str, style: str = "text") -> float:
    """Return the width of a text in pixels, estimated from the mean width of a letter."""
    return len(text) * STYLES[style].size * (0.6 if STYLES[style].bold else 0.55)


def box(x0: float, y0: float, x1: float, y1: float) -> tuple[Point, ...]:
    return ((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def moved(shapes: Iterable[Shape], dx: float, dy: float) -> tuple[Shape, ...]:
    return tuple(_moved(shape, dx, dy) for shape in shapes)


def _moved(shape: Shape, dx: float, dy: float) -> Shape:
    if isinstance(shape, Label):
        return replace(shape, x=shape.x + dx, y=shape.y + dy)
    return replace(shape, points=tuple((x + dx, y + dy) for x, y in shape.points))
