"""The options of optimize() and explore() with their meaning, unit and default."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from tflm_memopt.errors import one_of
from tflm_memopt.plan.choices import PER_REGION, Ops
from tflm_memopt.plan.effort import NORMAL
from tflm_memopt.tflm.choices import Kernels
from tflm_memopt.tflm.structs import Abi


class ExploreOptions(TypedDict, total=False):
    """Options that optimize() and explore() share."""

    input: str
    """Place of the model's input: "arena", "stream" or "stream:ROWS" (pushed a few rows at a time), "external" (read
    from the caller's buffer), "sliding" or "sliding:ROWS" (a window that gets this many new rows in each inference).
    """
    int8_io: bool
    """Whether QUANTIZE and DEQUANTIZE at the model's interface are removed."""
    ops: Ops
    """Replacement of operators that run row by row: one custom operator for each "region" or for each "block", or
    "builtin": TFLM's own operators in an order and at offsets that need less RAM.
    """
    op_per: Ops | None
    """Alias of `ops`."""
    allow_ops: Collection[str]
    """Kinds of operators that the rewritten model may have in addition to the original's, for stripes and channel
    groups with ops="builtin": "PAD", "SLICE", "CONCATENATION".
    """
    abi: Abi
    """Size of pointers in the arena figures: "ilp32" or "lp64"."""
    fold: bool
    """Whether channels that cannot influence any output are removed."""
    effort: float | str
    """Effort of the search: "low", "normal", "high", or a factor of normal. Normal takes at most about ten seconds of
    processor time and 5 ms more for each operator above a thousand. Report.cut_short lists the searches that it
    ends.
    """
    core: str | None
    """Core for the estimates, which must run the target. The default is the target's own or, for generic,
    the slowest.
    """
    board: str | None
    """Board on which the model has to fit, in RAM and flash. Its ABI, target and core are used by default."""
    without: Collection[str]
    """Techniques that are switched off, to measure their benefit: "strips", "recompute", "overlap", ..."""
    target: str | None
    """Core whose kernels operators are packed for. "generic" programs run everywhere, others only on their cores, and
    faster. The default is the board's target, or generic.
    """
    cores: int
    """Number of cores that run the model: 1, or 2 that share their memory (RP2040, RP2350, ESP32, ESP32-S3)."""
    share: str | Collection[float] | None
    """Part of each core's time for the model on two cores: (0.8, 1) or "0.8,1". The default is all time of both."""
    kernels: Kernels | None
    """Library whose scratch and state the arena figures count for builtin operators, and which decides where their
    outputs may overlap inputs: "reference", "cmsis-nn", "esp-nn". The default has the figures of the reference
    kernels and only overlaps that are safe with all three.
    """


class OptimizeOptions(ExploreOptions, total=False):
    """Options of optimize() only: limits, and the choice of the plan."""

    seconds: float | None
    """Limit of the exact search for a layout in seconds of deterministic CP-SAT time. The default is half a second
    times the effort.
    """
    max_macs: float | None
    """Limit of compute as a factor of the original's multiply-accumulates. The plan has the least RAM within it. By
    default, nothing is computed twice.
    """
    ram_limit: int | str | None
    """Limit of the whole arena in bytes: 20480, "20kB" or "64KiB". The plan has the least compute within it."""
    flash_limit: int | str | None
    """Limit on the flash that the rewritten model, the C library and TFLM take together, in bytes: 200000, "200kB" or
    "256KiB". The sizes of library and TFLM are estimates for the board's core or `core`.
    """
    max_instructions: int | str | None
    """Limit of estimated instructions on `core`: 3200000 or "3.2M". The plan has the least RAM within it or, with a RAM
    limit, the fewest instructions within both.
    """
    time_limit: float | str | None
    """Limit of the estimated time of an inference: "50ms", or a number of milliseconds. The plan has the least RAM
    within it. It needs a board or a clock.
    """
    clock: float | str | None
    """Clock of the core: "64MHz", or a number of MHz. The default is the board's."""
    plan: Mapping[str, Any] | None
    """Saved plan, as returned by Plan.to_json()."""
    interpreter: bool
    """Whether TFLM's interpreter runs the rewritten model. Otherwise it becomes a C module (`--emit c`), whose own RAM
    and flash are counted.
    """
    if_worthwhile: bool
    """Whether a model is left unchanged if its rewrite adds more bytes to flash than it saves of RAM. This does not
    apply with options that need the rewritten model: limits, a board, a target, another interface.
    """


DEFAULTS = OptimizeOptions(
    input="arena", int8_io=False, ops=PER_REGION, op_per=None, allow_ops=(), abi="ilp32", fold=True, effort=NORMAL,
    core=None, board=None, without=(), target=None, cores=1, share=None, kernels=None, seconds=None, max_macs=None,
    ram_limit=None, flash_limit=None, max_instructions=None, time_limit=None, clock=None, plan=None,
    interpreter=True, if_worthwhile=False,
)  # fmt: skip
"""All options with their defaults."""


def complete(function: str, options: Mapping[str, Any], known: type) -> OptimizeOptions:
    """Return all options, with defaults for missing ones. known: the class with the options of the function.

    Raises TypeError for a name that is not an option of the function.
    """
    for name in options.keys() - known.__annotations__.keys():
        near = one_of(name, known.__annotations__)
        raise TypeError(f"{function}() has no option '{name}'; it has {near}")
    return OptimizeOptions(**{**DEFAULTS, **options})  # type: ignore[typeddict-item]
