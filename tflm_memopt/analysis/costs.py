"""Instructions of a plan on a core: what its operators do, times what that costs there.

Multiply-accumulates alone mislead (msf-CNN, section 8.3): a plan also pays for every byte that it reads and writes, for
weights that it fetches again, for each pixel, and for each firing. costs.json has what each of these
costs in each kernel, fitted to counted instructions (benchmarks/costs.py).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from typing import Literal, get_args

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.ops.packing import family


@dataclass(frozen=True, slots=True)
class Work:
    """What one operator of a plan does in one inference."""

    kernel: str
    """What computes it, and how: "CONV tiles", "DSP_CONV rows"."""
    macs: float = 0
    """Multiply-accumulates that the kernel does, with those of what fills up a packed window."""
    weights: float = 0
    """Bytes of weights that it fetches: packed convolutions share them among a few pixels."""
    read: float = 0
    """Bytes under its windows, each as often as it is read."""
    written: float = 0
    """Bytes of its output, or sums that it changes."""
    pixels: float = 0
    """Output pixels that it makes; of what is summed up, input pixels."""
    taps: float = 0
    """Pixels under its windows."""
    firings: float = 0
    rows: float = 0
    """Rows of its windows, each as often as it is looked up; of what is summed up, outputs."""
    loops: float = 0
    """Inner loops that it begins (plan/work_loops.py)."""
    pieces: float = 0
    """What it takes in smaller pieces, or gathers by itself, as its kernel has it."""
    odd: float = 0
    """Times that channels are left over, which are done apart."""
    clamped: float = 0
    """Bytes that are clamped after they are made."""
    quads: float = 0
    """Times that four values are taken, or gathered, at once."""
    singles: float = 0
    """Values that are taken, or gathered, one by one."""
    runs: float = 0
    """Runs of bytes that several windows or channels share, or that are moved; lists of taps that are made."""
    swept: float = 0
    """Pieces of these runs, taps of these lists."""
    gathers: float = 0
    """Rows of windows that are gathered one by one; of a pool, taps of channels that are taken one by one."""
    batches: float = 0
    """Times that a kernel goes through its weights."""
    older: float = 0
    """Rows that are looked up in a state."""
    kept: float = 0
    """Firings whose row goes to a state."""

    @property
    def amounts(self) -> tuple[float, ...]:
        """As AMOUNTS names them."""
        return tuple(getattr(self, name) for name in AMOUNTS)


AMOUNTS = tuple(f.name for f in fields(Work))[1:]
Cost = Literal["macs", "instructions", "time"]
"""What plans are compared by, besides bytes of the arena."""
COSTS: tuple[Cost, ...] = get_args(Cost)
Costs = Mapping[str, Sequence[float]]
"""Kernel -> instructions for one of each amount."""

MESSAGES: Mapping[str, tuple[float, float]] = {
    "cortex-m0": (1000, 19.9),
    "rv32": (850, 24.1),
    "rv32-v": (850, 24.1),
    "": (530, 11.6),
}
"""By core: instructions of a message between devices, and of each byte of its row; "": of the others. Counted
(tests/cores/test_link.py); without what carries it.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """What kernels cost on a core."""

    core: str
    target: str
    """The target whose programs it runs best."""
    library: str
    """Digest of the C library's code that was counted (benchmarks/costs.py); empty: of an older one."""
    kernels: Costs
    plans: int
    """Plans of models that the fit has not seen. How far off their estimates are: the median error, and the most that
    they are too high and too low, as shares of what was counted."""
    median: float
    high: float
    low: float

    @property
    def worst(self) -> float:
        """The most that an estimate is off."""
        return max(self.high, self.low)

    def instructions(self, work: Iterable[Work]) -> int:
        """Estimate of one inference, without what TFLM does around it and without builtin operators."""
        return round(sum(estimate(self.kernels, one) for one in work))


def estimate(kernels: Costs, work: Work) -> float:
    """Instructions of one operator. A kernel that was never measured costs as much as the slowest one."""
    name, *ways = work.kernel.split()
    alike = [other for other in sorted(kernels) if other.split()[0] == name]
    if work.kernel in kernels:
        alike = [work.kernel]
    elif alike:  # measured in other ways only: the one with the most words in common
        alike = [max(alike, key=lambda other: len(set(ways) & set(other.split())))]
    return max(sum(n * cost for n, cost in zip(work.amounts, kernels[each], strict=True)) for each in alike or kernels)


@cache
def tables() -> Mapping[str, Table]:
    """By core."""
    text = resources.files("tflm_memopt.analysis").joinpath("costs.json").read_text(encoding="utf-8")
    found = {core: Table(core=core, **values) for core, values in json.loads(text)["cores"].items()}
    return {
        core: replace(table, kernels={**table.kernels, **_crossings(core), **_own(table.kernels)})
        for core, table in found.items()
    }


def _own(measured: Costs) -> Costs:
    """Kernels of the user's own, which nobody measured: as softmax, which goes through a pixel, too."""
    softmax = {kernel: each for kernel, each in measured.items() if kernel.split()[0] == "SOFTMAX"}
    return {kernel.replace("SOFTMAX", "OWN"): each for kernel, each in softmax.items()}


def _crossings(core: str) -> Costs:
    """Rows that go to other devices, or come from them."""
    row, byte = MESSAGES.get(core, MESSAGES[""])
    amounts = [{"firings": row, "read": byte}.get(name, 0.0) for name in AMOUNTS]
    return {"SEND rows": amounts, "RECEIVE rows": amounts}


def estimates(target: str, work: Collection[Work]) -> dict[str, int]:
    """Instructions on each core whose target it is."""
    return {core: found.instructions(work) for core, found in tables().items() if found.target == target}


def table(target: str, core: str | None = None) -> Table:
    """The estimates for a core that runs this target's programs; by default its own, for generic ones the slowest.

    Raises UsageError for a core that is not known, or that cannot run them.
    """
    known = tables()
    if core is None:
        return known[target if target in known else DEFAULT]
    if not runs(core, target):
        what = f"'{core}' is no core whose instructions can be estimated for --target {target}"
        hint = f"--core {one_of(core, [name for name in known if runs(name, target)])}"
        raise UsageError(what, code="bad_option", hint=hint)
    return known[core]


def runs(core: str | None, target: str) -> bool:
    """Whether it is a core that was measured, and runs this target's programs."""
    return core is not None and core in tables() and family(target) in family(tables()[core].target).runs


DEFAULT = "cortex-m0"
"""The core on which programs for any core are estimated."""
