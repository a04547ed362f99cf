"""What optimize() and inspect() answer: plain data, computed once; the report only shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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
    """A tensor of which `depth` of `rows` rows are kept."""

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
    overhead: float
    """F: multiply-accumulates executed / of the original."""
    macs: Macs
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

    @property
    def convention(self) -> str:
        """How the arena is counted."""
        return convention(self.arena)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
