"""What optimize(), explore() and inspect() answer: plain data, computed once; the report only shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from tflm_memopt.analysis.arena import Arena
from tflm_memopt.plan.plan import Plan


def convention(arena: Arena, input: str = "arena") -> str:  # noqa: A002 (the option's name)
    """What every RAM figure is quoted with: ABI, where the input lives, whose kernels."""
    where = {"arena": "input in the arena"}[input]
    return f"{arena.abi}, {where}, TFLM reference kernels" + ("" if arena.exact else ", an estimate")


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
class BlockReport:
    """A fusion block: operators (indices in the original model), what it keeps inside, bytes of its worst moment."""

    ops: tuple[int, ...]
    operators: tuple[str, ...]
    rings: tuple[RingReport, ...]
    strips: int
    """In which a tiled block runs; 0: row by row."""
    accumulators: int
    """Bytes of int32 sums."""
    bytes: int
    """Arena from the lowest to the highest byte that is alive during the block."""


@dataclass(frozen=True, slots=True)
class InterfaceReport:
    """An input or output that `--int8-io` changed."""

    side: str
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Macs:
    original: int
    rewritten: int


@dataclass(frozen=True, slots=True)
class Flash:
    """Bytes of the .tflite files."""

    original: int
    rewritten: int


@dataclass(frozen=True, slots=True)
class Report:
    """NAME.report.json. Bytes throughout; arenas by the convention of `arena.abi`, input in the arena."""

    model: str
    changed: bool
    why_unchanged: str
    input: str
    op_per: str
    max_macs: float | None
    ram_limit: int | None
    without: tuple[str, ...]
    """Ingredients left out."""
    overhead: float
    """F: multiply-accumulates executed / of the original."""
    macs: Macs
    dead_channels: int
    """Output channels of operators with weights that were folded away, since they cannot influence any output."""
    arena: Arena
    original_arena: Arena
    lower_bound_head: int
    proven: bool
    """No layout of these blocks has a lower head."""
    blocks: tuple[BlockReport, ...]
    flash: Flash
    kept_builtin: tuple[KeptBuiltin, ...]
    interface: tuple[InterfaceReport, ...]
    interface_kept: tuple[str, ...]
    """Inputs and outputs that `--int8-io` had to leave as they are, and why."""
    seconds: float

    @property
    def convention(self) -> str:
        """How the arenas are counted."""
        return convention(self.arena, self.input)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Optimized:
    """A rewritten model, the plan behind it (None when it is unchanged), and the report."""

    model: bytes
    plan: Plan | None
    report: Report


@dataclass(frozen=True, slots=True)
class PointReport:
    """A plan that no other one beats in bytes and in multiply-accumulates. Planned, checked and lowered."""

    overhead: float
    """F."""
    macs: int
    arena: Arena
    blocks: int
    tiled: int
    """Of these blocks, tiled ones; the others run row by row."""
    proven: bool
    """No layout of these blocks has a lower head."""
    plan: Plan

    def to_json(self) -> dict[str, Any]:
        """All but the plan."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("plan", "arena")} | {
            "arena": asdict(self.arena)
        }


@dataclass(frozen=True, slots=True)
class Exploration:
    """What explore() says: the frontier of a model, least compute first, and TFLM today as the reference."""

    model: str
    input: str
    op_per: str
    without: tuple[str, ...]
    original_macs: int
    original_arena: Arena
    points: tuple[PointReport, ...]
    """None when no operator can run row by row."""
    seconds: float

    @property
    def convention(self) -> str:
        """How the arenas are counted."""
        return convention(self.original_arena, self.input)

    def to_json(self) -> dict[str, Any]:
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("points", "original_arena")}
        return kept | {
            "convention": self.convention,
            "original_arena": asdict(self.original_arena),
            "points": [point.to_json() for point in self.points],
        }


@dataclass(frozen=True, slots=True)
class TensorReport:
    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    constant: bool


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """One operator of the model as it is."""

    index: int
    operator: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    macs: int
    channels: int
    """Output channels, if it has weights."""
    dead_channels: int
    """Those that cannot influence any output, whatever the input: folded away."""
    live_bytes: int
    """Activations that are alive while it runs."""
    supported: bool
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What inspect() says about a model."""

    model: str
    flash: int
    operators: tuple[OperatorReport, ...]
    tensors: tuple[TensorReport, ...]
    arena: Arena
    peak_operator: int | None
    """Index of the operator during which most activation bytes are alive."""
    macs: int
    dead_macs: int
    """Those that folding saves."""
    channels: int
    dead_channels: int

    @property
    def convention(self) -> str:
        """How the arena is counted."""
        return convention(self.arena)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
