"""How a block walks an operator's output: strips of rows, in a strip column tiles, in a tile rows.

If asked, a strip is walked once per channel group. One step of the walk is a *unit*: it makes up to `tile` pixels of
one row. Row by row is the plainest walk: a strip is a row, a tile is as wide as the tensor.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Walk:
    """Strip m makes output rows [lo_m, hi_m), hi_m = m * advance + end clipped to the tensor's height.

    rows == advance: every row is made once ("cache"), lo_m = hi_(m-1). rows > advance: lo_m = m * advance + end - rows,
    clipped; the overlap of two strips is made again ("recompute").
    """

    advance: int = 1
    end: int = 1
    rows: int = 1
    tile: int = 0
    """Columns; 0: all."""
    groups: int = 1
    """Channel groups: the strip is walked once for each, making that group's channels of every pixel."""
    sums: bool = False
    """Instead, each group adds to int32 sums of all channels (the projection of FDT); one more pass over the strip
    writes the pixels, when the operators in front are done with their inputs."""

    @property
    def recomputes(self) -> bool:
        return self.rows > self.advance

    @property
    def splits(self) -> bool:
        """A pixel inside the block has the channels of one group only."""
        return self.groups > 1 and not self.sums

    @property
    def by_rows(self) -> bool:
        return (self.advance, self.end, self.rows, self.tile, self.groups) == (1, 1, 1, 0, 1)

    @property
    def origin(self) -> int:
        """The row from which the periods of rows that are made once count: a strip ends where a period does."""
        return -(-self.end % self.advance)


BY_ROWS = Walk()


@dataclass(frozen=True, slots=True)
class Units:
    """All units of a walk, in order, and how to find one."""

    walk: Walk
    strip: Ints
    group: Ints
    row: Ints
    x0: Ints
    x1: Ints
    lo: Ints
    """Per strip."""
    hi: Ints
    start: Ints
    """Per strip: number of its first unit."""
    tiles: int

    def __len__(self) -> int:
        return len(self.row)

    def strip_making(self, row: Ints, strip: Ints) -> Ints:
        """Where a reader in `strip` finds this row: its own strip if rows are made again, else the one that made it."""
        return strip if self.walk.recomputes else np.searchsorted(self.hi, row, side="right")

    def index(self, strip: Ints, group: Ints | int, row: Ints, column: Ints) -> Ints:
        """Number of the unit that makes a pixel."""
        tile = self.walk.tile
        j = column // tile if tile else 0 * column
        result: Ints = self.start[strip] + (group * self.tiles + j) * (self.hi - self.lo)[strip] + row - self.lo[strip]
        return result


@functools.lru_cache(maxsize=1024)
def units(walk: Walk, strips: int, height: int, width: int) -> Units:
    """The units that make a tensor of this size in so many strips."""
    m = np.arange(strips, dtype=np.int64)
    hi = np.clip(m * walk.advance + walk.end, 0, height)
    if walk.recomputes:
        lo = np.clip(m * walk.advance + walk.end - walk.rows, 0, height)
    else:
        lo = np.concatenate(([0], hi[:-1]))
    tile = walk.tile or width
    tiles = -(-width // tile)
    made = hi - lo
    counts = made * tiles * walk.groups
    start = np.concatenate(([0], np.cumsum(counts)[:-1]))
    strip = np.repeat(m, counts)
    within = np.arange(int(counts.sum()), dtype=np.int64) - start[strip]
    rows_here = np.maximum(made[strip], 1)
    column, group = within // rows_here % tiles, within // (rows_here * tiles)
    row = lo[strip] + within % rows_here
    return Units(walk, strip, group, row, column * tile, np.minimum((column + 1) * tile, width), lo, hi, start, tiles)
