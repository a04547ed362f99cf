"""Describes common boards (boards.json has the source of each figure), and determines whether a model fits on them."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tflm_memopt.analysis.costs import tables
from tflm_memopt.analysis.flash import OTHERS, Firmware, Footprint
from tflm_memopt.analysis.timing import Clock, FlashTiming, SlowCycles
from tflm_memopt.errors import UsageError, near
from tflm_memopt.ops.packing import TARGETS, Family
from tflm_memopt.tflm.arena import Arena
from tflm_memopt.tflm.structs import Abi

MOST_NAMED = 4
STACK = {"cortex-m": 1_272, "rv32": 1_200, "xtensa": 1_392}
"""Largest stack of an inference in bytes, by the first letters of the core's name (tests/cores)."""


def stack(core: str) -> int:
    """Return the most bytes of stack that an inference takes on a core.

    >>> stack("Cortex-M4F"), stack("Cortex-M55")
    (1272, 1272)
    """
    return next(most for family, most in STACK.items() if core.lower().startswith(family))


@dataclass(frozen=True, slots=True)
class Board:
    """A board, with sizes in bytes.

    `ram` and `flash` include the core software (start-up code, serial port, heap) and the radio stack.
    """

    id: str
    name: str
    chip: str
    core: str
    mhz: float
    abi: Abi
    target: str
    """Name of the target (`--target`) whose kernels suit the board best."""
    ram: int
    flash: int
    largest_block: int
    """Largest contiguous block of the board's RAM, which limits the size of an array."""
    core_ram: int
    core_flash: int
    radio_ram: int
    radio_flash: int
    sources: Mapping[str, str]
    note: str
    platformio: str = ""
    """Name of the board in PlatformIO, as PLATFORM/BOARD."""
    arduino: bool = True
    """True if PlatformIO has an Arduino core for the board."""
    flash_timing: FlashTiming | None = None
    """Flash timing at `mhz`, or None if the flash is not described."""
    external_ram_cycles: SlowCycles | None = None
    """Additional cycles at `mhz` for a byte of PSRAM or SDRAM instead of a byte of `ram`, or None if unknown."""
    external_ram: int = 0
    """Bytes of PSRAM or SDRAM, which is slower than `ram`."""

    @property
    def free_ram(self) -> int:
        """RAM in bytes, without the core software and the stack of an inference."""
        return self.ram - self.core_ram - stack(self.core)

    @property
    def arena_limit(self) -> int:
        """Largest arena in bytes while the core software runs without the radio."""
        return max(0, min(self.largest_block, self.free_ram))

    @property
    def flash_limit(self) -> int:
        """Flash in bytes for model, library and TFLM, while the core software runs without the radio."""
        return max(0, self.flash - self.core_flash)

    @property
    def measured_core(self) -> str | None:
        """Core of costs.json that runs the same code as the board's core, or None."""
        name = "rv32" if self.core.startswith("RV32") else self.core.lower().rstrip("f+")
        return name if name in tables() else None

    def clock(self, core: str, mhz: float | None = None) -> Clock:
        """Return the clock of a core of the board. By default, `mhz` is the frequency of the board."""
        mhz = mhz or float(self.mhz)
        slow = self.external_ram_cycles.times(mhz / self.mhz) if self.external_ram_cycles else None
        return Clock(core, mhz, self.id, self.flash_timing, self.chip, slow)

    @property
    def flash_core(self) -> str:
        """Core of flash.json whose code sizes apply to the board."""
        return self.measured_core or OTHERS


@dataclass(frozen=True, slots=True)
class BoardFit:
    """Tells whether a model fits on a board, and how many bytes stay free. A negative number counts missing bytes."""

    board: str
    name: str
    fits: bool
    fits_with_radio: bool
    ram_left: int
    """Contiguous bytes of RAM beside the core software, the stack and the arena."""
    flash_left: int
    """Bytes of flash that core software, TFLM, the C library and the model leave."""
    flash: Footprint
    ram_needed: int
    """Bytes of the smallest arena with which TFLM runs the model."""
    only_external: bool = False
    known: bool = True
    """Whether the arena use of all operators is known, so that `ram_left` is exact and not an upper bound."""
    runs: bool = True
    slow_left: int = 0
    """Bytes of external RAM that the plan's slow memory leaves free."""

    @property
    def undecided(self) -> bool:
        return self.runs and not self.known and min(self.ram_left, self.flash_left, self.slow_left) >= 0

    @property
    def missed(self) -> str:
        lacking = (("RAM", self.ram_left), ("flash", self.flash_left), ("external RAM", self.slow_left))
        if too_small := [f"{-left:,} B {what}" for what, left in lacking if left < 0]:
            return f"lacks {', '.join(too_small)}"
        return "not known" if self.runs else "other target"

    @property
    def ram_said(self) -> str:
        return f"{self.ram_left:,}" if self.known else f"at most {self.ram_left:,}"


@cache
def boards() -> Mapping[str, Board]:
    """Return all boards by id, with the smallest RAM first."""
    text = resources.files("tflm_memopt.targets").joinpath("boards.json").read_text(encoding="utf-8")
    found = [_board(key, values) for key, values in json.loads(text).items()]
    return {board.id: board for board in sorted(found, key=lambda b: (b.ram, b.id))}


def _board(key: str, values: dict[str, Any]) -> Board:
    timing, slow = values.pop("flash_timing", None), values.pop("external_ram_cycles", None)
    return Board(
        id=key,
        **values,
        flash_timing=FlashTiming(**timing) if timing else None,
        external_ram_cycles=SlowCycles.of(**slow) if slow else None,
    )


def board(name: str) -> Board:
    """Return the board with this id. Raises UsageError for an unknown board."""
    if name not in boards():
        words = {f"{b.name} {b.chip}": key for key, b in boards().items()}
        hint = ", ".join([*near(name, boards(), words, MOST_NAMED), "`fit MODEL --all` lists all boards"])
        raise UsageError(f"unknown board '{name}'", hint=hint)
    return boards()[name]


def runs(on: Board, packed: Collection[Family]) -> bool:
    """Return whether a board can run packed programs. All Espressif chips run programs for ESP-NN (TMO_RUNS_ESP)."""
    own = {Family.ESP} if on.chip.startswith("ESP32") else set()
    return set(packed) <= own | set(TARGETS[on.target].runs)


def fit(on: Board, arena: Arena, model: Firmware, slow: int = 0) -> BoardFit:
    """Return how a model fits on a board. The plan places `slow` bytes in external RAM."""
    can, slow_left = runs(on, model.packed), on.external_ram - slow
    need, flash = arena.needed, model.on(on.flash_core)
    ram_left = min(on.free_ram, on.largest_block) - need
    flash_left = on.flash - on.core_flash - flash.total
    radio = on.free_ram - on.radio_ram - need
    fits = can and arena.exact and min(ram_left, flash_left, slow_left) >= 0
    with_radio = fits and radio >= 0 and flash_left >= on.radio_flash
    external = can and arena.exact and ram_left < 0 <= flash_left and need <= slow_left
    return BoardFit(
        on.id, on.name, fits, with_radio, ram_left, flash_left, flash, need, external, arena.exact, can, slow_left
    )


def fits(arena: Arena, model: Firmware, slow: int = 0) -> tuple[BoardFit, ...]:
    """Return how a model fits on each known board. The plan places `slow` bytes in external RAM."""
    return tuple(fit(on, arena, model, slow) for on in boards().values())
