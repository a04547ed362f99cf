"""Loop nest of an operator in a group: stripes of rows, column tiles in a stripe, rows in a tile.

A stripe of rows may be processed once per channel group. One iteration is a *unit*: it makes up to `tile` pixels of one
row. In the simplest loop nest, a stripe is one row and a tile is as wide as the tensor.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LoopNest:
    """The stripes of an operator.

    Stripe m makes output rows [lo_m, hi_m) with hi_m = m * advance + end, clipped to the tensor's height. If rows ==
    advance, every row is made once ("cache"), and lo_m = hi_(m-1). If rows > advance, lo_m = m * advance + end - rows,
    clipped, and the overlap of two stripes is made again ("recompute").
    """

    advance: int = 1
    end: int = 1
    rows: int = 1
    tile: int = 0
    """Number of columns, or 0 for all."""
    channel_groups: int = 1
    """Number of channel groups, each of which processes the stripe once and makes its own channels of every pixel."""
    sums: bool = False
    """Whether each channel group adds to int32 sums of all channels (the projection of FDT). One more pass over the
    stripe then writes the pixels when the previous operators no longer need their inputs.
    """

    @property
    def recomputes(self) -> bool:
        return self.rows > self.advance

    @property
    def splits(self) -> bool:
        """Whether an inner pixel holds the channels of only one channel group."""
        return self.channel_groups > 1 and not self.sums

    @property
    def by_rows(self) -> bool:
        return (self.advance, self.end, self.rows, self.tile, self.channel_groups) == (1, 1, 1, 0, 1)

    @property
    def origin(self) -> int:
        """Row at which the first period begins if every row is made once: 0, or a row above the tensor. Each stripe
        ends with a period.
        """
        return -(-self.end % self.advance)


BY_ROWS = LoopNest()


@dataclass(frozen=True, slots=True)
class Units:
    """All units of a loop nest in order, with a lookup by row and column."""

    nest: LoopNest
    stripe: Ints
    channel_group: Ints
    row: Ints
    x0: Ints
    x1: Ints
    lo: Ints
    """First row of each stripe."""
    hi: Ints
    start: Ints
    """Number of each stripe's first unit."""
    tiles: int

    def __len__(self) -> int:
        return len(self.row)

    def stripe_making(self, row: Ints, stripe: Ints) -> Ints:
        """Return the stripe that makes this row for a reader: the reader's own stripe if rows are recomputed."""
        return stripe if self.nest.recomputes else np.searchsorted(self.hi, row, side="right")

    def index(self, stripe: Ints, channel_group: Ints | int, row: Ints, column: Ints) -> Ints:
        """Return the number of the unit that makes a pixel."""
        tile = self.nest.tile
        j = column // tile if tile else 0 * column
        result: Ints = (
            self.start[stripe] + (channel_group * self.tiles + j) * (self.hi - self.lo)[stripe] + row - self.lo[stripe]
        )
        return result


@functools.lru_cache(maxsize=1024)
def units(nest: LoopNest, stripes: int, height: int, width: int) -> Units:
    """Return the units that make a tensor of this size in this number of stripes."""
    m = np.arange(stripes, dtype=np.int64)
    hi = np.clip(m * nest.advance + nest.end, 0, height)
    if nest.recomputes:
        lo = np.clip(m * nest.advance + nest.end - nest.rows, 0, height)
    else:
        lo = np.concatenate(([0], hi[:-1]))
    tile = nest.tile or width
    tiles = -(-width // tile)
    made = hi - lo
    counts = made * tiles * nest.channel_groups
    start = np.concatenate(([0], np.cumsum(counts)[:-1]))
    stripe = np.repeat(m, counts)
    within = np.arange(int(counts.sum()), dtype=np.int64) - start[stripe]
    rows_here = np.maximum(made[stripe], 1)
    column, channel_group = within // rows_here % tiles, within // (rows_here * tiles)
    row = lo[stripe] + within % rows_here
    return Units(
        nest, stripe, channel_group, row, column * tile, np.minimum((column + 1) * tile, width), lo, hi, start, tiles
    )
