"""Settings of the search for tiled groups, as plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

STRIPE_ROWS = (1, 2, 3, 4, 6, 8)
"""Stripe heights to try, in rows of a group's output."""
WHOLE_MAP = 16


class Input(str, enum.Enum):
    """Place of the chain's own inputs, which determines whether their bytes count."""

    RESIDENT = "resident"
    """The input is whole in the arena and is freed as it is read."""
    STREAMED = "streamed"
    """The input is pushed row by row into a rolling buffer with the rows that the first group needs at once."""
    FREE = "free"
    """The input is outside the arena, so its bytes do not count (msf-CNN, section 6)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The memory that is counted, and the techniques that may be used, each of which can be switched off."""

    input: Input = Input.RESIDENT
    pushed: int = 1
    """Number of rows per push of a streamed input."""
    count_output: bool = True
    """Whether the output of the chain's last operator counts, which it does not in msf-CNN."""
    counter_bytes: int = 8
    """RAM per operator of a tiled group for counters of stripe, channel group, tile and row, which papers omit."""
    stripe_rows: tuple[int, ...] = STRIPE_ROWS
    whole_map: int = WHOLE_MAP
    """Maximum number of rows of a map for which one stripe of all rows is tried, too."""
    tile: int = 1
    """Number of columns per iteration; a large number means the full width."""
    at_once: int = 1
    """Maximum number of pixels that consecutive iterations compute at once."""
    cache: bool = True
    """Whether the overlap of two stripes may be kept."""
    recompute: bool = True
    """Whether the overlap of two stripes may be recomputed."""
    group_channels: int = 8
    """Sizes of channel groups in expand -> depthwise -> project, and of hidden dense layers; 0: no groups."""
    overlap: bool = True
    """Whether a group's output may grow into bytes that its input frees."""
    max_overhead: float = 4.0
    """Limit of the multiply-accumulates as a multiple of the original's."""
    tiled_cost: float = 1.0
    """Cost of a multiply-accumulate in a tiled group, as a multiple of one in a row-wise group."""
    epsilon: float = 1e-4
    """A label with more bytes than another label must save this fraction of the original's multiply-accumulates."""

    @property
    def once(self) -> Settings:
        """The same settings without recomputation."""
        return replace(self, recompute=False, max_overhead=1.0)


NO_RECOMPUTE = Settings().once
