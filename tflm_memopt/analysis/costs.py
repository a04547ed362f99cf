"""Estimate the instructions of a plan on a core from the work of its operators.

Multiply-accumulates alone predict the instructions poorly (msf-CNN, section 8.3). Further instructions read and write
bytes, fetch weights again, and begin each pixel and each iteration. costs.json has these costs for each kernel, fitted
to counted instructions (benchmarks/costs.py).
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeVar, get_args

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.ops.packing import family

LIKE = {"cortex-m7": "cortex-m4", "cortex-m33": "cortex-m4"}
"""Cores that run the same code as another core."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one operator of a plan in one inference."""

    kernel: str
    """Name of the kernel and of its variant, such as "CONV tiles" or "DSP_CONV rows"."""
    macs: float = 0
    """Multiply-accumulates of the kernel, including those for the padding of packed windows."""
    weights: float = 0
    """Bytes of weights that the kernel reads. A packed convolution reads weights once for several pixels. The DSP
    extension multiplies the weights of four channels at once.
    """
    read: float = 0
    """Bytes under the operator's windows. A byte under several windows counts for each window."""
    written: float = 0
    """Bytes of the output or, if the operator adds up its input, number of updates of its sums."""
    pixels: float = 0
    """Number of output pixels, or of input pixels if the operator adds up its input."""
    taps: float = 0
    """Number of pixels under the operator's windows."""
    iterations: float = 0
    calls: float = 0
    """Number of calls of a kernel. One call runs consecutive iterations along a row of tiles, or from row to row."""
    rows: float = 0
    """Number of row lookups by kernels: output rows if the operator adds up its input, otherwise input rows."""
    loops: float = 0
    """Number of inner loops that a kernel begins (plan/iteration/work_packed.py)."""
    pieces: float = 0
    """Number of pieces that the kernel processes singly or gathers itself."""
    odd: float = 0
    """Number of times that a kernel computes channels that do not fill a group of channels."""
    clamped: float = 0
    """Bytes of results that are clamped."""
    quads: float = 0
    """Number of times that a kernel processes or gathers four values at once."""
    singles: float = 0
    """Number of values that a kernel processes or gathers singly."""
    runs: float = 0
    """Number of contiguous ranges of bytes for windows, channels or COPY, plus the number of lists of taps."""
    swept: float = 0
    """Number of words or values in all contiguous ranges, plus the number of taps in all lists of taps."""
    gathers: float = 0
    """Number of window rows that a kernel gathers one by one. For a pool, taps in channels outside groups of 4."""
    batches: float = 0
    """Number of times that a kernel reads all of its weights."""
    listed: float = 0
    """Number of window pixels that a kernel looks up one by one in a table."""
    vectors: float = 0
    """Number of values or taps that RISC-V vector code multiplies, each by up to 32 channels at once."""
    older: float = 0
    """Number of times that a kernel looks up a row of an earlier inference."""
    state_writes: float = 0
    """Number of iterations whose row is stored for the next inference."""
    copied: float = 0
    """Bytes of weights that are copied to the arena before the first iteration, without counting instructions."""
    spared: float = 0
    """Bytes of weights that are read from the arena instead of from flash, with equally many instructions."""


AMOUNTS = tuple(f.name for f in fields(Work))[1:-2]
Cost = Literal["macs", "instructions", "time"]
"""Names of the costs by which plans are compared, in addition to bytes of the arena."""
COSTS: tuple[Cost, ...] = get_args(Cost)
Costs = Mapping[str, Mapping[str, float]]
"""Instructions per unit of each kind of work, by kernel."""

MESSAGES: Mapping[str, tuple[float, float]] = {
    "cortex-m0": (1000, 19.9),
    "rv32": (850, 24.1),
    "rv32-v": (850, 24.1),
    "": (530, 11.6),
}
"""Instructions for a message between devices, and for each byte of the row in the message, by core. The key "" is for
cores that are not listed. The instructions of the link's hardware driver are not included.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Costs of kernels on a core."""

    core: str
    target: str
    """Target whose programs run best on the core."""
    kernels: Costs
    plans: int
    """Number of plans that were counted, but not used for the fit."""
    median: float
    """Median error of the estimated instructions of a plan, as a fraction of the counted instructions."""
    high: float
    """Largest overestimate of a counted plan, as a fraction of the counted instructions."""
    low: float
    """Largest underestimate of a counted plan, as a fraction of the counted instructions."""

    @property
    def worst(self) -> float:
        """Largest error of an estimate."""
        return max(self.high, self.low)

    def instructions(self, work: Iterable[Work]) -> int:
        """Estimate one inference of our own operators, without builtin operators and TFLM's interpreter."""
        return round(sum(estimate(self.kernels, one) for one in work))

    def known(self, work: Collection[Work]) -> int | None:
        """Return the estimated instructions, or None if a kernel has no counts for this core."""
        return self.instructions(work) if counted(self.kernels, work) else None


def estimate(kernels: Costs, work: Work) -> float:
    """Return the instructions of one operator. A kernel that was never measured costs as much as the slowest kernel."""
    name, *ways = work.kernel.split()
    alike = [work.kernel] if work.kernel in kernels else [k for k in sorted(kernels) if k.split()[0] == name]
    if len(alike) > 1:  # prefer the measured variant whose name shares the most words with the kernel's name
        alike = [max(alike, key=lambda other: len(set(ways) & set(other.split())))]
    return max(float(sum(cost * getattr(work, n) for n, cost in kernels[each].items())) for each in alike or kernels)


def counted(kernels: Costs, work: Iterable[Work]) -> bool:
    """Return whether instructions were counted for at least one variant of each kernel."""
    return {one.kernel.split()[0] for one in work} <= {kernel.split()[0] for kernel in kernels}


@cache
def measured(name: str) -> dict[str, Any]:
    """Return the content of a JSON file of this package."""
    text = resources.files("tflm_memopt.analysis").joinpath(name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def tables() -> Mapping[str, Table]:
    """Return the cost tables by core."""
    found = {}
    for core, values in measured("costs.json")["cores"].items():
        kernels = by_kernel(values["kernels"])
        found[core] = Table(core=core, **values | {"kernels": {**kernels, **_messages(core), **_own(kernels)}})
    return found


T = TypeVar("T")


def by_kernel(nested: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """Replace nested keys, such as "CONV" and in it "tiles", by names of kernels, such as "CONV tiles"."""
    return {f"{kind} {way}".strip(): each for kind, ways in nested.items() for way, each in ways.items()}


def _own(measured: Costs) -> Costs:
    """Return the costs of SOFTMAX as costs of the user's own kernels, which work pixel by pixel like SOFTMAX."""
    softmax = {kernel: each for kernel, each in measured.items() if kernel.split()[0] == "SOFTMAX"}
    return {kernel.replace("SOFTMAX", "OWN"): each for kernel, each in softmax.items()}


def _messages(core: str) -> Costs:
    """Return the costs of rows that are sent to or received from other devices."""
    row, byte = MESSAGES.get(core, MESSAGES[""])
    return {kernel: {"iterations": row, "read": byte} for kernel in ("SEND rows", "RECEIVE rows")}


def estimates(target: str, work: Collection[Work]) -> dict[str, int]:
    """Return the estimated instructions on each core of a target. Cores without costs of all kernels are left out."""
    known = {core: found.known(work) for core, found in tables().items() if found.target == target}
    return {core: instructions for core, instructions in known.items() if instructions is not None}


def table(target: str, core: str | None = None) -> Table:
    """Return the cost table for a core that runs this target's programs. The default core is the target's own or, for
    generic programs, the slowest core. Raises UsageError for a core that is unknown or cannot run programs of this
    target.
    """
    known = tables()
    if core is None:
        return known[target if target in known else DEFAULT]
    if not runs(core, target):
        what = f"instructions of core '{core}' cannot be estimated for --target {target}"
        names = [name for name in known if runs(name, target)]
        hint = f"--core {one_of(core, names)}" if names else "omit --core"
        raise UsageError(what, hint=hint)
    return known[core]


def runs(core: str | None, target: str) -> bool:
    """Return whether a core was measured and can run this target's programs."""
    return core is not None and core in tables() and family(target) in family(tables()[core].target).runs


DEFAULT = "cortex-m0"
"""Core for which generic programs are estimated."""
