"""Estimates the instructions of a plan on a core from the work of its operators.

Multiply-accumulates alone predict the instructions poorly (msf-CNN, section 8.3). Reading and writing bytes, fetching
weights again, and starting each pixel and each iteration also take instructions. The file costs.json has the
instructions per unit of work for each kernel, fitted to counted instructions (benchmarks/costs.py).
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
    """Name of the kernel and of its variant, such as "CONV tiles" or "DSP_CONV rows"."""
    macs: float = 0
    """Multiply-accumulates of the kernel, including those for the padding of packed windows."""
    weights: float = 0
    """Bytes of weights that the kernel reads. A packed convolution reads its weights once for several pixels. With the
    DSP extension, one read of weights serves four channels.
    """
    read: float = 0
    """Bytes of input under the operator's windows. A byte under several windows counts once for each of them."""
    written: float = 0
    """Number of bytes of output. An operator that adds its inputs to sums counts the updates of sums instead."""
    pixels: float = 0
    """Number of output pixels or, if the operator adds its inputs to sums, of input pixels."""
    taps: float = 0
    """Number of input pixels under the operator's windows. A pixel under several windows counts for each window."""
    iterations: float = 0
    calls: float = 0
    """Number of kernel calls. Consecutive iterations along a row of tiles, or from row to row, share a call."""
    rows: float = 0
    """Number of looked-up row addresses: of input rows or, for operators that add to sums, of output rows."""
    loops: float = 0
    """Number of inner loops that a kernel starts (plan/iteration/work_packed.py)."""
    pieces: float = 0
    """Number of pieces of input that the kernel processes one by one, or copies to scratch with its own code."""
    odd: float = 0
    """Number of times that a kernel computes a last, incomplete group of channels."""
    clamped: float = 0
    """Bytes of results that a kernel clamps."""
    quads: float = 0
    """Number of times that a kernel processes or copies four values at once."""
    singles: float = 0
    """Number of values that a kernel processes or copies singly."""
    runs: float = 0
    """Number of contiguous byte ranges that a kernel reads, plus the number of lists of taps that the kernel makes. For
    a COPY, the number of searches for the source of a move.
    """
    swept: float = 0
    """Number of words or values in all contiguous ranges, plus the number of taps in all lists of taps."""
    gathers: float = 0
    """Number of window rows that a kernel copies one by one, or of pool taps outside complete groups of four channels.
    For a COPY, the number of bytes in short runs. For bytes packed in tiles, the number of kernel calls.
    """
    batches: float = 0
    """Number of times that a kernel reads all its weights. For a COPY, the number of moves for several rows at once."""
    listed: float = 0
    """Number of windows or window pixels whose addresses a kernel finds one by one."""
    vectors: float = 0
    """Number of values or taps that RISC-V vector code multiplies, in up to 32 channels at once, or that the DSP
    extension multiplies for a single pixel, in four channels at once.
    """
    sweeps: float = 0
    """Number of runs of taps that RISC-V vector code multiplies, in up to 32 channels at once."""
    entered: float = 0
    """Number of steps at the start of a group that begins with the operator: one for each of the group's operators, and
    two for the group.
    """
    older: float = 0
    """Number of times that a kernel looks up a row of an earlier inference."""
    state_writes: float = 0
    """Number of iterations whose row is stored for the next inference."""
    copied: float = 0
    """Bytes of weights that are copied to the arena before the first iteration, without counting instructions."""
    spared: float = 0
    """Bytes of weights that are read from the arena instead of from flash."""


AMOUNTS = tuple(f.name for f in fields(Work))[1:-2]
Cost = Literal["macs", "instructions", "time"]
"""Costs by which plans can be compared, besides the bytes of the arena."""
COSTS: tuple[Cost, ...] = get_args(Cost)
Costs = Mapping[str, Mapping[str, float]]
"""Instructions per unit of each kind of work, by kernel."""

MESSAGES: Mapping[str, tuple[float, float]] = {
    "cortex-m0": (1000, 19.9),
    "rv32": (850, 24.1),
    "rv32-v": (850, 24.1),
    "": (530, 11.6),
}
"""Instructions for a message between devices, and for each byte of the row in the message, by core. The key "" stands
for all cores that are not listed. The instructions of the link's hardware driver are not included.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Costs of our kernels on one core."""

    core: str
    target: str
    """Target whose programs run best on the core."""
    kernels: Costs
    plans: int
    """Number of plans that were counted to test the costs, and not to fit them."""
    median: float
    """Median error of the estimated instructions of a plan, as a fraction of the counted instructions."""
    high: float
    """Largest overestimate of a plan, as a fraction of the counted instructions."""
    low: float
    """Largest underestimate of a plan, as a fraction of the counted instructions."""

    @property
    def worst(self) -> float:
        """Largest error of an estimate, as a fraction of the counted instructions."""
        return max(self.high, self.low)

    def instructions(self, work: Iterable[Work]) -> int:
        """Estimate the instructions of our own operators in an inference, without TFLM and builtin operators."""
        return round(sum(estimate(self.kernels, one) for one in work))

    def known(self, work: Collection[Work]) -> int | None:
        """Estimate the instructions, or return None if a kernel has no counts on this core."""
        return self.instructions(work) if counted(self.kernels, work) else None


def estimate(kernels: Costs, work: Work) -> float:
    """Estimate the instructions of one operator. An unmeasured kernel costs as much as the slowest measured kernel."""
    name, *ways = work.kernel.split()
    alike = [work.kernel] if work.kernel in kernels else [k for k in sorted(kernels) if k.split()[0] == name]
    if len(alike) > 1:  # Prefer the variant with the most similar name.
        alike = [max(alike, key=lambda other: len(set(ways) & set(other.split())))]
    return max(float(sum(cost * getattr(work, n) for n, cost in kernels[each].items())) for each in alike or kernels)


def counted(kernels: Costs, work: Iterable[Work]) -> bool:
    """Return whether instructions were counted for at least one variant of each kernel."""
    return {one.kernel.split()[0] for one in work} <= {kernel.split()[0] for kernel in kernels}


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
    """Replace nested keys, such as "CONV" with "tiles" inside, by names of kernels, such as "CONV tiles"."""
    return {f"{kind} {way}".strip(): each for kind, ways in nested.items() for way, each in ways.items()}


def _own(measured: Costs) -> Costs:
    """Return costs for the user's kernels, which are assumed to cost as much per pixel as SOFTMAX."""
    softmax = {kernel: each for kernel, each in measured.items() if kernel.split()[0] == "SOFTMAX"}
    return {kernel.replace("SOFTMAX", "OWN"): each for kernel, each in softmax.items()}


def _messages(core: str) -> Costs:
    row, byte = MESSAGES.get(core, MESSAGES[""])
    return {kernel: {"iterations": row, "read": byte} for kernel in ("SEND rows", "RECEIVE rows")}


def estimates(target: str, work: Collection[Work]) -> dict[str, int]:
    """Estimate the instructions on each core of a target. Cores without costs for all kernels are omitted."""
    known = {core: found.known(work) for core, found in tables().items() if found.target == target}
    return {core: instructions for core, instructions in known.items() if instructions is not None}


def table(target: str, core: str | None = None) -> Table:
    """Return the cost table of a core that runs this target's programs. The default core is the target's own or, for
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
    """Return whether a core's costs were measured and whether the core can run this target's programs."""
    return core is not None and core in tables() and family(target) in family(tables()[core].target).runs


DEFAULT = "cortex-m0"
"""Core whose instructions are estimated for generic programs, because it is the slowest core."""
