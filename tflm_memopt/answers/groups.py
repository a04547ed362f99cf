"""Describes the fused and the builtin operators of a model in its report."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptBuiltin:
    """An operator that runs in TFLM's own kernel, and the reason why."""

    index: int
    operator: str
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class RollingBufferReport:
    """A rolling buffer, which holds `depth` of a tensor's `rows` rows or, if `depth` is 0, pixels of a tiled group."""

    tensor: str
    rows: int
    depth: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StageReport:
    """An operator inside a group, and how the group computes its output."""

    ops: tuple[int, ...]
    """Indices of the original model's operators that are combined in this operator."""
    operator: str
    tensor: str
    """Name of the output tensor."""
    kept: int
    """Bytes of the operator's output that are kept in the arena at once."""
    whole: int
    """Bytes of the operator's whole output."""
    stripe: int
    """Number of rows per stripe."""
    tile: int
    """Number of columns per tile, or 0 for whole rows."""
    channel_groups: int
    """Number of channel groups, which run one after the other."""
    again: bool
    """Whether rows that two neighbouring stripes need are computed twice."""
    cached: bool
    """Whether rows that two neighbouring stripes need are kept for the second stripe."""
    sums: bool
    """Whether the operator adds up int32 sums from one input row or one channel group after the other."""
    packed: bool
    """Whether a packed kernel of the target runs the operator instead of a generic kernel."""
    rematerialised: bool = False
    """Whether the operator computes a tensor a second time, instead of keeping it until a reduction over it ends."""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group of fused operators, with their indices in the original model."""

    ops: tuple[int, ...]
    operators: tuple[str, ...]
    rolling_buffers: tuple[RollingBufferReport, ...]
    stripes: int
    """Number of stripes of a tiled group, or 0 for a group that runs row by row."""
    accumulators: int
    """Bytes of int32 sums."""
    scratch: int
    """Bytes of kernel scratch."""
    bytes: int
    """Bytes from the lowest to the highest arena address that is live during the group."""
    stages: tuple[StageReport, ...] = ()
