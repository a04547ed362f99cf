"""Settings of the search for tiled groups: plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

STRIPE_ROWS = (1, 2, 3, 4, 6, 8)
"""Rows of a group's output per stripe that are tried."""
WHOLE_MAP = 16


class Input(str, enum.Enum):
    """Place of the chain's own inputs, which decides whether they are counted."""

    RESIDENT = "resident"
    """The input is whole in the arena and is freed as it is read."""
    STREAMED = "streamed"
    """The input is pushed row by row into a rolling buffer with the rows that the first group needs at once."""
    FREE = "free"
    """The input is outside the arena and not counted (msf-CNN, section 6)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Counted memory and permitted techniques. Each technique can be switched off to measure its effect."""

    input: Input = Input.RESIDENT
    pushed: int = 1
    """Rows per push of a streamed input."""
    count_output: bool = True
    """Whether the output of the chain's last operator counts (in msf-CNN it does not)."""
    counter_bytes: int = 8
    """RAM per operator of a tiled group for stripe, channel group, tile and row (the papers count none)."""
    stripe_rows: tuple[int, ...] = STRIPE_ROWS
    whole_map: int = WHOLE_MAP
    """Maps with at most this many rows are also tried as one stripe."""
    tile: int = 1
    """Columns per unit; a large number means the full width."""
    cache: bool = True
    """The overlap of two stripes may be kept."""
    recompute: bool = True
    """The overlap of two stripes may be recomputed."""
    group_channels: int = 8
    """Channels per group of expand -> depthwise -> project, and of hidden dense layers; 0 for no channel groups."""
    overlap: bool = True
    """A group's output may grow into bytes that its input frees."""
    max_overhead: float = 4.0
    """Limit of the multiply-accumulates as a multiple of the original's."""
    epsilon: float = 1e-4
    """Fraction of the original's multiply-accumulates by which a label must beat one with fewer bytes."""

    @property
    def once(self) -> Settings:
        """The same settings without recomputation."""
        return replace(self, recompute=False, max_overhead=1.0)


NO_RECOMPUTE = Settings().once
