"""What the search for tiled blocks is asked, and what it answers: plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

STRIP_ROWS = (1, 2, 3, 4, 6, 8)
"""Rows of a block's output per strip that are tried."""
WHOLE_MAP = 16


class Input(str, enum.Enum):
    """Where the chain's own inputs are, and so whether they are counted."""

    RESIDENT = "resident"
    """Whole in the arena, released as it is read."""
    STREAMED = "streamed"
    """Pushed row by row: a ring of the rows that the first block needs at once."""
    FREE = "free"
    """Outside the arena, not counted (msf-CNN, section 6)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is counted and what the search may use; every ingredient can be switched off, to show its worth."""

    input: Input = Input.RESIDENT
    pushed: int = 1
    """Rows of a streamed input that come at once."""
    count_output: bool = True
    """Whether the output of the chain's last operator takes bytes (msf-CNN: no)."""
    counter_bytes: int = 8
    """RAM per operator of a tiled block: strip, group, tile, row (the papers count none)."""
    strip_rows: tuple[int, ...] = STRIP_ROWS
    whole_map: int = WHOLE_MAP
    """Maps of at most so many rows are tried as one strip, too."""
    tile: int = 1
    """Columns per unit; a large number is the full width."""
    cache: bool = True
    """Overlap of two strips may be kept."""
    recompute: bool = True
    """Overlap of two strips may be computed again."""
    group_channels: int = 8
    """Channels per group of expand -> depthwise -> project, and of hidden dense layers; 0: no groups."""
    overlap: bool = True
    """A block's output may grow into the bytes that its input leaves."""
    max_overhead: float = 4.0
    """Multiply-accumulates, as a multiple of the original's, beyond which a plan is of no interest."""
    epsilon: float = 1e-4
    """Share of the original's multiply-accumulates by which a label must beat one of fewer bytes to be kept."""

    @property
    def once(self) -> Settings:
        """The same, but nothing is computed twice."""
        return replace(self, recompute=False, max_overhead=1.0)


NO_RECOMPUTE = Settings().once


@dataclass(frozen=True, slots=True)
class TiledWalk:
    """Which rows of its output an operator makes in strip m: [m*advance + end - rows, m*advance + end), clipped.

    rows == advance: every row once. rows > advance: the overlap of two strips is made in both. All operators of a block
    share the strip index. The walk of an iterative operator is that of its input.
    """

    advance: int
    end: int
    """May be negative: nothing in the first strips."""
    rows: int
    tile: int = 1
    """Columns of a unit: a strip is walked tile by tile, a tile row by row."""
    groups: int = 1
    """Times that a strip is walked, once per group of channels. The operator that adds the groups up walks it once
    more: then it writes, and reads nothing."""
    first: int = 0
    """Strips before this one make nothing: the rows would serve only rows that do not exist."""

    @property
    def cached(self) -> bool:
        return self.rows == self.advance

    def made(self, strip: int, height: int) -> tuple[int, int]:
        """Half-open range of the rows made in a strip."""
        high = self._below(strip, height)
        if self.cached:
            return self._below(strip - 1, height), high
        return min(high, max(0, strip * self.advance + self.end - self.rows)), high

    def _below(self, strip: int, height: int) -> int:
        """Rows that exist after a strip."""
        return min(height, max(0, strip * self.advance + self.end)) if strip >= self.first else 0


@dataclass(frozen=True, slots=True)
class TiledBlock:
    """Operators [first, last) of a chain as one tiled block."""

    first: int
    last: int
    strips: int
    rows: int
    """Rows per strip of the block's output; of an iterative operator's input if there is one."""
    walks: tuple[TiledWalk, ...]
    """Per operator."""
    iterative: tuple[bool, ...]
    """Per operator: adds up its input's pixels one by one in int32 sums."""
    group_channels: int
    """Channels of a group, in operators whose walk has groups; 0: none."""
    nbytes: int
    """Estimate of the arena at the block's worst moment, tensors that live through it included."""
    macs: int
    """Multiply-accumulates of all units, clipped strips and overlaps counted exactly."""
