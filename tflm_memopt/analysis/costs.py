"""Estimates the instructions of a plan on a core from the work of its operators.

Multiply-accumulates alone predict instructions poorly (msf-CNN, section 8.3), so the work of an operator also includes
reads, writes, and the start of each pixel and iteration. The file costs.json has each kernel's instructions per unit of
work, fitted to counted instructions (benchmarks/costs.py).
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


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one operator of a plan in one inference."""

    kernel: str
    """Name of a kernel with its variant, such as "CONV tiles" or "DSP_CONV rows"."""
    macs: float = 0
    """Number of multiply-accumulates of the kernel. Products with the padding of packed windows count, too."""
    weights: float = 0
    """Number of weight bytes that the kernel reads.

    A packed convolution reads its weights once for several pixels. With the DSP extension, one read of weights serves
    four channels.
    """
    read: float = 0
    """Number of input bytes under the operator's windows, counted for each window."""
    written: float = 0
    """Number of output bytes. For an operator that adds to int32 sums, number of updated sums."""
    pixels: float = 0
    """Number of output pixels. For an operator that adds to int32 sums, number of input pixels."""
    taps: float = 0
    """Number of input pixels under the operator's windows, counted for each window."""
    iterations: float = 0
    calls: float = 0
    rows: float = 0
    """Number of row addresses that a kernel looks up."""
    loops: float = 0
    """Number of inner loops that a kernel starts (plan/iteration/work_packed.py)."""
    pieces: float = 0
    """Number of input pieces that the kernel processes one by one or copies to scratch."""
    odd: float = 0
    """Number of times that a kernel computes an incomplete last group of channels."""
    clamped: float = 0
    """Number of bytes of results that a kernel clamps."""
    quads: float = 0
    """Number of times that a kernel processes or copies four values at once."""
    singles: float = 0
    """Number of values that a kernel processes or copies one by one."""
    runs: float = 0
    """Number of contiguous byte ranges that a kernel reads, plus the number of tap lists that the kernel makes.

    For a COPY, number of source addresses that the kernel computes.
    """
    swept: float = 0
    """Number of words or values that a kernel reads from contiguous memory, plus the number of looked-up taps."""
    gathers: float = 0
    """Number of rows that are copied one by one. For a pool, number of taps in incomplete groups of four channels.

    For a COPY, number of bytes that are copied one by one. For tiles whose bytes are copied, number of kernel calls.
    """
    batches: float = 0
    """Number of times that a kernel reads all its weights. For a COPY, number of moves that copy several rows."""
    listed: float = 0
    """Number of windows or pixels whose addresses a kernel finds one by one."""
    vectors: float = 0
    """For RISC-V vectors, number of steps that multiply a value or a tap for up to 32 channels. For the DSP extension,
    number of values that are multiplied for one pixel and four channels.
    """
    sweeps: float = 0
    """For RISC-V vectors, number of loops over a row of taps, each for up to 32 channels."""
    entered: float = 0
    """For the first operator of a group, the number of the group's operators plus 2. For other operators, 0."""
    older: float = 0
    """Number of times that a kernel looks up a row of an earlier inference."""
    state_writes: float = 0
    """Number of iterations whose row is stored for the next inference."""
    copied: float = 0
    """Number of weight bytes that are copied to the arena before the first iteration."""
    spared: float = 0
    """Number of weight bytes that are read from the arena instead of from flash."""


AMOUNTS = tuple(f.name for f in fields(Work))[1:-2]
Cost = Literal["macs", "instructions", "time"]
"""Kinds of costs."""
COSTS: tuple[Cost, ...] = get_args(Cost)
Costs = Mapping[str, Mapping[str, float]]
"""Maps a kernel and a kind of work to the instructions per unit of work."""

MESSAGES: Mapping[str, tuple[float, float]] = {
    "cortex-m0": (1000, 19.9),
    "rv32": (850, 24.1),
    "rv32-v": (850, 24.1),
    "": (530, 11.6),
}
"""Maps a core to the number of instructions for a message between devices, and for each byte of a message.

The key "" stands for all cores that are not listed. The instructions of the link's hardware driver are not included.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Costs of the C library's kernels on one core."""

    core: str
    target: str
    """Target whose programs run best on the core."""
    kernels: Costs
    plans: int
    """Number of plans with which the fitted costs were tested. The plans were not used for the fit."""
    median: float
    """Median error of the estimated instructions of a plan, as a fraction of the counted instructions."""
    high: float
    """Largest overestimate of a plan's instructions, as a fraction of the counted instructions."""
    low: float
    """Largest underestimate of a plan's instructions, as a fraction of the counted instructions."""

    def instructions(self, work: Iterable[Work]) -> int:
        """Estimate the instructions of custom operators in an inference, without TFLM and builtin operators."""
        return round(sum(estimate(self.kernels, one) for one in work))

    def known(self, work: Collection[Work]) -> int | None:
        """Estimate the instructions, or return None if instructions of a kernel were not counted on the core."""
        return self.instructions(work) if counted(self.kernels, work) else None


def estimate(kernels: Costs, work: Work) -> float:
    """Estimate the instructions of one operator. Unmeasured kernels take the costs of the slowest measured kernel."""
    alike, ways = _alike(kernels, work.kernel), set(work.kernel.split()[1:])
    if len(alike) > 1:
        alike = [max(alike, key=lambda other: len(ways & set(other.split())))]
    return max(float(sum(cost * getattr(work, n) for n, cost in kernels[each].items())) for each in alike or kernels)


def counted(kernels: Costs, work: Iterable[Work]) -> bool:
    """Return whether instructions were counted for at least one variant of each kernel."""
    return all(_alike(kernels, one.kernel) for one in work)


def _alike(kernels: Costs, kernel: str) -> list[str]:
    """Return the kernel's name if the kernel was measured, and otherwise the names of all measured variants of it."""
    if kernel in kernels:
        return [kernel]
    name, *_ = kernel.split()
    return [k for k in sorted(kernels) if k.split()[0] == name]


@cache
def measured(name: str) -> dict[str, Any]:
    text = resources.files("tflm_memopt.analysis").joinpath(name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def tables() -> Mapping[str, Table]:
    found = {}
    for core, values in measured("costs.json")["cores"].items():
        kernels = by_kernel(values["kernels"])
        found[core] = Table(core=core, **values | {"kernels": {**kernels, **_messages(core), **_own(kernels)}})
    return found


T = TypeVar("T")


def by_kernel(nested: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """Flatten nested keys: "CONV" with the inner key "tiles" becomes "CONV tiles"."""
    return {f"{kind} {way}".strip(): each for kind, ways in nested.items() for way, each in ways.items()}


def _own(measured: Costs) -> Costs:
    """Kernels that users wrote are assumed to cost as much per pixel as SOFTMAX."""
    softmax = {kernel: each for kernel, each in measured.items() if kernel.split()[0] == "SOFTMAX"}
    return {kernel.replace("SOFTMAX", "OWN"): each for kernel, each in softmax.items()}


def _messages(core: str) -> Costs:
    row, byte = MESSAGES.get(core, MESSAGES[""])
    return {kernel: {"iterations": row, "read": byte} for kernel in ("SEND rows", "RECEIVE rows")}


def estimates(target: str, work: Collection[Work]) -> dict[str, int]:
    """Estimate the instructions on those cores of a target for which the costs of all kernels are known."""
    known = {core: found.known(work) for core, found in tables().items() if found.target == target}
    return {core: instructions for core, instructions in known.items() if instructions is not None}


def table(target: str, core: str | None = None) -> Table:
    """Return the cost table of a core that runs the target's programs.

    The default core is the core of the target or, for generic programs, the slowest core. Raises UsageError if the core
    is unknown or cannot run programs of the target.
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
    """Return whether a core's costs were measured and the core can run the target's programs."""
    return core is not None and core in tables() and family(target) in family(tables()[core].target).runs


DEFAULT = "cortex-m0"
"""Core for which the instructions of generic programs are estimated: the slowest core."""
