"""What fit() answers: the boards on which a model fits."""

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
    """A board, and a model on it as it is and rewritten."""

    board: Board
    original: BoardFit
    rewritten: BoardFit
    time: Time | None = None
    """How long an inference takes there, estimated; None: not known on its core."""


@dataclass(frozen=True, slots=True)
class Fits:
    """What fit() says: on which boards a model fits."""

    model: str
    convention: str
    original_arena: Arena
    arena: Arena
    flash: Flash
    boards: tuple[BoardReport, ...]
    original_refused: str = ""
    """Why TFLM refuses the original; then it fits on no board."""

    def __repr__(self) -> str:
        fitting = sum(row.rewritten.fits for row in self.boards)
        return f"<Fits of {in_one_line(self.model)}: rewritten on {fitting} of {len(self.boards)} boards>"

    def to_json(self) -> dict[str, Any]:
        return with_arenas(self)
