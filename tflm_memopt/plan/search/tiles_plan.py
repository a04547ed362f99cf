"""Settings of the search for tiled groups."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

STRIPE_ROWS = (1, 2, 3, 4, 6, 8)
WHOLE_MAP = 16


class Input(str, enum.Enum):
    """The place of the model's input. Input bytes count as RAM only if the input is in the arena."""

    RESIDENT = "resident"
    """The whole input is in the arena, and its bytes are freed as they are read."""
    STREAMED = "streamed"
    """The input arrives row by row in a rolling buffer."""
    FREE = "free"
    """The input is outside the arena (msf-CNN, section 6)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the search for tiled groups: the place of the input, and the allowed techniques."""

    input: Input = Input.RESIDENT
    pushed: int = 1
    """Number of rows of a streamed input that arrive together."""
    stripe_rows: tuple[int, ...] = STRIPE_ROWS
    whole_map: int = WHOLE_MAP
    """For feature maps of at most `whole_map` rows, the search also tries a single stripe with all rows."""
    tile: int = 1
    """Number of columns per iteration, or a number above the tensor's width for whole rows."""
    at_once: int = 1
    """Maximum number of pixels that a kernel computes in one call."""
    cache: bool = True
    """Whether buffers may keep rows that two stripes need."""
    recompute: bool = True
    """Whether a row that two stripes need may be computed twice."""
    group_channels: int = 8
    """Number of channels that a chain of layers computes at a time, or 0 for all channels."""
    overlap: bool = True
    max_overhead: float = 4.0
    """Limit of the multiply-accumulates, as a multiple of the original model's multiply-accumulates."""
    tiled_cost: float = 1.0
    """Time of a multiply-accumulate in a tiled group, divided by the time of a multiply-accumulate in whole rows."""
    epsilon: float = 1e-4
    """The search drops a plan if a smaller plan computes hardly more: less than the fraction `epsilon` of the original
    model's multiply-accumulates.
    """

    @property
    def once(self) -> Settings:
        return replace(self, recompute=False, max_overhead=1.0)


NO_RECOMPUTE = Settings().once
