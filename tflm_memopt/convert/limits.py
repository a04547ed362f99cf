"""Limits of RAM, flash, compute and time that a plan must keep."""

from __future__ import annotations

from dataclasses import dataclass

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.analysis.timing import Clock, TimeLimit
from tflm_memopt.plan.search.spill import SlowCost
from tflm_memopt.targets.boards import Board, fit
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class FlashLimit:
    """Bytes of flash for the model, the C library and TFLM, with the code sizes of `core` (analysis/flash.py)."""

    nbytes: int
    core: str


@dataclass(frozen=True, slots=True)
class SlowMemory:
    """Memory beside the arena for whole tensors that do not fit there, such as PSRAM."""

    nbytes: int
    cost: SlowCost
    asked: bool = True
    """Whether the user asked for it, rather than the board having it."""
    clock: Clock | None = None
    """Clock with the time of a plan and of its slow bytes, or None if that is unknown."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a plan."""

    overhead: float | None = None
    """Most compute as factor F, or None: F = 1 (no recompute), or whatever `total` needs."""
    total: int | None = None
    """Most bytes of the whole arena, tail included, or None."""
    instructions: int | None = None
    """Most estimated instructions (instructions.py), or None."""
    board: Board | None = None
    """Board on which the model has to fit, or None."""
    time: TimeLimit | None = None
    flash: FlashLimit | None = None
    slow: SlowMemory | None = None
    """Slow memory that a plan may use, or None."""

    @property
    def ram(self) -> int | None:
        """Limit of the arena in bytes: `total`, the board's limit, or the smaller of the two; None without limits."""
        board = self.board.arena_limit if self.board else None
        return min((n for n in (self.total, board) if n is not None), default=None)

    @property
    def spills(self) -> bool:
        """Whether slow memory is used instead of recompute."""
        return self.slow is not None and self.slow.asked and self.overhead is None

    @property
    def timed(self) -> bool:
        """Whether instructions or time are limited."""
        return self.instructions is not None or self.time is not None

    def admit(self, arena: Arena) -> bool:
        """Return whether the arena keeps the RAM limits."""
        room = self.board is None or arena.needed <= self.board.arena_limit
        return room and (self.total is None or arena.total <= self.total)

    @property
    def flash_room(self) -> FlashLimit | None:
        """Return `flash`, the board's limit, or the smaller of the two."""
        board = FlashLimit(self.board.flash_limit, self.board.flash_core) if self.board else None
        return min((one for one in (self.flash, board) if one), key=lambda one: one.nbytes, default=None)

    def flash_missing(self, needs: Firmware) -> int:
        """Return the bytes of flash that are missing on the board or within the limit, 0 if none are."""
        room = self.flash_room
        return max(0, needs.on(room.core).total - room.nbytes) if room else 0

    def fit(self, arena: Arena, needs: Firmware) -> bool:
        """Return whether RAM and flash are enough."""
        on_board = self.board is None or fit(self.board, arena, needs).fits
        return on_board and self.admit(arena) and not self.flash_missing(needs)
