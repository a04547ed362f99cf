"""Milliseconds of one inference: instructions, times the cycles that one takes, at a clock.

How many cycles an instruction takes depends on wait states of the flash, caches and the pipeline. CYCLES has a range
for the cores of which something was published; of others, only instructions are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tflm_memopt.errors import UsageError

CYCLES: Mapping[str, tuple[float, float]] = {"cortex-m4": (1.2, 1.6)}
"""Per instruction, by core: an assumed range. TFLM with CMSIS-NN was published to take 12.25 M cycles (DS-CNN) and
0.865 M (autoencoder) on an STM32F446; the same models were counted here to take 7.70 M and 0.584 M instructions (kws
and ad in cmsis_nn_counted.json), which makes 1.59 and 1.48."""


@dataclass(frozen=True, slots=True)
class FlashTiming:
    """How a chip's flash answers at its full clock, as far as the model of benchmarks/cycles.py knows flash."""

    wait_states: int
    """Cycles beyond the first for each line that is read from the memory itself."""
    line_bytes: int = 16
    """That are read at once, and that a cache keeps together."""
    instruction_lines: int = 0
    """That a cache for instructions holds; the least lately used one makes room."""
    data_lines: int = 0
    """That a cache for constants holds."""
    prefetch: bool = False
    """The line behind the one that is executed is read ahead."""


NO_WAIT = FlashTiming(0)
"""Code and constants that are there at once, as in tightly coupled memory."""


@dataclass(frozen=True, slots=True)
class Clock:
    """What turns instructions into milliseconds."""

    core: str
    """As costs.json names it, or as its maker does where nothing was measured on it."""
    mhz: float
    board: str = ""
    """Its id; empty: none was named."""

    @property
    def cycles(self) -> tuple[float, float] | None:
        """Per instruction, at least and at most; None: not known."""
        return CYCLES.get(self.core)

    def milliseconds(self, instructions: int | None) -> tuple[float, float] | None:
        """At least and at most; None: not known."""
        if instructions is None or self.cycles is None:
            return None
        low, high = (round(instructions * cycles / self.mhz / 1000, 3) for cycles in self.cycles)
        return low, high

    def instructions(self, milliseconds: float) -> int:
        """That surely take no longer, as far as the range holds. Raises UsageError where cycles are not known."""
        if self.cycles is None:
            raise UsageError(
                f"nothing can be said about time: how many cycles an instruction takes on {self.core} is not known",
                code="cycles_unknown",
                hint=f"--max-instructions, or a board or --target with one of {', '.join(CYCLES)}",
            )
        return math.floor(milliseconds * self.mhz * 1000 / self.cycles[1])


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """At most so many milliseconds, at the upper end of the range of cycles."""

    milliseconds: float
    clock: Clock
    builtin: int = 0
    """Instructions of what TFLM runs itself, beside the plan."""

    @property
    def instructions(self) -> int:
        """That are left for the plan; 0: none."""
        return max(0, self.clock.instructions(self.milliseconds) - self.builtin)

    def least(self, instructions: int) -> float:
        """The limit that a plan of so many would keep, in milliseconds, rounded up."""
        span = self.clock.milliseconds(instructions + self.builtin)
        return math.ceil(10 * span[1]) / 10 if span else math.inf


@dataclass(frozen=True, slots=True)
class Inference:
    """One inference: an estimate."""

    instructions: int
    milliseconds: tuple[float, float] | None
    """At least and at most; None: cycles or clock are not known."""


@dataclass(frozen=True, slots=True)
class Time:
    """A model before and after on one core."""

    core: str
    board: str
    mhz: float | None
    cycles: tuple[float, float] | None
    """Per instruction, at least and at most, as assumed."""
    original: Inference | None
    """Under TFLM with CMSIS-NN (cmsis_nn_cost.py); None: not known."""
    rewritten: Inference | None
    """None: not known, since operators stay builtin that nobody counted."""


def time_of(clock: Clock | None, core: str, original: int | None, rewritten: int | None) -> Time:
    """Time both by their instructions on a core; a model that stays as it is has the same twice."""

    def inference(instructions: int | None) -> Inference | None:
        span = clock.milliseconds(instructions) if clock else None
        return None if instructions is None else Inference(instructions, span)

    return Time(
        core=clock.core if clock else core,
        board=clock.board if clock else "",
        mhz=clock.mhz if clock else None,
        cycles=clock.cycles if clock else CYCLES.get(core),
        original=inference(original),
        rewritten=inference(rewritten),
    )
