"""What inspect() answers: what a model is, unchanged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tflm_memopt.analysis.diagnosis import Diagnosis
from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.answers.convention import convention, in_one_line, with_arenas
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.targets.boards import BoardFit
from tflm_memopt.tflm.arena import Arena


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
    diagnosis: Diagnosis
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
    waiting: int
    """Tensors that wait for a reduction of themselves, in full; a second pass may make them again."""
    memory: MemoryMap = field(repr=False)
    """As TFLM's own planner lays it out."""
    firmware: Firmware = field(repr=False)
    """What it needs in flash."""
    fits: tuple[BoardFit, ...] = field(repr=False)
    """On every board."""
    refused: str = ""
    """Why TFLM itself refuses the model; empty: the types speak against nothing."""

    @property
    def convention(self) -> str:
        """How the arena is counted."""
        return convention(self.arena)

    def __repr__(self) -> str:
        total, count = self.arena.figure(self.arena.total), len(self.operators)
        what = f"{self.diagnosis.what}, {count} operators, arena {total} B, {self.convention}"
        return f"<Inspection of {in_one_line(self.model)}: {what}>"

    def to_json(self) -> dict[str, Any]:
        """All but the memory map, the firmware and the boards."""
        return {key: value for key, value in with_arenas(self).items() if key not in ("memory", "firmware", "fits")}
