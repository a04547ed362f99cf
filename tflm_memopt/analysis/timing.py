"""Estimates the milliseconds of an inference from its instructions, the cycles per instruction, and the clock.

The cycles of an instruction depend on its type and on the wait states of the flash. The file cycles.json has each
kernel's cycles per instruction from the cycle model of benchmarks/cycles.py, and the error of the cycle model. Each
iteration takes additional cycles, because the code that starts an iteration has more branches and loads than the loops
of a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tflm_memopt.analysis.builtin_cost import builtins
from tflm_memopt.analysis.costs import Work, by_kernel, counted, estimate, measured, tables
from tflm_memopt.analysis.esp import EspChip, chip
from tflm_memopt.errors import UsageError

Span = tuple[float, float]
UNIFIED = "for both"
"""End of a key in cycles.json for a flash with one cache for both code and constants."""


@dataclass(frozen=True, slots=True)
class FlashTiming:
    """Timing of a chip's flash at the chip's full clock, for the cycle model of benchmarks/cycles.py."""

    wait_states: int
    """Number of additional cycles for each line that is read from flash instead of from the cache."""
    line_bytes: int = 16
    instruction_lines: int = 0
    """Number of lines of the instruction cache, which replaces the least recently used line."""
    data_lines: int = 0
    """Number of lines of the cache for constants."""
    prefetch: bool = False
    """Whether the flash reads the next line of its cache in advance."""
    unified_ways: int = 0
    """Associativity of a common cache for code and constants, or 0 for separate caches."""

    @property
    def key(self) -> str:
        """Key of the flash in cycles.json, made of the wait states, the line size and the caches of the flash."""
        kind = f"{self.unified_ways} ways {UNIFIED}" if self.unified_ways else "prefetch" if self.prefetch else ""
        lines = f"{self.instruction_lines} + {self.data_lines}"
        return f"{self.wait_states} of {self.line_bytes} B, {lines}{f', {kind}' if kind else ''}"


COPY_CYCLES = 1.0
"""Number of cycles that a core without wait states takes to copy a byte of weights."""
NO_WAIT = FlashTiming(0)


@dataclass(frozen=True, slots=True)
class FlashWaits:
    """How long a core waits when it reads constants from flash."""

    cached: int
    """Size in bytes of the cache for constants."""
    cycles_per_byte: float
    """Number of cycles for which the core waits for each byte that is not in the cache."""


@dataclass(frozen=True, slots=True)
class SlowCycles:
    """Number of additional cycles for a byte of slow memory, compared with fast memory."""

    read: Span
    write: Span

    @staticmethod
    def of(read: Sequence[float], write: Sequence[float]) -> SlowCycles:
        return SlowCycles((read[0], read[1]), (write[0], write[1]))

    def times(self, factor: float) -> SlowCycles:
        """Return the cycles for a core that is `factor` times as fast, with a memory of unchanged speed."""
        return SlowCycles.of([n * factor for n in self.read], [n * factor for n in self.write])

    def moved(self, read: int, written: int) -> Span:
        low, high = (read * self.read[end] + written * self.write[end] for end in (0, 1))
        return low, high


Bounds = tuple[float, ...]
"""Lower bound of a number of cycles, and one upper bound for each flash that the board may have."""


def _sum(each: Iterable[Bounds]) -> Span:
    """Add up bounds, and return the lower bound and the greatest upper bound."""
    low, *high = map(sum, zip(*each, strict=True))
    return low, max(high)


@dataclass(frozen=True, slots=True)
class Rates:
    """Cycles per instruction on a core with a certain flash, including the error of the cycle model."""

    kernels: Mapping[str, tuple[Span, ...]]
    """For each kernel, the bounds of its cycles. A bound consists of cycles per instruction and of additional cycles
    per iteration. The key "" stands for all kernels without modelled cycles.
    """
    cmsis_nn: Mapping[str, Bounds]
    """For each type of operator, the cycles per instruction of TFLM with CMSIS-NN. The key "" stands for all types
    without a key.
    """
    without_waits: Mapping[str, tuple[Span, ...]]

    @property
    def per_instruction(self) -> Span:
        """Cycles per instruction of a kernel without modelled cycles."""
        low, *high = (each for each, _ in self.kernels[""])
        return low, max(high)

    def builtin(self, counts: Mapping[str, float]) -> Span:
        rates = ((n, self.cmsis_nn.get(kind, self.cmsis_nn[""])) for kind, n in counts.items())
        return _sum(tuple(n * each for each in bounds) for n, bounds in rates) if counts else (0, 0)

    def of(self, work: Work, instructions: float, *, waits: bool = True) -> Bounds:
        """If the cycles of a kernel's variant are not modelled, the variant takes the plain kernel's cycles."""
        kernels, (name, *_, way) = self.kernels if waits else self.without_waits, work.kernel.split()
        found = kernels.get(work.kernel) or kernels.get(f"{name} {way}") or kernels[""]
        return tuple(instructions * each + work.iterations * more for each, more in found)


@cache
def rates(core: str, flash: FlashTiming | None) -> Rates | None:
    """Return the cycles per instruction of a core, or None if they are unknown.

    If the argument `flash` is None, the range covers all modelled internal flash memories of the core. If code and
    constants share a cache, the lower bound counts no wait states, because small models stay in the cache.
    """
    whole = measured("cycles.json")
    found = whole["cores"].get(core)
    if found is None:
        return None
    if flash is not None and flash.key not in found["flashes"]:
        return None
    error: Span = (whole["error"]["least"], whole["error"]["most"])
    keys: list[str] = found["flashes"]
    some = [n for n, key in enumerate(keys) if not key.endswith(UNIFIED)] if flash is None else [keys.index(flash.key)]
    certain = flash is not None and not flash.unified_ways

    def bounds(each: list[float]) -> Bounds:
        least, most, *waits = each
        return error[0] * (least + (waits[some[0]] if certain else 0.0)), *(error[1] * (most + waits[n]) for n in some)

    def without(each: list[float]) -> Bounds:
        return error[0] * each[0], *[error[1] * each[1]] * len(some)

    kernels, iterations = by_kernel(found["kernels"]), by_kernel(found.get("iterations", {}))
    none = [0.0] * (2 + len(keys))

    def of_kernels(bounds_of: Callable[[list[float]], Bounds]) -> dict[str, tuple[Span, ...]]:
        return {
            name: tuple(zip(bounds_of(each), bounds_of(iterations.get(name, none)), strict=True))
            for name, each in kernels.items()
        }

    cmsis_nn = {name: bounds(each) for name, each in by_kernel(found["cmsis_nn"]).items()}
    return Rates(of_kernels(bounds), cmsis_nn, of_kernels(without))


def timings(core: str) -> tuple[str, ...]:
    """Return the keys of the flash timings for which a core's cycles are modelled."""
    return tuple(measured("cycles.json")["cores"].get(core, {"flashes": ()})["flashes"])


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a core, which converts instructions into milliseconds."""

    core: str
    """Name of the core in costs.json or, for an unmeasured core, the name that the manufacturer uses."""
    mhz: float
    board: str = ""
    flash: FlashTiming | None = None
    chip: str = ""
    slow: SlowCycles | None = None

    @property
    def esp(self) -> EspChip | None:
        """Costs on the board's chip, or None if the chip is not Espressif's."""
        return chip(self.chip)

    @property
    def known(self) -> bool:
        """Whether the cycles of the C library's kernels are known on the core."""
        return self.rates is not None or self.esp is not None

    @property
    def per_instruction(self) -> Span | None:
        """Cycles per instruction of the C library's kernels on the core, or None if the cycles are unknown."""
        if self.esp is not None:
            return self.esp.cycles_per_instruction
        return self.rates.per_instruction if self.rates else None

    def prices(self, core: str) -> bool:
        """Return whether a plan's time can be estimated from its estimated instructions on `core`."""
        return self.esp is not None or (self.rates is not None and self.core == core)

    @property
    def flash_waits(self) -> FlashWaits | None:
        if self.esp is not None:
            return FlashWaits(self.esp.cache, self.esp.flash_cycles_per_byte)
        if self.flash is None:
            return None
        lines = self.flash.instruction_lines if self.flash.unified_ways else self.flash.data_lines
        return FlashWaits(self.flash.line_bytes * lines, self.flash.wait_states / self.flash.line_bytes)

    @property
    def library(self) -> str:
        """Name of the library that provides the original model's kernels."""
        return "ESP-NN" if self.esp else "CMSIS-NN"

    @property
    def rates(self) -> Rates | None:
        return rates(self.core, self.flash)

    def cycles(self, work: Iterable[Work], moved: tuple[int, int] = (0, 0)) -> Span | None:
        """Return the range of a plan's cycles, or None if the cycles are unknown. The argument `moved` states how many
        bytes of slow memory are read, and how many are written.
        """
        inside = self._fast(work)
        if not any(moved) or inside is None:
            return inside
        outside = self.slow.moved(*moved) if self.slow else None
        return (inside[0] + outside[0], inside[1] + outside[1]) if outside else None

    def _fast(self, work: Iterable[Work]) -> Span | None:
        if self.esp is not None:
            return self.esp.plan(work)
        if self.rates is None:
            return None
        table, work = tables()[self.core], tuple(work)
        if not counted(table.kernels, work):
            return None
        each = [self._of_kernel(one, estimate(table.kernels, one)) for one in work]
        return _widened(_sum(each), table.high, table.low) if each else (0, 0)

    def _of_kernel(self, work: Work, instructions: float) -> Bounds:
        """Copied weights cause no wait for the flash."""
        waiting = self.rates
        if waiting is None:
            raise TypeError("no cycles are known")
        cycles = waiting.of(work, instructions)
        if not work.copied or self.flash_waits is None:
            return cycles
        saved = work.spared * self.flash_waits.cycles_per_byte - work.copied * COPY_CYCLES
        least = waiting.of(work, instructions, waits=False)
        return tuple(max(end, of - saved) for end, of in zip(least, cycles, strict=True))

    def builtin(self, counts: Mapping[str, float] | None) -> Span | None:
        """Return the range of cycles of builtin operators with CMSIS-NN, or None if the cycles are unknown."""
        if counts is None or self.rates is None:
            return None
        costs = builtins(self.core)
        return _widened(self.rates.builtin(counts), *((costs.high, costs.low) if costs else (0, 0)))

    def milliseconds(self, cycles: Span | None) -> Span | None:
        return (round(cycles[0] / self.mhz / 1000, 3), round(cycles[1] / self.mhz / 1000, 3)) if cycles else None

    def within(self, milliseconds: float) -> float:
        """Convert milliseconds to cycles. Raises UsageError if the core's cycles per instruction are unknown."""
        if not self.known:
            known = ", ".join(core for core in measured("cycles.json")["cores"] if rates(core, None))
            raise UsageError(
                f"the time cannot be estimated: the cycles per instruction on {self.core} are unknown",
                code="time_unknown",
                hint=f"use a board or --target with one of {known}, or --max-instructions alone",
            )
        return milliseconds * self.mhz * 1000


def _widened(span: Span, high: float, low: float) -> Span:
    return span[0] / (1 + high), span[1] / (1 - low)


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Limit that the upper bound of an inference's time must keep."""

    milliseconds: float
    clock: Clock
    builtin: float = 0
    """Number of cycles of the builtin operators, which are not part of the plan."""

    @property
    def cycles(self) -> float:
        """Cycles that the time limit leaves for the plan, or a negative number if the builtin operators exceed the
        limit.
        """
        return self.clock.within(self.milliseconds) - self.builtin

    def takes(self, work: Iterable[Work]) -> float:
        """Return the upper bound of a plan's cycles, without builtin operators."""
        span = self.clock.cycles(work)
        return span[1] if span else math.inf

    def least(self, cycles: float) -> float:
        """Return the milliseconds of a plan and of TFLM's operators together, rounded up to tenths. The argument
        `cycles` has the cycles of the plan alone.
        """
        return math.ceil((cycles + self.builtin) / self.clock.mhz / 100) / 10


@dataclass(frozen=True, slots=True)
class Inference:
    instructions: int | None
    """Number of estimated instructions, or None if it is unknown, for example for ESP-NN's vector kernels."""
    milliseconds: Span | None
    """Lower and upper bound of the milliseconds, or None if cycles or clock are unknown."""


@dataclass(frozen=True, slots=True)
class Time:
    """Time of a model on one core before and after its conversion."""

    core: str
    board: str
    mhz: float | None
    cycles: Span | None
    """Lower and upper bound of the modelled cycles per instruction, or None if the cycles are unknown."""
    original: Inference | None
    """Estimate for the original model under TFLM with the kernels of `library`, or None if too little is known."""
    rewritten: Inference | None
    """Estimated inference of the rewritten model, or None if the instructions of a builtin operator were not counted.
    """
    library: str = "CMSIS-NN"
    """Library with the original model's kernels: CMSIS-NN (builtin_cost.py) or ESP-NN (esp.py)."""
    share: float | None = None
    """Fraction of the rewritten model's multiply-accumulates that ESP-NN's kernels compute on Espressif's chips."""

    @property
    def change(self) -> Span | None:
        """Bounds of the relative change in time (0.1 means 10 % slower), or in instructions if times are unknown.

        The result is None if neither times nor instructions are known. The estimates for both models are assumed to
        have equal errors.
        """
        before, after = self.original, self.rewritten
        if not (before and after):
            return None
        if before.milliseconds and after.milliseconds and min(before.milliseconds) > 0:
            low, high = sorted(b / a - 1 for a, b in zip(before.milliseconds, after.milliseconds, strict=True))
            return low, high
        if not (before.instructions and after.instructions):
            return None
        return (after.instructions / before.instructions - 1,) * 2
