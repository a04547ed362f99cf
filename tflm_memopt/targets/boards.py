"""Describes common boards, and determines whether a model fits on them. The file boards.json states the source of each
figure.
"""

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
TWO_CORES = frozenset({"ESP32", "ESP32-P4", "ESP32-S3", "RP2040", "RP2350"})
"""Chips with two equal cores that share their RAM."""
STACK = {"cortex-m": 1_272, "rv32": 1_200, "xtensa": 1_392}
"""Maps the first letters of a core's name to the largest stack of an inference in bytes (measured in tests/cores)."""


def stack(core: str) -> int:
    """Return the largest stack of an inference on a core, in bytes.

    >>> stack("Cortex-M4F"), stack("Cortex-M55")
    (1272, 1272)
    """
    return next(most for family, most in STACK.items() if core.lower().startswith(family))


@dataclass(frozen=True, slots=True)
class Board:
    """A board, with all sizes in bytes.

    The sizes `ram` and `flash` include the core software (start-up code, serial port, heap) and the radio stack.
    """

    id: str
    name: str
    chip: str
    core: str
    mhz: float
    abi: Abi
    target: str
    """Value of the option `--target` with the fastest kernels for the board."""
    ram: int
    flash: int
    largest_block: int
    """Size in bytes of the largest array that fits in one block of the board's RAM."""
    core_ram: int
    core_flash: int
    radio_ram: int
    radio_flash: int
    sources: Mapping[str, str]
    note: str
    platformio: str = ""
    """Name of the board in PlatformIO, as PLATFORM/BOARD."""
    stm32: str = ""
    """Name of the chip in STM32CubeIDE, or "" for other chips and for chips with two programmable cores."""
    arduino: bool = True
    flash_timing: FlashTiming | None = None
    """Flash timing at the frequency `mhz`, or None if unknown."""
    external_ram_cycles: SlowCycles | None = None
    """Additional cycles per byte in PSRAM or SDRAM at the frequency `mhz`, or None if unknown."""
    external_ram: int = 0
    """Size in bytes of the board's PSRAM or SDRAM, which is slower than internal RAM."""

    @property
    def free_ram(self) -> int:
        """RAM in bytes, without the core software and the stack of an inference."""
        return self.ram - self.core_ram - stack(self.core)

    @property
    def arena_limit(self) -> int:
        """Largest arena in bytes if the application uses no radio."""
        return max(0, min(self.largest_block, self.free_ram))

    @property
    def flash_limit(self) -> int:
        """Flash in bytes for the model, the C library and TFLM, if the application uses no radio."""
        return max(0, self.flash - self.core_flash)

    @property
    def measured_core(self) -> str | None:
        """Name under which costs.json lists the costs of the board's core, or None without costs."""
        name = "rv32" if self.core.startswith("RV32") else self.core.lower().rstrip("f+")
        return name if name in tables() else None

    def clock(self, core: str, mhz: float | None = None) -> Clock:
        """Return the clock of a core of the board, by default at the board's frequency (`mhz`)."""
        mhz = mhz or float(self.mhz)
        slow = self.external_ram_cycles.times(mhz / self.mhz) if self.external_ram_cycles else None
        return Clock(core, mhz, self.id, self.flash_timing, self.chip, slow)

    @property
    def flash_core(self) -> str:
        return self.measured_core or OTHERS


@dataclass(frozen=True, slots=True)
class BoardFit:
    """Tells whether a model fits on a board, and how many bytes stay free. A negative number of free bytes means that
    bytes are missing.
    """

    board: str
    name: str
    fits: bool
    fits_with_radio: bool
    ram_left: int
    """Free bytes of RAM in one piece, without the core software, the stack and the arena."""
    flash_left: int
    """Free bytes of flash, after the core software, TFLM, the C library and the model."""
    flash: Footprint
    ram_needed: int
    """Size in bytes of the smallest arena with which TFLM runs the model."""
    only_external: bool = False
    known: bool = True
    """True if the arena bytes of all operators are known. If the arena bytes of an operator are unknown, `ram_left` is
    an upper bound.
    """
    runs: bool = True
    slow_left: int = 0
    """Number of bytes of external RAM that the plan does not use, or less than 0 if external RAM is too small."""

    @property
    def undecided(self) -> bool:
        return self.runs and not self.known and min(self.ram_left, self.flash_left, self.slow_left) >= 0

    @property
    def lacking(self) -> dict[str, int]:
        """Number of missing bytes of each memory that is too small."""
        left = {"RAM": self.ram_left, "flash": self.flash_left, "external RAM": self.slow_left}
        return {memory: -nbytes for memory, nbytes in left.items() if nbytes < 0}

    @property
    def missed(self) -> str:
        if lacking := self.lacking:
            return f"lacks {', '.join(f'{nbytes:,} B {memory}' for memory, nbytes in lacking.items())}"
        return "not known" if self.runs else "other target"

    @property
    def ram_said(self) -> str:
        return f"{self.ram_left:,}" if self.known else f"at most {self.ram_left:,}"


@cache
def boards() -> Mapping[str, Board]:
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
    """Return the board with the id `name`. Raises UsageError for an unknown board."""
    if name not in boards():
        words = {f"{b.name} {b.chip}": key for key, b in boards().items()}
        hint = ", ".join([*near(name, boards(), words, MOST_NAMED), "`fit MODEL --all` lists all boards"])
        raise UsageError(f"unknown board '{name}'", hint=hint)
    return boards()[name]


def has_two_cores(on: Board) -> bool:
    """Return whether two cores of the board's chip can run one model, or True for an unknown chip."""
    return on.chip in TWO_CORES or on.chip not in {board.chip for board in boards().values()}


def runs(on: Board, packed: Collection[Family]) -> bool:
    """Return whether a board can run programs with packed weights. All Espressif chips run programs for ESP-NN
    (TMO_RUNS_ESP).
    """
    own = {Family.ESP} if on.chip.startswith("ESP32") else set()
    return set(packed) <= own | set(TARGETS[on.target].runs)


def fit(on: Board, arena: Arena, model: Firmware, slow: int = 0) -> BoardFit:
    """Return how a model fits on a board. The argument `slow` is the number of bytes that the plan places in external
    RAM.
    """
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
    """Return how a model fits on each known board. The argument `slow` is the number of bytes in external RAM."""
    return tuple(fit(on, arena, model, slow) for on in boards().values())
