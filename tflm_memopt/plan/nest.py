"""Describes the order in which an operator computes its output: stripes of rows, tiles of columns, then rows of a tile.

The channels of an operator may be divided into channel groups. All tiles of a stripe are computed for one channel
group, and then for the next channel group. One iteration computes up to `tile` pixels of one row.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LoopNest:
    """Divides the rows of an operator into stripes of adjacent rows.

    Stripe `m` ends before row `m × advance + end`, or at the end of the tensor. If `rows == advance`, each stripe
    begins where the previous stripe ends, and each row is computed once ("cache"). If `rows > advance`, each stripe has
    `rows` rows, and rows that two stripes share are computed twice ("recompute").
    """

    advance: int = 1
    end: int = 1
    rows: int = 1
    tile: int = 0
    """Number of columns of a tile, or 0 for all columns."""
    channel_groups: int = 1
    sums: bool = False
    """Whether all channel groups add to the same int32 sums, which are converted to pixels after the last channel
    group.
    """

    @property
    def recomputes(self) -> bool:
        return self.rows > self.advance

    @property
    def splits(self) -> bool:
        return self.channel_groups > 1 and not self.sums

    @property
    def by_rows(self) -> bool:
        return (self.advance, self.end, self.rows, self.tile, self.channel_groups) == (1, 1, 1, 0, 1)

    @property
    def origin(self) -> int:
        """First row of stripe 0 if each row is computed once. A row above the tensor has a negative index."""
        return -(-self.end % self.advance)


BY_ROWS = LoopNest()


@dataclass(frozen=True, slots=True)
class NestIterations:
    nest: LoopNest
    stripe: Ints
    channel_group: Ints
    row: Ints
    x0: Ints
    x1: Ints
    lo: Ints
    hi: Ints
    start: Ints
    tiles: int

    def __len__(self) -> int:
        return len(self.row)

    def stripe_making(self, row: Ints, stripe: Ints) -> Ints:
        """Return the stripes in which an operator computes `row`. The argument `stripe` has the stripes in which the
        next operator reads the row.
        """
        return stripe if self.nest.recomputes else np.searchsorted(self.hi, row, side="right")

    def index(self, stripe: Ints, channel_group: Ints | int, row: Ints, column: Ints) -> Ints:
        tile = self.nest.tile
        j = column // tile if tile > 1 else column * tile
        made, first = self.hi - self.lo, self.start - self.lo
        result: Ints = first[stripe] + row + (channel_group * self.tiles + j) * made[stripe]
        return result


@functools.lru_cache(maxsize=1024)
def nest_iterations(nest: LoopNest, stripes: int, height: int, width: int) -> NestIterations:
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
    return NestIterations(
        nest, stripe, channel_group, row, column * tile, np.minimum((column + 1) * tile, width), lo, hi, start, tiles
    )
