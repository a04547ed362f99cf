"""How many bytes the buffers of a tiled block take, in closed form.

A pixel of an inner tensor lives in a lane: consecutive rows of the period in which its producer works (its advance,
when every row is made once; its rows per strip, when the overlap is made again). A lane keeps its pixels column by
column, as a ring: a window of k columns and k rows spans (k-1)*r + k pixels of a lane of r rows (msf-CNN's H-cache),
and a row that is wanted again q strips later another q*W*r (the line caches of fused tiling). Row coordinates are
relative to the strip: 0 is its end, -1 its last row. The plan's depths come from simulation; these formulas are never
below them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tflm_memopt.ops.rowop import Rows


class Columns(NamedTuple):
    """Columns of a tensor that one reader keeps alive, at the worst of its tiles."""

    reading: int
    """From the left edge of its window to the newest column, while it reads."""
    before: int
    """The same, just before the producer starts on its newest tile."""
    between: int
    """From the left edge of the next tile's window to the newest column."""
    last: int
    """From the left edge of the last tile's window on."""


class Reader(NamedTuple):
    """How one operator reads an inner tensor within a strip."""

    columns: Columns
    windows: tuple[tuple[int, int], ...]
    """Per row that the operator makes, in order: the first row that it reads, the newest row that exists by then."""


class PeriodRows(NamedTuple):
    """Rows [first, first + rows) of a period, wanted for the last time `later` strips after their own (-1: never)."""

    first: int
    rows: int
    later: int


@cache
def window_columns(width: int, tile: int, to: tuple[int, int], window: tuple[int, int, int]) -> Columns:
    """Columns of a tensor, made in tiles of `tile`, alive for an operator. to: its output's width, its own tile.

    window: extent, stride, left padding.
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
    """Columns alive for a reader of single pixels whose tile is `lag` columns behind the newest one."""
    reading, behind = min(width, lag + tile), min(width, lag)
    return Columns(reading, behind, behind, last=(width - 1) % tile + 1)


@cache
def window_rows(made: int, rows: int, window: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Reader.windows of an operator that makes `made` rows from the strip's last `rows`. window: extent, stride."""
    extent, stride = window
    return tuple((y * stride - rows, min(-1, y * stride - rows + extent - 1)) for y in range(made))


def lanes(rows: int, advance: int) -> tuple[PeriodRows, ...]:
    """Lanes of a tensor made once, of which each strip wants `rows` rows: residue i, in (rows+i)//advance strips."""
    later, long = rows // advance - 1, rows % advance
    both = (PeriodRows(0, advance - long, later), PeriodRows(advance - long, long, later + 1))
    return tuple(lane for lane in both if lane.rows)


def lane_pixels(lane: PeriodRows, width: int, advance: int, reader: Reader) -> int:
    """Ring depth that one reader asks of a lane: newest pixel to oldest wanted pixel, both included."""
    (first, rows, _), (reading, before, between, _) = lane, reader.columns
    next_age, next_row = _oldest(first, rows, advance, reader.windows[0][0])
    depths = [1]
    for top, bottom in reader.windows:
        newest = min(rows, max(0, bottom + advance - first + 1))
        age, row = _oldest(first, rows, advance, top)
        # from the oldest pixel to the newest, or to where a column begins that is not yet begun
        if age >= 0:
            pixels = (reading - 1) * rows + newest if newest else before * rows
            depths.append(age * width * rows + pixels - row)
        if next_age >= 0:
            depths.append((next_age * width + between - 1) * rows + (newest or rows) - next_row)
    return max(depths)


def _oldest(first: int, rows: int, advance: int, top: int) -> tuple[int, int]:
    """Oldest row of a lane at or below row coordinate `top`: strips since it was made (-1: none), place in the lane."""
    age = (first + rows - 1 - advance - top) // advance
    return age, max(0, top + advance * (age + 1) - first)


@cache
def cached_pixels(size: tuple[int, int], rows: int, advance: int, end: int, readers: tuple[Reader, ...]) -> int:
    """Pixels of a tensor (height, width) whose rows are made once and of which each strip wants `rows`."""
    height, width = size
    total = 0
    for lane in lanes(rows, advance):
        depth = max(lane_pixels(lane, width, advance, reader) for reader in readers)
        total += min(depth, _periods(lane, height, advance, -end % advance) * width * lane.rows)
    return total


def _periods(lane: PeriodRows, height: int, advance: int, start: int) -> int:
    """Periods from a lane's first to its last row; row 0 of the tensor is row `start` of its period."""
    first = -(-max(0, start - lane.first - lane.rows + 1) // advance)
    last = (start + height - 1 - lane.first) // advance
    return max(0, last - first + 1)


@cache
def recomputed_pixels(width: int, rows: int, present: tuple[int, int], readers: tuple[Reader, ...]) -> int:
    """Pixels of a tensor of which each strip makes `rows` rows anew, those in the range `present` at the most."""
    lane = PeriodRows(present[0], present[1] - present[0], 0)
    return min(lane.rows * width, max(lane_pixels(lane, width, rows, reader) for reader in readers))


@dataclass(frozen=True, slots=True)
class RowCount:
    """What an operator makes in all strips together."""

    total: int
    """Rows, each as often as it is made."""
    most: int
    """In the tallest strip."""
    present: tuple[int, int]
    """Half-open range of the rows of a strip, before clipping and counted from its top, that occur in any."""


@cache
def count_rows(height: int, rows: int, end: int, advance: int, strips: tuple[int, int]) -> RowCount:
    """Rows made in these strips (half-open) by a walk whose first strip is the first of them."""
    first, stop = strips
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
    """How the whole input of a block drains, strip by strip: strip m reads the rows from m*advance + top on."""

    height: int
    width: int
    channels: int
    advance: int
    top: int
    columns: int
    """Columns of the lowest row that are still wanted when the strip ends."""

    @property
    def nbytes(self) -> int:
        return self.height * self.width * self.channels

    def drained(self, strip: int) -> int:
        """Rows that neither this strip nor a later one reads."""
        return min(self.height, max(0, strip * self.advance + self.top))


@cache
def overlapped_bytes(source: Flow, out: Rows, rows: int, tile: int) -> int:
    """Bytes that a dying input and an output take that may share them: vMCU's min(b_In - b_Out), section 4, for strips.

    Strip m writes the output rows [m*rows, (m+1)*rows). Its first unit column (`tile`) reaches into the last of them at
    once; tile 0: the strip is written when its input has been read.
    """
    row_in, strips = source.width * source.channels, range(-(-out.h // rows))
    undrained = [(source.height - source.drained(m)) * row_in for m in range(len(strips) + 1)]
    made = [min(out.h, (m + 1) * rows) * out.row_bytes for m in strips]
    if tile:
        rest = min(max(0, out.w - tile) * out.c, max(0, source.width - source.columns) * source.channels)
        together = [alive + new - rest for alive, new in zip(undrained, made, strict=False)]
    else:
        together = [alive + new for alive, new in zip(undrained[1:], made, strict=True)]
    return max(source.nbytes, out.nbytes, *together)
