"""Encodes a drawing as an SVG file, or as SVG for a page with the style sheet."""

from collections.abc import Iterator, Mapping
from html import escape

from tflm_memopt.report.drawing import DARK, LIGHT, STYLES, Drawing, Label, Point, Polygon, Shape, Style

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
HATCH = (
    '<pattern id="tmo-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0V6" stroke="#fff" stroke-width="2" stroke-opacity=".4"/></pattern>'
)
"""SVG pattern for hatched shapes, which a page must contain once."""


def document(drawing: Drawing) -> str:
    """Return a drawing as an SVG file whose colours follow the reader's light or dark scheme."""
    background = f'<path d="M0 0H{drawing.width:g}V{drawing.height:g}H0Z" fill="var(--paper)"/>'
    head = f"<defs>{HATCH}</defs><style>{style_sheet()}</style>{background}"
    size = f'width="{drawing.width:g}" height="{drawing.height:g}"'
    return f'<?xml version="1.0" encoding="utf-8"?>\n{_svg(drawing, size, head)}\n'


def inline(drawing: Drawing) -> str:
    """Return SVG for a page that already contains `style_sheet()` and HATCH."""
    return _svg(drawing, "", "")


def style_sheet() -> str:
    rules = "".join(f".t-{name}{{{_css(style)}}}" for name, style in STYLES.items())
    rules += "".join(f"text.t-{n}{{stroke:var(--{s.halo})}}" for n, s in STYLES.items() if s.fill and not s.stroke)
    text = f"font-family:{FONT};paint-order:stroke;stroke-width:2.5px;stroke-opacity:.6;stroke-linejoin:round"
    return (
        f":root{{{_variables(LIGHT)}}}@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}"
        f"@media print{{:root{{{_variables(LIGHT)}}}}}svg text{{{text}}}svg .over{{pointer-events:none}}{rules}"
    )


def _variables(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def _css(style: Style) -> str:
    fill = f"fill:var(--{style.fill});fill-opacity:{style.opacity:g};" if style.fill else "fill:none;"
    stroke = f"stroke:var(--{style.stroke});stroke-width:{style.width:g};" if style.stroke else ""
    dash = f"stroke-dasharray:{style.dash[0]:g} {style.dash[1]:g};" if style.dash else ""
    return fill + stroke + dash + f"font-size:{style.size:g}px;" + ("font-weight:600;" if style.bold else "")


def _svg(drawing: Drawing, size: str, head: str) -> str:
    parts = "".join(part for shape in drawing.shapes for part in _shape(shape))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width:g} {drawing.height:g}" {size} role="img"'
        f' aria-label="{_text(drawing.title)}">{head}{parts}</svg>'
    )


def _shape(shape: Shape) -> Iterator[str]:
    if isinstance(shape, Label):
        anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
        place = f'x="{shape.x:.1f}" y="{shape.y:.1f}"'
        yield f'<text class="t-{shape.style} over" {place}{anchor}>{_text(shape.text)}</text>'
        return
    closed = isinstance(shape, Polygon)
    path = _path(shape.points, closed=closed)
    if isinstance(shape, Polygon) and shape.tip:
        yield f'<path class="t-{shape.style}" d="{path}"><title>{_text(shape.tip)}</title></path>'
    else:
        yield f'<path class="t-{shape.style} over" d="{path}"/>'
    if STYLES[shape.style].hatch:
        yield f'<path class="over" fill="url(#tmo-hatch)" d="{path}"/>'


def _path(points: tuple[Point, ...], *, closed: bool) -> str:
    x, y = points[0]
    parts = [f"M{_number(x)} {_number(y)}"]
    for to_x, to_y in points[1:]:
        if to_y == y:
            parts.append(f"H{_number(to_x)}")
        elif to_x == x:
            parts.append(f"V{_number(to_y)}")
        else:
            parts.append(f"L{_number(to_x)} {_number(to_y)}")
        x, y = to_x, to_y
    return "".join(parts) + ("Z" if closed else "")


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    return escape("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text))
