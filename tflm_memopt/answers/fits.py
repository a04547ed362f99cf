"""Result of fit(): the boards on which a model fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tflm_memopt.analysis.timing import Time
from tflm_memopt.answers.convention import in_one_line, with_arenas
from tflm_memopt.answers.report import Flash
from tflm_memopt.targets.boards import Board, BoardFit
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class BoardReport:
    """Fit of the original and the rewritten model on one board."""

    board: Board
    original: BoardFit
    rewritten: BoardFit
    time: Time | None = None
    """Estimated time of an inference on the board, or None if its core has no cost table."""


@dataclass(frozen=True, slots=True)
class Fits:
    """Result of fit(): how a model fits on each board."""

    model: str
    convention: str
    original_arena: Arena
    arena: Arena
    flash: Flash
    boards: tuple[BoardReport, ...]
    original_refused: str = ""
    """Reason why TFLM refuses the original model, which then fits on no board; otherwise empty."""

    def __repr__(self) -> str:
        fitting = sum(row.rewritten.fits for row in self.boards)
        return f"<Fits of {in_one_line(self.model)}: rewritten on {fitting} of {len(self.boards)} boards>"

    def to_json(self) -> dict[str, Any]:
        return with_arenas(self)
