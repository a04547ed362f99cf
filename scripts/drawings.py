"""The drawings of docs/how-it-works.md, as SVG: a rolling buffer, a group, an overlap, stripes and column windows.

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
WIDTH = 424.0
"""Width of a drawing, pixels: text stays readable on a phone."""


def tensor(
    x: float, y: float, width: float, rows: int, title: str, fills: Mapping[int, str], *, numbers: bool = False
) -> Iterator[Shape]:
    """Draw a tensor as a stack of rows. fills: row -> style, for rows with content."""
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


def rolling_buffer() -> Drawing:
    """Draw a 3x3 convolution at row 5, and the three input rows that it needs."""
    shapes: list[Shape] = [
        *tensor(24, 36, 92, 12, "input, 12 rows", dict.fromkeys((4, 5, 6), "rolling_buffer-fill"), numbers=True),
        *tensor(174, 81, 88, 3, "rolling buffer", dict.fromkeys(range(3), "rolling_buffer-fill")),
        *tensor(322, 36, 92, 12, "output", {5: "output-fill"} | dict.fromkeys(range(5), "output-box"), numbers=True),
        *arrow(120, 118, 168, 106),
        *arrow(266, 106, 304, 118),
        Label(274, 142, "1 iteration", "small-text", "middle"),
        Label(218, 162, "row y is in slot y mod 3", "small-text", "middle"),
        Label(218, 182, "12 rows never exist at once,", "small-text", "middle"),
        Label(218, 195, "3 rows are enough", "small-text", "middle"),
    ]
    shapes += [
        Label(218, 81 + slot * ROW + 11, f"row {row}", "on-light", "middle") for slot, row in ((0, 6), (1, 4), (2, 5))
    ]
    return Drawing(WIDTH, 226, tuple(shapes), "A convolution of 3 rows needs a rolling buffer of 3 rows of its input")


def group() -> Drawing:
    """Draw three operators as one group: whole tensors at its border, rolling buffers inside."""
    parts = (
        (10, "input", 12, dict.fromkeys(range(4, 12), "input-fill")),
        (122, "3 rows", 3, dict.fromkeys(range(3), "rolling_buffer-fill")),
        (234, "1 row", 1, {0: "rolling_buffer-fill"}),
        (346, "output", 12, dict.fromkeys(range(5), "output-fill")),
    )
    shapes: list[Shape] = []
    for x, title, rows, fills in parts:
        shapes += tensor(x, 50 + (12 - rows) * ROW / 2, 64, rows, title, fills)
    for x, name in ((102, "CONV 3x3"), (210, "DEPTHWISE 3x3"), (318, "CONV 1x1")):
        shapes += [*arrow(x - 16, 140, x + 16, 140), Label(x, 206, name, "small-text", "middle")]
    shapes += [
        *arrow(370, 26, 50, 26),
        Label(210, 20, "each iteration needs rows of the operator before", "small-text", "middle"),
        Label(210, 252, "rows 0 to 3 of the input are no longer needed,", "small-text", "middle"),
        Label(210, 265, "rows 5 to 11 of the output do not exist yet", "small-text", "middle"),
    ]
    return Drawing(WIDTH, 274, tuple(shapes), "A group of three operators, whose iterations are interleaved")


def overlap() -> Drawing:
    """Draw an output that grows into a shrinking input, with the least distance between the two buffers."""
    left, right, floor, top = 52.0, 278.0, 210.0, 40.0
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
        Label(left + 8, top + 16, "input: rows are used up", "on-light"),
        Label(right - 8, floor - 12, "output: rows are added", "on-dark", "end"),
        Label((left + right) / 2, floor + 16, "time", "small-text", "middle"),
        Label(left - 6, (floor + top) / 2, "address", "small-text", "end"),
        Line(((right + 8, floor - 36), (right + 8, floor)), "bound"),
        Label(right + 16, floor - 24, "d: how far the input", "small-text"),
        Label(right + 16, floor - 11, "starts above the output", "small-text"),
        Label(right + 16, floor - 80, "Side by side they would", "small-text"),
        Label(right + 16, floor - 67, "take the sum of both", "small-text"),
        Label(right + 16, floor - 54, "heights.", "small-text"),
    ]
    return Drawing(WIDTH, 236, tuple(shapes), "Input and output of a group share memory")


def stripes() -> Drawing:
    """Draw the column window and the line cache of an inner tensor in a tiled group."""
    cell, x0, y0, columns, rows = 16.0, 8.0, 36.0, 10, 8
    shapes: list[Shape] = [Label(x0 + columns * cell / 2, 24, "an inner tensor, by pixel", "text", "middle")]
    for row in range(rows):
        for column in range(columns):
            x, y = x0 + column * cell, y0 + row * cell
            shapes.append(Polygon(box(x, y, x + cell, y + cell), "counters-box"))
            if (row in (2, 3) and column >= 4) or (row in (4, 5) and column < 4):
                shapes.append(Polygon(box(x, y, x + cell, y + cell), "rolling_buffer-fill"))
            elif row in (4, 5) and 4 <= column < 7:
                shapes.append(Polygon(box(x, y, x + cell, y + cell), "tensor-fill"))
    right = x0 + columns * cell + 12
    notes = (
        (y0 + 1.4 * cell, "read for the last time and gone"),
        (y0 + 3.2 * cell, "cached: the next stripe needs these rows"),
        (y0 + 5.2 * cell, "column window: the kernel reads these now"),
        (y0 + 7.2 * cell, "not made yet"),
    )
    shapes += [Label(right, y, text, "small-text") for y, text in notes]
    shapes += [
        Label(x0, y0 + rows * cell + 20, "Rows that are not cached are computed again:", "small-text"),
        Label(x0, y0 + rows * cell + 33, "F grows, and their bytes are free.", "small-text"),
    ]
    return Drawing(WIDTH, 208, tuple(shapes), "Stripes, column windows and line caches of a tiled group")


DRAWINGS: Mapping[str, Callable[[], Drawing]] = {
    "rolling-buffer.svg": rolling_buffer,
    "group.svg": group,
    "overlap.svg": overlap,
    "stripes.svg": stripes,
}
"""By file name."""


def main(folder: Path) -> int:
    for name, draw in DRAWINGS.items():
        (folder / name).write_text(svg.document(draw()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/drawings")))
