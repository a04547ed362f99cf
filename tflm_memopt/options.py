"""The options of optimize() and explore(): what each means, its unit, and what holds when nobody says it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from tflm_memopt.errors import one_of
from tflm_memopt.plan.choices import PER_REGION, Ops
from tflm_memopt.plan.effort import NORMAL
from tflm_memopt.tflm.choices import Kernels
from tflm_memopt.tflm.structs import Abi


class ExploreOptions(TypedDict, total=False):
    """What optimize() and explore() share."""

    input: str
    """Where the model's input lives: "arena", "stream" or "stream:ROWS" (pushed a few rows at a time), "external" (read
    from the caller's buffer), "sliding" or "sliding:ROWS" (a window: each inference brings so many new rows).
    """
    int8_io: bool
    """Drop QUANTIZE and DEQUANTIZE at the model's border."""
    ops: Ops
    """What the rewritten model has in place of operators that run row by row: one custom operator for each "region" or
    for each "block", or none, "builtin": TFLM's own, in an order and at offsets that take less.
    """
    op_per: Ops | None
    """Another name of `ops`."""
    allow_ops: Collection[str]
    """With ops="builtin", what the rewritten model may have beside the original's kinds of operators, for strips and
    channel groups: "PAD", "SLICE", "CONCATENATION".
    """
    abi: Abi
    """What the arena figures are for: "ilp32" or "lp64"."""
    fold: bool
    """Leave out channels that cannot influence any output, whatever the input."""
    effort: float | str
    """How long to search: "low", "normal", "high", or a factor of normal, which takes at most about ten seconds of
    processor time and, from a thousand operators on, 5 ms more for each; what that cuts short is in Report.cut_short.
    """
    core: str | None
    """One that runs the target; by default the target's own, for generic programs the slowest."""
    board: str | None
    """It has to fit on that one, beside its core, RAM and flash; whose ABI, target and core are taken."""
    without: Collection[str]
    """Ingredients to leave out, to see their worth: "strips", "recompute", "overlap", ..."""
    target: str | None
    """Whose kernels operators are packed for: "generic" programs run everywhere, others on their cores only, and
    faster; by default the board's, or generic.
    """
    cores: int
    """That run the model: 1, or 2 that share their memory (RP2040, RP2350, ESP32, ESP32-S3)."""
    share: str | Collection[float] | None
    """With two cores: of each core's time, what is left for the model, (0.8, 1) or "0.8,1"; by default all of both."""
    kernels: Kernels | None
    """Whose scratch and state the arena figures count for operators that stay builtin, and where an output of theirs
    may grow into an input: "reference", "cmsis-nn", "esp-nn"; by default the reference kernels' figures, and only what
    is safe with any of the three.
    """


class OptimizeOptions(ExploreOptions, total=False):
    """What optimize() takes besides: limits, and which plan."""

    seconds: float | None
    """Limit of the exact layout's search within the effort, deterministic time of CP-SAT; by default half a second
    times the effort.
    """
    max_macs: float | None
    """The least RAM with at most so many times the original's multiply-accumulates; by default, nothing is computed
    twice.
    """
    ram_limit: int | str | None
    """The least compute with an arena of at most so many bytes, tail included: 20480, "20kB" or "64KiB"."""
    flash_limit: int | str | None
    """Limit on the flash that the rewritten model, the C library and TFLM take together, in bytes: 200000, "200kB" or
    "256KiB". The sizes of library and TFLM are estimates for the board's core or `core`.
    """
    max_instructions: int | str | None
    """The least RAM with at most so many instructions, by estimate, on `core`: 3200000 or "3.2M"; with a RAM limit, the
    fewest instructions within both.
    """
    time_limit: float | str | None
    """The least RAM with which an inference takes at most so long, by estimate: "50ms", or a number of milliseconds; it
    needs a board, or a clock.
    """
    clock: float | str | None
    """The clock of the core: "64MHz", or a number of MHz; by default the board's."""
    plan: Mapping[str, Any] | None
    """A plan that was saved, as Plan.to_json() gives it."""
    interpreter: bool
    """TFLM's interpreter runs the rewritten model. False: it becomes a C module (`--emit c`), whose own RAM and flash
    are counted instead.
    """
    if_worthwhile: bool
    """Leave a model as it is whose rewrite adds more bytes to flash than it saves of RAM, unless something was asked
    for that only a rewrite gives: limits, a board, a target, another interface.
    """


DEFAULTS = OptimizeOptions(
    input="arena", int8_io=False, ops=PER_REGION, op_per=None, allow_ops=(), abi="ilp32", fold=True, effort=NORMAL,
    core=None, board=None, without=(), target=None, cores=1, share=None, kernels=None, seconds=None, max_macs=None,
    ram_limit=None, flash_limit=None, max_instructions=None, time_limit=None, clock=None, plan=None,
    interpreter=True, if_worthwhile=False,
)  # fmt: skip
"""All options, as they are when nobody says them."""


def complete(function: str, options: Mapping[str, Any], known: type) -> OptimizeOptions:
    """All options, with the defaults of those that were not given. known: the class that has those of the function.

    Raises TypeError for a name that it does not have.
    """
    for name in options.keys() - known.__annotations__.keys():
        near = one_of(name, known.__annotations__)
        raise TypeError(f"{function}() has no option '{name}'; it has {near}")
    return OptimizeOptions(**{**DEFAULTS, **options})  # type: ignore[typeddict-item]
