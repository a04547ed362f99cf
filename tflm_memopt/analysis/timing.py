"""Milliseconds of one inference: instructions, times the cycles that one takes, at a clock.

How many cycles an instruction takes depends on what it does, and on how long the flash lets it wait: cycles.json has
that for each kernel, by the model of benchmarks/cycles.py, and how far that model is known to be off. Of cores that the
model does not know, only instructions are known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tflm_memopt.analysis.builtin_cost import builtins
from tflm_memopt.analysis.costs import Work, estimate, tables
from tflm_memopt.errors import UsageError

Span = tuple[float, float]
"""At least and at most."""


@dataclass(frozen=True, slots=True)
class FlashTiming:
    """How a chip's flash answers at its full clock, as far as the model of benchmarks/cycles.py knows flash."""

    wait_states: int
    """Cycles beyond the first for each line that is read from the memory itself."""
    line_bytes: int = 16
    """Bytes that are read at once, and that a cache keeps together."""
    instruction_lines: int = 0
    """That a cache for instructions holds; the least lately used one makes room."""
    data_lines: int = 0
    """Lines that a cache for constants holds."""
    prefetch: bool = False
    """The line behind the one that is executed is read ahead."""

    @property
    def key(self) -> str:
        """By which cycles.json knows it."""
        ahead = ", prefetch" if self.prefetch else ""
        return f"{self.wait_states} of {self.line_bytes} B, {self.instruction_lines} + {self.data_lines}{ahead}"


NO_WAIT = FlashTiming(0)
"""Code and constants that are there at once, as in tightly coupled memory."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Cycles of an instruction on a core with a flash, the model's error included."""

    kernels: Mapping[str, Span]
    """By kernel; "" is for those that were not modelled."""
    cmsis_nn: Span | None
    """What TFLM with CMSIS-NN takes; None: not modelled there."""

    def of(self, kernel: str) -> Span:
        """An instruction in this kernel takes so many."""
        return self.kernels.get(kernel, self.kernels[""])


@cache
def rates(core: str, flash: FlashTiming | None) -> Rates | None:
    """None where nothing is known. Where the flash is not described, what published cycles bear out of a core is said
    of all the flashes that are: from the fastest memory to the slowest.
    """
    whole = _modelled()
    found = whole["cores"].get(core)
    if found is None or (flash is None and "cmsis_nn" not in found):
        return None
    if flash is not None and flash.key not in found["flashes"]:
        return None
    error: Span = (whole["error"]["least"], whole["error"]["most"])
    at = None if flash is None else found["flashes"].index(flash.key)

    def span(each: list[float]) -> Span:
        least, most, *waits = each
        low, high = (0.0, max(waits)) if at is None else (waits[at], waits[at])
        return error[0] * (least + low), error[1] * (most + high)

    kernels = {kernel: span(each) for kernel, each in found["kernels"].items()}
    return Rates(kernels, span(found["cmsis_nn"]) if "cmsis_nn" in found else None)


@cache
def _modelled() -> dict[str, Any]:
    text = resources.files("tflm_memopt.analysis").joinpath("cycles.json").read_text(encoding="utf-8")
    whole: dict[str, Any] = json.loads(text)
    return whole


@dataclass(frozen=True, slots=True)
class Clock:
    """What turns instructions into milliseconds."""

    core: str
    """As costs.json names it, or as its maker does where nothing was measured on it."""
    mhz: float
    board: str = ""
    """Its id; empty: none was named."""
    flash: FlashTiming | None = None
    """The board's; None: not described."""

    @property
    def rates(self) -> Rates | None:
        """None: not known."""
        return rates(self.core, self.flash)

    def cycles(self, work: Iterable[Work]) -> Span | None:
        """What a plan takes, by what its operators do, with the error of estimates; None: not known."""
        if self.rates is None:
            return None
        table = tables()[self.core]
        each = [(estimate(table.kernels, one), self.rates.of(one.kernel)) for one in work]
        least, most = (sum(n * rate[end] for n, rate in each) for end in (0, 1))
        return _widened((least, most), table.high, table.low)

    def builtin(self, instructions: int | None) -> Span | None:
        """Cycles of estimated instructions that TFLM runs itself, with CMSIS-NN; None: not known."""
        if instructions is None or self.rates is None or self.rates.cmsis_nn is None:
            return None
        least, most = self.rates.cmsis_nn
        costs = builtins(self.core)
        return _widened((instructions * least, instructions * most), *((costs.high, costs.low) if costs else (0, 0)))

    def milliseconds(self, cycles: Span | None) -> Span | None:
        """At least and at most; None: not known."""
        return (round(cycles[0] / self.mhz / 1000, 3), round(cycles[1] / self.mhz / 1000, 3)) if cycles else None

    def within(self, milliseconds: float) -> float:
        """Cycles that it does in them. Raises UsageError where nothing is known about what takes them."""
        if self.rates is None:
            raise UsageError(
                f"nothing can be said about time: how many cycles an instruction takes on {self.core} is not known",
                code="time_unknown",
                hint=f"a board or --target with one of {', '.join(timed_cores())}, or --max-instructions alone",
            )
        return milliseconds * self.mhz * 1000


def _widened(span: Span, high: float, low: float) -> Span:
    """A range by what estimates of instructions were too high and too low at the most."""
    return span[0] / (1 + high), span[1] / (1 - low)


def timed_cores() -> list[str]:
    """Cores of which something is known whatever the flash."""
    return [core for core in _modelled()["cores"] if rates(core, None)]


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """At most so many milliseconds, at the upper end of the range of cycles."""

    milliseconds: float
    clock: Clock
    builtin: float = 0
    """Cycles of what TFLM runs itself, beside the plan."""

    @property
    def cycles(self) -> float:
        """Cycles that are left for the plan; 0: none."""
        return max(0.0, self.clock.within(self.milliseconds) - self.builtin)

    def takes(self, work: Iterable[Work]) -> float:
        """Cycles of a plan, at the most, without what is builtin."""
        span = self.clock.cycles(work)
        return span[1] if span else math.inf

    def least(self, cycles: float) -> float:
        """The limit that a plan of so many would keep, in milliseconds, rounded up."""
        return math.ceil((cycles + self.builtin) / self.clock.mhz / 100) / 10


@dataclass(frozen=True, slots=True)
class Inference:
    """One inference: an estimate."""

    instructions: int
    milliseconds: Span | None
    """At least and at most; None: cycles or clock are not known."""


@dataclass(frozen=True, slots=True)
class Time:
    """A model before and after on one core."""

    core: str
    board: str
    mhz: float | None
    cycles: Span | None
    """Per instruction of the rewritten model or of one that stays, at least and at most, modelled; None: not known."""
    original: Inference | None
    """Under TFLM with CMSIS-NN (builtin_cost.py); None: not known."""
    rewritten: Inference | None
    """None: not known, since operators stay builtin that nobody counted."""

    @property
    def change(self) -> Span | None:
        """Relative change of the time, least and most, or of instructions if times are unknown; None: both unknown.

        The cycle model's error is taken to be the same before and after, so equal ends of the two ranges are compared.
        """
        before, after = self.original, self.rewritten
        if not (before and after and before.instructions):
            return None
        if before.milliseconds and after.milliseconds and min(before.milliseconds) > 0:
            low, high = sorted(b / a - 1 for a, b in zip(before.milliseconds, after.milliseconds, strict=True))
            return low, high
        return (after.instructions / before.instructions - 1,) * 2


def time_of(
    clock: Clock | None, core: str, original: int | None, rewritten: int | None, cycles: Span | None = None
) -> Time:
    """Time both by their instructions on a core; a model that stays as it is has the same twice.

    cycles: of the rewritten model; None: of one that stays as it is, or not known.
    """
    before = clock.builtin(original) if clock else None
    after = before if cycles is None and original == rewritten else cycles
    per = clock.rates.of("") if clock and clock.rates else None
    if after and rewritten:
        per = after[0] / rewritten, after[1] / rewritten

    def inference(instructions: int | None, taken: Span | None) -> Inference | None:
        span = clock.milliseconds(taken) if clock else None
        return None if instructions is None else Inference(instructions, span)

    return Time(
        core=clock.core if clock else core,
        board=clock.board if clock else "",
        mhz=clock.mhz if clock else None,
        cycles=(round(per[0], 2), round(per[1], 2)) if per else None,
        original=inference(original, before),
        rewritten=inference(rewritten, after),
    )
