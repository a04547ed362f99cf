"""Limits of RAM, flash, compute and time that a plan must keep."""

from dataclasses import dataclass, replace

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.analysis.timing import Clock, TimeLimit
from tflm_memopt.plan.search.spill import SlowCost
from tflm_memopt.targets.boards import Board, fit
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class FlashLimit:
    """Limit of flash in bytes for the model, the C library and TFLM."""

    nbytes: int
    core: str


@dataclass(frozen=True, slots=True)
class SlowMemory:
    """Memory besides the arena, such as PSRAM, for whole tensors that do not fit into the arena."""

    nbytes: int
    cost: SlowCost
    asked: bool = True
    """True if the user requested slow memory, and False if the user only named a board that has slow memory."""
    clock: Clock | None = None
    """Clock of the core, for the time of plans with slow memory, or None if times are unknown."""


@dataclass(frozen=True, slots=True)
class Limits:
    overhead: float | None = None
    """Maximum compute factor F, or None for the smallest F with which a plan keeps the RAM limit."""
    total: int | None = None
    """Maximum number of bytes of the whole arena, tail included, or None for no limit."""
    instructions: int | None = None
    """Maximum number of estimated instructions (instructions.py), or None for no limit."""
    board: Board | None = None
    time: TimeLimit | None = None
    flash: FlashLimit | None = None
    slow: SlowMemory | None = None

    @property
    def ram(self) -> int | None:
        """Limit of the arena in bytes, set by the user or the board, or None for no limit."""
        board = self.board.arena_limit if self.board else None
        return min((n for n in (self.total, board) if n is not None), default=None)

    @property
    def spills(self) -> bool:
        """Whether plans use slow memory instead of computing rows twice."""
        return self.slow is not None and self.slow.asked and self.overhead is None

    @property
    def timed(self) -> bool:
        return self.instructions is not None or self.time is not None

    def admit(self, arena: Arena) -> bool:
        room = self.board is None or arena.needed <= self.board.arena_limit
        return room and (self.total is None or arena.total <= self.total)

    def admit_beyond(self, arena: Arena) -> bool:
        """Return whether the arena keeps all limits of RAM except the limit `total`."""
        return replace(self, total=None).admit(arena)

    @property
    def flash_room(self) -> FlashLimit | None:
        board = FlashLimit(self.board.flash_limit, self.board.flash_core) if self.board else None
        return min((one for one in (self.flash, board) if one), key=lambda one: one.nbytes, default=None)

    def flash_missing(self, needs: Firmware) -> int:
        """Return the number of bytes by which the model exceeds the flash limit, or 0."""
        room = self.flash_room
        return max(0, needs.on(room.core).total - room.nbytes) if room else 0

    def fit(self, arena: Arena, needs: Firmware) -> bool:
        on_board = self.board is None or fit(self.board, arena, needs).fits
        return on_board and self.admit(arena) and not self.flash_missing(needs)
