"""Result of fit(): the boards on which a model fits."""

import math
from dataclasses import dataclass
from typing import Any

from tflm_memopt.analysis.timing import Time
from tflm_memopt.answers.convention import plain
from tflm_memopt.answers.report import BeforeAfter
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.targets.boards import Board, BoardFit
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class BoardReport:
    board: Board
    original: BoardFit
    rewritten: BoardFit
    time: Time | None = None
    """Estimated time of an inference on the board, or None if the board's core has no cost table."""
    target: str = GENERIC
    """Target for which the rewritten model's weights are packed."""

    @property
    def slow_needed(self) -> int:
        """Number of bytes of slow memory that the rewritten model needs."""
        return self.board.external_ram - self.rewritten.slow_left

    @property
    def distance(self) -> float:
        """How far the board's memory is from the memory that the model needs, as a ratio of at least 1. RAM or flash
        counts, whichever is scarcer.
        """
        fit = self.rewritten
        needs = ((fit.ram_needed, fit.ram_left), (fit.flash.total, fit.flash_left))
        room = min((need + left) / max(1, need) for need, left in needs)
        return max(room, 1 / room) if room > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Fits:
    model: str
    convention: str
    original_arena: Arena
    arena: Arena
    flash: BeforeAfter[int]
    """Number of bytes of the .tflite files."""
    boards: tuple[BoardReport, ...]
    original_refused: str = ""
    """Reason why TFLM refuses the original model, or "" if TFLM accepts the original model."""

    def nearest(self, number: int) -> tuple[BoardReport, ...]:
        """Return the `number` boards whose RAM and flash are closest to the rewritten model's needs."""
        nearest = sorted(self.boards, key=lambda row: row.distance)[:number]
        return tuple(row for row in self.boards if row in nearest)

    def __repr__(self) -> str:
        fitting = sum(row.rewritten.fits for row in self.boards)
        return f"<Fits of {self.model!a}: rewritten on {fitting} of {len(self.boards)} boards>"

    def to_json(self) -> dict[str, Any]:
        return plain(self)
