"""Common boards, and whether a model fits on them: boards.json says what each has, and where each figure comes from."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tflm_memopt.analysis.costs import tables
from tflm_memopt.analysis.flash import OTHERS, Firmware, Footprint
from tflm_memopt.analysis.timing import FlashTiming
from tflm_memopt.errors import UsageError, near
from tflm_memopt.ops.packing import TARGETS, Family
from tflm_memopt.tflm.arena import Arena
from tflm_memopt.tflm.structs import Abi

MOST_NAMED = 4
"""Boards that are named for one that is not known."""
STACK = 1_024
"""Bytes of stack of one Invoke."""


@dataclass(frozen=True, slots=True)
class Board:
    """Bytes. `ram` and `flash`: what a program may use in all; the core (start-up code, serial port, heap) and the
    radio stack take their part of it.
    """

    id: str
    name: str
    chip: str
    core: str
    mhz: int
    """The clock that its board definition sets."""
    abi: Abi
    target: str
    """Kernels that suit it best."""
    ram: int
    flash: int
    largest_block: int
    """The largest block of RAM: no array is larger."""
    core_ram: int
    core_flash: int
    radio_ram: int
    radio_flash: int
    sources: Mapping[str, str]
    """Addresses of the documents that the figures are from."""
    note: str
    platformio: str = ""
    """PLATFORM/BOARD there."""
    arduino: bool = True
    """PlatformIO has an Arduino core for it."""
    flash_timing: FlashTiming | None = None
    """At `mhz`; None: not described."""
    external_ram: int = 0
    """PSRAM or SDRAM beside `ram`, which is slower: an arena in it is not said to fit, but that it would."""

    @property
    def arena_limit(self) -> int:
        """Bytes for an arena when the core runs, without its radio."""
        return max(0, min(self.largest_block, self.ram - self.core_ram - STACK))

    @property
    def flash_limit(self) -> int:
        """Bytes for the model, the library and TFLM when the core is there, without its radio."""
        return max(0, self.flash - self.core_flash)

    @property
    def measured_core(self) -> str | None:
        """The core of analysis/costs.py that is like its own."""
        name = "rv32" if self.core.startswith("RV32") else self.core.lower().rstrip("f+")
        return name if name in tables() else None

    @property
    def flash_core(self) -> str:
        """The core of analysis/flash.py whose code is taken for its own."""
        return self.measured_core or OTHERS


@dataclass(frozen=True, slots=True)
class BoardFit:
    """A model on a board. The figures say how many bytes are left over; negative: are missing."""

    board: str
    name: str
    fits: bool
    """Beside the core."""
    fits_with_radio: bool
    ram_left: int
    """After core, stack and arena, in one piece."""
    flash_left: int
    """After core, TFLM, the C library and the model."""
    flash: Footprint
    only_external: bool = False
    """The arena fits in the board's external RAM, not in its RAM."""
    known: bool = True
    """False: some operators' share of the arena is not known. Then less RAM is left than `ram_left`, and the model is
    not said to fit."""

    runs: bool = True
    """Its core runs the programs as they are packed."""

    @property
    def undecided(self) -> bool:
        """Whether it fits depends on what is not known."""
        return self.runs and not self.known and self.ram_left >= 0 and self.flash_left >= 0

    @property
    def missed(self) -> str:
        """Why it does not fit, in two words."""
        if self.ram_left < 0 or self.flash_left < 0:
            return "too large"
        return "not known" if self.runs else "other target"

    @property
    def ram_said(self) -> str:
        """`ram_left`, for people."""
        return f"{self.ram_left:,}" if self.known else f"at most {self.ram_left:,}"


@cache
def boards() -> Mapping[str, Board]:
    """By id, smallest RAM first."""
    text = resources.files("tflm_memopt.targets").joinpath("boards.json").read_text(encoding="utf-8")
    found = [_board(key, values) for key, values in json.loads(text).items()]
    return {board.id: board for board in sorted(found, key=lambda b: (b.ram, b.id))}


def _board(key: str, values: dict[str, Any]) -> Board:
    timing = values.pop("flash_timing", None)
    return Board(id=key, **values, flash_timing=FlashTiming(**timing) if timing else None)


def board(name: str) -> Board:
    """UsageError for one that is not known."""
    if name not in boards():
        words = {f"{b.name} {b.chip}": key for key, b in boards().items()}
        hint = ", ".join([*near(name, boards(), words, MOST_NAMED), "fit MODEL lists all"])
        raise UsageError(f"'{name}' is no board that is known", code="unknown_board", hint=hint)
    return boards()[name]


def runs(on: Board, packed: Collection[Family]) -> bool:
    """Whether its core runs programs that are packed for these."""
    return set(packed) <= set(TARGETS[on.target].runs)


def fit(on: Board, arena: Arena, model: Firmware) -> BoardFit:
    """A model beside the board's core, and beside its radio, too."""
    can = runs(on, model.packed)
    need, flash = arena.needed, model.on(on.flash_core)
    ram_left = min(on.ram - on.core_ram - STACK, on.largest_block) - need
    flash_left = on.flash - on.core_flash - flash.total
    radio = on.ram - on.core_ram - on.radio_ram - STACK - need
    fits = can and arena.exact and ram_left >= 0 and flash_left >= 0
    beside = fits and radio >= 0 and flash_left >= on.radio_flash
    external = can and arena.exact and ram_left < 0 <= flash_left and need <= on.external_ram
    return BoardFit(on.id, on.name, fits, beside, ram_left, flash_left, flash, external, arena.exact, can)


def fits(arena: Arena, model: Firmware) -> tuple[BoardFit, ...]:
    """On every board."""
    return tuple(fit(on, arena, model) for on in boards().values())
