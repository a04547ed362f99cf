"""What became of a model's operators: those in blocks, and those that stayed builtin."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptBuiltin:
    """An operator that TFLM's own kernel runs, and why."""

    index: int
    operator: str
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class RingReport:
    """A tensor of which `depth` of `rows` rows are kept; of a tiled block (`depth` 0): `bytes` of its pixels."""

    tensor: str
    rows: int
    depth: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StageReport:
    """An operator inside a block, and how it makes its output there."""

    ops: tuple[int, ...]
    """Indices in the original model."""
    operator: str
    tensor: str
    """Its output."""
    kept: int
    """Bytes of it that the arena has room for."""
    whole: int
    """Bytes of all of it."""
    strip: int
    """Rows that it makes in one strip."""
    tile: int
    """Columns at a time; 0: whole rows."""
    groups: int
    """Channel groups, one at a time."""
    again: bool
    """Rows that two strips share are computed twice."""
    cached: bool
    """Rows that two strips share are kept."""
    sums: bool
    """It adds up int32 sums, an input row or a channel group at a time."""
    packed: bool
    """A kernel of the target runs it; else a generic one does."""
    second_pass: bool = False
    """It computes its tensor a second time, instead of its waiting for a reduction of itself."""


@dataclass(frozen=True, slots=True)
class BlockReport:
    """A fusion block: operators (indices in the original model), what it keeps inside, bytes of its worst moment."""

    ops: tuple[int, ...]
    operators: tuple[str, ...]
    rings: tuple[RingReport, ...]
    strips: int
    """In which a tiled block runs; 0: row by row."""
    accumulators: int
    """Bytes of int32 sums."""
    scratch: int
    """Bytes that kernels take while they run."""
    bytes: int
    """Arena from the lowest to the highest byte that is alive during the block."""
    stages: tuple[StageReport, ...] = ()
