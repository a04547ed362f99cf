"""Computes the sizes of a tiled group's buffers by closed formulas.

A column window keeps a few columns of adjacent rows (msf-CNN's H-cache). A column window of `r` rows for a kernel of `k
x k` pixels has `(k - 1) × r + k` pixels. An operator may read rows that were computed `q` stripes earlier. The column
window then also holds `q × r` whole rows (the line caches of fused tiling). The index of a row counts from the end of
its stripe, whose last row has the index -1. Plans use sizes from a simulation, and the formulas give upper bounds of
these sizes.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tflm_memopt.ops.rowop import Rows


class Columns(NamedTuple):
    """Numbers of columns that a tensor's buffer holds for one reader of the tensor."""

    reading: int
    """Number of columns while the reader runs."""
    before: int
    """Number of columns just before the newest tile is computed."""
    between: int
    """Number of columns between two iterations of the reader."""
    last: int
    """Number of columns from the left edge of the last window to the right edge of the tensor."""


class Reader(NamedTuple):
    columns: Columns
    windows: tuple[tuple[int, int], ...]


class PeriodRows(NamedTuple):
    """Rows of a stripe, from `first` to `first + rows - 1`."""

    first: int
    rows: int


@cache
def window_columns(width: int, tile: int, to: tuple[int, int], window: tuple[int, int, int]) -> Columns:
    """The argument `to` lists the output's width and the width of the output's tiles. The argument `window` lists a
    window's extent, stride and padding.
    """
    (out_width, out_tile), (extent, stride, pad) = to, window

    def left(n: int) -> int:
        return min(width, max(0, n * out_tile * stride - pad))

    def newest(n: int) -> int:
        last = min((n + 1) * out_tile, out_width) - 1
        right = max(1, min(width, last * stride - pad + extent))
        return min(width, -(-right // tile) * tile)

    tiles = range(-(-out_width // out_tile))
    return Columns(
        reading=max(newest(n) - left(n) for n in tiles),
        before=max((newest(n) - 1) // tile * tile - left(n) for n in tiles),
        between=max((newest(n) - left(n + 1) for n in tiles[:-1]), default=0),
        last=width - left(tiles[-1]),
    )


def lagging_columns(width: int, tile: int, lag: int) -> Columns:
    reading, behind = min(width, lag + tile), min(width, lag)
    return Columns(reading, behind, behind, last=(width - 1) % tile + 1)


@cache
def window_rows(made: int, rows: int, window: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Return `Reader.windows` for an operator that computes `made` rows per stripe from the last `rows` rows of its
    input.
    """
    extent, stride = window
    return tuple((y * stride - rows, min(-1, y * stride - rows + extent - 1)) for y in range(made))


def column_windows(rows: int, advance: int) -> tuple[PeriodRows, ...]:
    """Return the column windows of a tensor. Each row is computed once, and each stripe reads `rows` rows."""
    long = rows % advance
    both = (PeriodRows(0, advance - long), PeriodRows(advance - long, long))
    return tuple(column_window for column_window in both if column_window.rows)


def column_window_pixels(column_window: PeriodRows, width: int, advance: int, reader: Reader) -> int:
    (first, rows), (reading, before, between, _) = column_window, reader.columns
    next_age, next_row = _oldest(first, rows, advance, reader.windows[0][0])
    depths = [1]
    for top, bottom in reader.windows:
        newest = min(rows, max(0, bottom + advance - first + 1))
        age, row = _oldest(first, rows, advance, top)
        if age >= 0:
            pixels = (reading - 1) * rows + newest if newest else before * rows
            depths.append(age * width * rows + pixels - row)
        if next_age >= 0:
            depths.append((next_age * width + between - 1) * rows + (newest or rows) - next_row)
    return max(depths)


def _oldest(first: int, rows: int, advance: int, top: int) -> tuple[int, int]:
    age = (first + rows - 1 - advance - top) // advance
    return age, max(0, top + advance * (age + 1) - first)


@cache
def cached_pixels(size: tuple[int, int], rows: int, advance: int, end: int, readers: tuple[Reader, ...]) -> int:
    height, width = size
    total = 0
    for column_window in column_windows(rows, advance):
        depth = max(column_window_pixels(column_window, width, advance, reader) for reader in readers)
        total += min(depth, _periods(column_window, height, advance, -end % advance) * width * column_window.rows)
    return total


def _periods(column_window: PeriodRows, height: int, advance: int, start: int) -> int:
    first = -(-max(0, start - column_window.first - column_window.rows + 1) // advance)
    last = (start + height - 1 - column_window.first) // advance
    return max(0, last - first + 1)


@cache
def recomputed_pixels(width: int, rows: int, present: tuple[int, int], readers: tuple[Reader, ...]) -> int:
    column_window = PeriodRows(present[0], present[1] - present[0])
    return min(
        column_window.rows * width, max(column_window_pixels(column_window, width, rows, reader) for reader in readers)
    )


@dataclass(frozen=True, slots=True)
class RowCount:
    total: int
    """Number of rows in all stripes. A row that is made twice is counted twice."""
    most: int
    present: tuple[int, int]
    """Range of the rows that a stripe makes, counted from the first row of a complete stripe."""


@cache
def count_rows(height: int, rows: int, end: int, advance: int, stripes: tuple[int, int]) -> RowCount:
    first, stop = stripes
    total = most = high = 0
    low, top = rows, 0
    for m in range(first, stop):
        bottom = m * advance + end - rows
        made = range(high if rows == advance else max(0, bottom), min(height, max(high, m * advance + end)))
        high = max(high, made.stop)
        if made:
            total, most = total + len(made), max(most, len(made))
            low, top = min(low, made.start - bottom), max(top, made.stop - bottom)
    return RowCount(total, most, (min(low, top), top))


class Flow(NamedTuple):
    """The input of a group, and the row at which each stripe begins to read: `top` for stripe 0, and `advance` rows
    more for each further stripe.
    """

    height: int
    width: int
    channels: int
    advance: int
    top: int
    columns: int
    """Number of columns that the last tile reads in the lowest row of a stripe."""

    @property
    def nbytes(self) -> int:
        return self.height * self.width * self.channels


@cache
def overlapped_bytes(source: Flow, out: Rows, rows: int, tile: int) -> int:
    """Return how many bytes a group's input and output need together if they overlap (min(b_In - b_Out) in vMCU,
    section 4).

    The argument `tile` is the width of a tile, or 0 for a group without tiles, whose stripes read all their inputs
    before they write.
    """
    row_in, stripes = source.width * source.channels, range(-(-out.h // rows))
    drained = (max(0, m * source.advance + source.top) for m in range(len(stripes) + 1))
    undrained = [max(0, source.height - rows) * row_in for rows in drained]
    made = [min(out.h, (m + 1) * rows) * out.row_bytes for m in stripes]
    if tile:
        rest = min(max(0, out.w - tile) * out.c, max(0, source.width - source.columns) * source.channels)
        together = [alive + new - rest for alive, new in zip(undrained, made, strict=False)]
    else:
        together = [alive + new for alive, new in zip(undrained[1:], made, strict=True)]
    return max(source.nbytes, out.nbytes, *together)
