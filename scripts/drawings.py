"""The drawings of docs/how-it-works.md, as SVG: rows and rings, a block, two buffers in one place, strips and windows.

python scripts/drawings.py docs/drawings
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tflm_memopt.report import svg
from tflm_memopt.report.drawing import Drawing, Label, Line, Polygon, Shape, box

ROW = 15.0
"""Height of a row, pixels."""


def tensor(
    x: float, y: float, width: float, rows: int, title: str, fills: Mapping[int, str], *, numbers: bool = False
) -> Iterator[Shape]:
    """A tensor as a stack of rows. `fills`: row -> style of those that hold something."""
    yield Label(x + width / 2, y - 8, title, "text", "middle")
    for row in range(rows):
        top = y + row * ROW
        yield Polygon(box(x, top, x + width, top + ROW), "counters-box")
        if row in fills:
            yield Polygon(box(x, top, x + width, top + ROW), fills[row])
        if numbers:
            yield Label(x - 6, top + 11, str(row), "small-text", "end")


def arrow(x0: float, y0: float, x1: float, y1: float) -> Iterator[Shape]:
    yield Line(((x0, y0), (x1, y1)), "axis")
    back = -6 if x1 > x0 else 6
    yield Line(((x1 + back, y1 - 4), (x1, y1), (x1 + back, y1 + 4)), "axis")


def rows_and_rings() -> Drawing:
    """A 3x3 convolution at row 5, and the ring that is enough for its input."""
    shapes: list[Shape] = [
        *tensor(46, 40, 130, 12, "input, 12 rows", dict.fromkeys((4, 5, 6), "ring-fill"), numbers=True),
        *tensor(300, 85, 130, 3, "ring of 3 rows", dict.fromkeys(range(3), "ring-fill")),
        *tensor(556, 40, 110, 12, "output", {5: "output-fill"} | dict.fromkeys(range(5), "output-box"), numbers=True),
        *arrow(184, 122, 292, 108),
        *arrow(438, 108, 532, 122),
        Label(238, 92, "row y lives in", "small-text", "middle"),
        Label(238, 104, "slot y mod 3", "small-text", "middle"),
        Label(486, 92, "one firing", "small-text", "middle"),
        Label(365, 150, "12 rows never have to exist at once: 3 do", "small-text", "middle"),
    ]
    shapes += [
        Label(365, 85 + slot * ROW + 11, f"row {row}", "on-light", "middle") for slot, row in ((0, 6), (1, 4), (2, 5))
    ]
    return Drawing(690, 232, tuple(shapes), "A convolution of 3 rows needs a ring of 3 rows of its input")


def block() -> Drawing:
    """Three operators as one block: whole tensors at its border, rings inside, demand from the end."""
    parts = (
        (30, "input: whole", 12, dict.fromkeys(range(4, 12), "input-fill")),
        (200, "ring of 3 rows", 3, dict.fromkeys(range(3), "ring-fill")),
        (370, "ring of 1 row", 1, {0: "ring-fill"}),
        (540, "output: whole", 12, dict.fromkeys(range(5), "output-fill")),
    )
    shapes: list[Shape] = []
    for x, title, rows, fills in parts:
        shapes += tensor(x, 50 + (12 - rows) * ROW / 2, 100, rows, title, fills)
    for x, name in ((150, "CONV 3x3"), (320, "DEPTHWISE 3x3"), (490, "CONV 1x1")):
        shapes += [*arrow(x - 14, 140, x + 44, 140), Label(x + 15, 206, name, "small-text", "middle")]
    shapes += [
        *arrow(585, 26, 75, 26),
        Label(330, 20, "demand: output row 5 wants a row, that wants three, those want more", "small-text", "middle"),
    ]
    shapes.append(
        Label(
            330,
            250,
            "rows 0 to 3 of the input are dead already; rows 5 to 11 of the output do not exist yet",
            "small-text",
            "middle",
        )
    )
    return Drawing(690, 264, tuple(shapes), "A block of three operators, fired row by row on demand of its last one")


def overlap() -> Drawing:
    """Where an input drains, an output may grow: what one number, the separation, says about two buffers."""
    left, right, floor, top = 60.0, 420.0, 210.0, 40.0
    steps = 9
    x = [left + (right - left) * k / steps for k in range(steps + 1)]
    high = floor - top - 36
    draining = [(p, floor - 36 - high * k / steps) for k in range(steps) for p in (x[k], x[k + 1])]
    growing = [(p, floor - high * (k + 1) / steps) for k in range(steps) for p in (x[k], x[k + 1])]
    shapes: list[Shape] = [
        Polygon(box(left, floor - 36 - high, right, floor - 36), "input-box"),
        Polygon(((left, floor - 36 - high), *draining, (right, floor - 36 - high)), "input-fill"),
        Polygon(box(left, floor - high, right, floor), "output-box"),
        Polygon(((left, floor), *growing, (right, floor)), "output-fill"),
        Line(((left, floor), (right, floor)), "axis"),
        Label(left + 10, top + 20, "input: rows die from the bottom", "on-light"),
        Label(right - 10, floor - 12, "output: rows grow from the bottom", "on-dark", "end"),
        Label((left + right) / 2, floor + 16, "time", "small-text", "middle"),
        Label(left - 8, (floor + top) / 2, "address", "small-text", "end"),
        Line(((right + 8, floor - 36), (right + 8, floor)), "bound"),
        Label(right + 16, floor - 14, "d: how far the input must start above the output", "small-text"),
        Label(right + 16, floor - 60, "Side by side they would take", "small-text"),
        Label(right + 16, floor - 47, "the sum of both heights.", "small-text"),
    ]
    return Drawing(690, 236, tuple(shapes), "Input and output of a block share memory")


def strips_and_windows() -> Drawing:
    """What a tiled block keeps of an inner tensor: a window, and the rows that the next strip needs again."""
    cell, x0, y0, columns, rows = 18.0, 40.0, 40.0, 16, 8
    shapes: list[Shape] = [Label(x0 + columns * cell / 2, 26, "an inner tensor, pixel by pixel", "text", "middle")]
    for row in range(rows):
        for column in range(columns):
            x, y = x0 + column * cell, y0 + row * cell
            shapes.append(Polygon(box(x, y, x + cell, y + cell), "counters-box"))
            if (row in (2, 3) and column >= 7) or (row in (4, 5) and column < 7):
                shapes.append(Polygon(box(x, y, x + cell, y + cell), "ring-fill"))
            elif row in (4, 5) and 7 <= column < 10:
                shapes.append(Polygon(box(x, y, x + cell, y + cell), "tensor-fill"))
    right = x0 + columns * cell + 14
    notes = (
        (y0 + 1.4 * cell, "made, read for the last time: gone"),
        (y0 + 3.2 * cell, "cached: the next strip needs these rows again"),
        (y0 + 5.2 * cell, "window: columns that the kernel reads now"),
        (y0 + 7.2 * cell, "not made yet"),
    )
    shapes += [Label(right, y, text, "small-text") for y, text in notes]
    shapes.append(
        Label(
            x0,
            y0 + rows * cell + 20,
            "Or not cached: then the rows are computed again, F grows, and the bytes are free.",
            "small-text",
        )
    )
    return Drawing(690, 226, tuple(shapes), "Strips, windows and caches of a tiled block")


DRAWINGS: Mapping[str, Callable[[], Drawing]] = {
    "rows-and-rings.svg": rows_and_rings,
    "block.svg": block,
    "overlap.svg": overlap,
    "strips-and-windows.svg": strips_and_windows,
}
"""By file name."""


def main(folder: Path) -> int:
    for name, draw in DRAWINGS.items():
        (folder / name).write_text(svg.document(draw()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/drawings")))
