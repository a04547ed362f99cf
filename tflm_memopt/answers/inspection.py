"""Result of inspect(): the contents of an unchanged model."""

from dataclasses import dataclass, field
from typing import Any

from tflm_memopt.analysis.diagnosis import Diagnosis
from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.answers.convention import convention, plain
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
    index: int
    operator: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    macs: int
    channels: int
    """Number of the operator's output channels, or 0 for an operator without weights."""
    dead_channels: int
    """Number of output channels that are removed because they cannot influence any output of the model."""
    live_bytes: int
    supported: bool
    code: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class Inspection:
    model: str
    diagnosis: Diagnosis
    flash: int
    operators: tuple[OperatorReport, ...]
    tensors: tuple[TensorReport, ...]
    arena: Arena
    peak_operator: int | None
    """Index of the operator during which the most bytes of activations are live."""
    macs: int
    dead_macs: int
    """Number of multiply-accumulates for channels that cannot influence any output."""
    channels: int
    dead_channels: int
    waiting: int
    """Number of tensors that could be computed a second time instead of being kept."""
    memory: MemoryMap = field(repr=False)
    """Memory map of the arena that TFLM's own planner makes for the model."""
    firmware: Firmware = field(repr=False)
    """Estimated flash that the model takes under TFLM."""
    fits: tuple[BoardFit, ...] = field(repr=False)
    """For each known board, whether the model fits, and how many bytes are left."""
    refused: str = ""
    """Reason why TFLM refuses the model, or "" if TFLM accepts the types of all operators."""

    @property
    def convention(self) -> str:
        return convention(self.arena)

    def __repr__(self) -> str:
        total, count = self.arena.figure(self.arena.total), len(self.operators)
        what = f"{self.diagnosis.what}, {count} operators, arena {total} B, {self.convention}"
        return f"<Inspection of {self.model!a}: {what}>"

    def to_json(self) -> dict[str, Any]:
        return plain(self, "memory", "firmware", "fits")
