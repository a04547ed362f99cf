"""Describes each option of optimize() and explore() once, for the functions, the command line and app.toml.

Python evaluates all annotations of the module, because `from __future__ import annotations` would be slower here.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints

from tflm_memopt import units
from tflm_memopt.analysis.costs import DEFAULT, tables
from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.plan.choices import MOVES, OPS, PER_REGION, SWITCHES, Ops
from tflm_memopt.plan.effort import LEVELS, NORMAL, factor
from tflm_memopt.tflm.choices import KERNELS, Kernels
from tflm_memopt.tflm.structs import Abi

Weights = Literal["auto", "flash", "ram"]


@dataclass(frozen=True, slots=True)
class Option:
    default: Any
    about: str
    metavar: str | None = None
    read: Callable[[Any], Any] | None = None
    """Function that converts a text or another value, and raises UsageError for an invalid value."""
    choices: tuple[Any, ...] | None = None
    flags: tuple[str, ...] | None = None
    """Flags on the command line. None stands for a single flag: `--` followed by the option's name."""


def names(given: str | Collection[str]) -> tuple[str, ...]:
    """Read names from a text with commas, or from a list.

    >>> names("stripes, tiles"), names(["reverse"])
    (('stripes', 'tiles'), ('reverse',))
    """
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(name.strip() for name in parts if name.strip())


def overhead(given: float | str) -> float:
    """Read a finite factor above 0. Raises UsageError for invalid text and for numbers out of range."""
    try:
        value = float(given)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise UsageError(f"'{given}' is not a valid factor", hint="1.1 is 10 % more than the original")
    return value


# fmt: off
class ExploreOptions(TypedDict, total=False):
    """Options that optimize() and explore() have in common."""

    input: Annotated[str, Option(
        "arena", "place of the model's input: arena (default), stream[:ROWS] (pushed ROWS rows at a time, default 1), "
        "external (read from your own buffer), sliding[:ROWS] (a window of an endless sequence, with ROWS new rows in "
        "each inference, default 1)", "WHERE",
    )]
    int8_io: Annotated[bool, Option(False, "remove QUANTIZE and DEQUANTIZE at the model's inputs and outputs")]
    ops: Annotated[Ops, Option(
        PER_REGION, "replacement of operators that run row by row: a custom operator for each region (default) or for "
        "each group (easier to read in Netron); or builtin, TFLM's own operators with another order and other offsets",
        choices=OPS, flags=("--ops", "--op-per"),
    )]
    op_per: Annotated[Ops | None, Option(None, "alias of ops", choices=OPS, flags=())]
    allow_ops: Annotated[Collection[str], Option(
        (), f"with --ops builtin: operators that stripes and channel groups may add, of {', '.join(MOVES)} (default: "
        "only kinds that the model has)", "NAME,...", names,
    )]
    fold: Annotated[bool, Option(True, "keep channels that cannot influence any output", flags=("--no-fold",))]
    effort: Annotated[float | str, Option(
        NORMAL, f"search effort: {', '.join(LEVELS)}, or a factor relative to normal (default), which takes at most "
        "about ten seconds of processor time", "LEVEL", factor,
    )]
    without: Annotated[Collection[str], Option(
        (), f"switch techniques off, to measure their effect: {', '.join(SWITCHES)}", "NAME,...", names,
    )]
    cores: Annotated[int, Option(
        1, "number of cores with shared memory: 2 on RP2040, RP2350, ESP32 and ESP32-S3 (default: 1)", choices=(1, 2),
    )]
    share: Annotated[str | Collection[float] | None, Option(
        None, "with --cores 2: share of each core's time that the model gets (default: 1,1)", "A,B",
    )]
    target: Annotated[str | None, Option(
        None, "cores to pack the model for. A packed model is faster and runs only there (default: the --board's, else "
        "generic, which runs everywhere)", choices=tuple(TARGETS),
    )]
    abi: Annotated[Abi, Option(
        "ilp32", "ABI of the arena figures: 32-bit pointers (Arm, RISC-V, Xtensa; default) or 64-bit",
        choices=("ilp32", "lp64"),
    )]
    kernels: Annotated[Kernels | None, Option(
        None, "kernels of builtin operators, whose scratch the arena includes: TFLM's own (default), CMSIS-NN's (with "
        "the DSP extension, or for --target) or ESP-NN's (ESP32-S3); with --ops builtin, outputs overlap inputs if "
        "these kernels allow it (default: if all do)", choices=KERNELS,
    )]
    core: Annotated[str | None, Option(
        None, f"core to estimate instructions for (default: the target's own; for generic {DEFAULT}, the slowest)",
        choices=tuple(tables()),
    )]
    board: Annotated[str | None, Option(
        None, "require that RAM and flash fit this board, and use its ABI and target; fit lists the boards. A name "
        "that ends in .toml is a file that describes a board", "BOARD",
    )]
    memory: Annotated[str | Mapping[str, Any] | Collection[int | None] | None, Option(
        None, "fast=SIZE,slow=SIZE: sizes of two memories, such as internal RAM and PSRAM; the arena is in the fast "
        "one, and whole tensors for which it has no room are in the slow one (explore: slow=SIZE). With --devices: "
        "RAM[,FLASH] of each device, 20kB or 20kB,128kB", "SIZES", units.memory,
    )]


class OptimizeOptions(ExploreOptions, total=False):
    """Options that only optimize() accepts, such as limits."""

    max_macs: Annotated[float | None, Option(
        None, "minimise RAM with at most F times the multiply-accumulates (default: nothing is computed twice)",
        "F", overhead,
    )]
    ram_limit: Annotated[int | str | None, Option(
        None, "minimise compute in an arena of at most SIZE: 20480, 20kB (1,000 B each), 64K or 64KiB (1,024 B each)",
        "SIZE", units.size,
    )]
    flash_limit: Annotated[int | str | None, Option(
        None, "limit the flash of rewritten model, C library and TFLM to SIZE; the last two are estimated",
        "SIZE", units.size,
    )]
    max_instructions: Annotated[int | str | None, Option(
        None, "minimise RAM with at most N estimated instructions per inference: 3200000, 3200k or 3.2M; with a RAM "
        "limit, minimise instructions within both", "N", units.number,
    )]
    time_limit: Annotated[float | str | None, Option(
        None, "minimise RAM with an estimated inference time of at most TIME: 50ms; needs --board or --clock",
        "TIME", units.milliseconds,
    )]
    weights: Annotated[Weights, Option(
        "auto", "where weights of int8 convolutions and dense layers are read: in flash; in ram, copied to the arena "
        "when their group begins, within the RAM limit; or auto (default): copied to free bytes of the arena, or up to "
        "the RAM limit, if that saves time on the --board", choices=get_args(Weights),
    )]
    clock: Annotated[float | str | None, Option(
        None, "clock of the core, to estimate milliseconds: 64MHz (default: the board's)", "MHZ", units.megahertz,
    )]
    seconds: Annotated[float | None, Option(
        None, "limit of the exact search for a layout in seconds of deterministic CP-SAT time (default: half a second "
        "times the effort)", flags=(),
    )]
    plan: Annotated[Mapping[str, Any] | None, Option(None, "saved plan, as Plan.to_json() returns it", flags=())]
    interpreter: Annotated[bool, Option(
        True, "whether TFLM's interpreter runs the rewritten model; otherwise it becomes a C module, whose own RAM and "
        "flash are counted", flags=(),
    )]
    if_worthwhile: Annotated[bool, Option(
        False, "whether a model is left unchanged if its rewrite adds more bytes to flash than it saves of RAM; "
        "ignored with options that need the rewritten model: limits, a board, a target, another interface", flags=(),
    )]
# fmt: on


def _described(of: type) -> Mapping[str, Option]:
    return {name: hint.__metadata__[0] for name, hint in get_type_hints(of, include_extras=True).items()}


OPTIONS: Mapping[str, Option] = _described(OptimizeOptions)
FUNCTIONS: Mapping[str, Mapping[str, Option]] = {"optimize": OPTIONS, "explore": _described(ExploreOptions)}
"""Maps the name of a public function to the function's options."""
TYPES = get_type_hints(OptimizeOptions)
TYPE_NAMES = {
    bool: "true or false", int: "a whole number", float: "a number", str: "text", Literal: "text",
    Collection: "a list", Mapping: "a table",
}  # fmt: skip
"""Names of types in messages."""


def complete(options: Mapping[str, Any], function: str = "optimize") -> dict[str, Any]:
    """Return the values of all options after conversion, with defaults for missing options.

    Raises TypeError for a name that is not an option of the function, and UsageError for an invalid value.
    """
    for name in options.keys() - FUNCTIONS[function].keys():
        near = one_of(name, FUNCTIONS[function])
        raise TypeError(f"{function}() has no option '{name}'; it has {near}")
    return {name: _read(name, option, options.get(name, option.default)) for name, option in OPTIONS.items()}


def _read(name: str, option: Option, value: Any) -> Any:
    types = _members(TYPES[name])
    if not any(_is(value, one) for one in types) and not (option.read and isinstance(value, str)):
        hint = " or ".join(TYPE_NAMES[get_origin(one) or one] for one in types if one is not NoneType)
        raise UsageError(f"invalid value {value!r} for {name}", hint=hint)
    if value is None:
        return None
    if option.choices and value not in option.choices:
        hint = one_of(str(value), map(str, option.choices))
        raise UsageError(f"unknown {name} {value!r}", hint=hint)
    return option.read(value) if option.read else value


def _members(wanted: Any) -> tuple[Any, ...]:
    return get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)


def _is(value: Any, wanted: Any) -> bool:
    """Options that are numbers accept neither infinity nor NaN."""
    match get_origin(wanted) or wanted:
        case origin if origin is Literal:
            return isinstance(value, str)
        case origin if origin is Collection:
            (item,) = get_args(wanted)
            is_list = isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))
            return is_list and all(any(_is(one, kind) for kind in _members(item)) for one in value)
        case origin if origin in (int, float):
            return units.is_number(value, Integral if origin is int else Real)
        case origin:
            return isinstance(value, origin)
