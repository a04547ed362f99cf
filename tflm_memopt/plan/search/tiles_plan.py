"""What the search for tiled blocks is asked: plain data."""

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
