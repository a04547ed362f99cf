"""Writes NAME_library.c, which compiles only those parts of the C library that a model needs (tmo/embed.h)."""

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum

from tflm_memopt.emit.kernels import Needs, needs
from tflm_memopt.emit.names import comment, file_stem, identifier
from tflm_memopt.emit.own_text import definitions
from tflm_memopt.errors import UsageError
from tflm_memopt.format.codes import InputPlace, Part
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.ops.custom import MADE, OwnKernel
from tflm_memopt.ops.kinds import USING_LIBM, Kind, traits
from tflm_memopt.ops.packing import Packing
from tflm_memopt.runtime.regions import CustomOperator

NEWLINE = "\n"
FUNCTIONS = {
    "check": "tmo_check_embedded",
    "run": "tmo_run",
    "run_shared": "tmo_run_shared",
    "push": "tmo_push",
    "run_paused": "tmo_run_paused",
}


def symbol(name: str) -> str:
    return f"{identifier(name)}_library"


def file_name(name: str) -> str:
    return f"{file_stem(name)}_library.c"


def _entry(region: CustomOperator, *, shared: bool) -> str:
    if region.input in (InputPlace.STREAM, InputPlace.LINK):
        return "push"
    return "run_paused" if region.pauses else "run_shared" if shared else "run"


def library(name: str, regions: Collection[CustomOperator], *, shared: bool = False) -> Mapping[str, str]:
    """Return the file NAME_library.c, or no file for a model without custom operators."""
    if not regions:
        return {}
    called = {_entry(region, shared=shared) for region in regions}
    needed = needs(region.program for region in regions)
    return {file_name(name): source(name, needed, called, own_kernels(regions))}


def source(name: str, needed: Needs, called: Collection[str], own: Mapping[int, OwnKernel]) -> str:
    """Return the text of NAME_library.c.

    The argument `called` names the function pointers that the tmo_library sets.
    """
    table = symbol(name)
    points = ", ".join(f".{e} = {function}" for e, function in FUNCTIONS.items() if e == "check" or e in called)
    calls = int(any(needed.kinds >> kind & 1 for kind in USING_LIBM))
    libm = f"Link with -lm.{NEWLINE} * " if calls else ""
    masks = NEWLINE.join(
        (
            f"#define TMO_MATH {calls}",
            f"#define TMO_KINDS(KIND) {kind_list(needed.kinds)}",
            f"#define TMO_PACKINGS {_mask(needed.packings, Packing, 'TMO_PACKING_', '1ull')}",
            f"#define TMO_PARTS {_mask(needed.parts, Part, 'TMO_PART_', '1ull')}",
        )
    )
    return f"""\
/* This file compiles the part of tflm-memopt's library that {comment(name)} needs. Written by tflm-memopt.
 *
 * Compile this file as C11 with the library's folders include/ and src/ as include folders. {libm}No flags are needed.
 * -DTMO_SKIP_PROOF leaves out the validator, which checks at the start that the model's program is intact. */
{definitions(own) if own else ""}{masks}
{"#define TMO_TWO_CORES" + NEWLINE if "run_shared" in called else ""}#include "tmo/embed.h"

extern const tmo_library {table};
const tmo_library {table} = {{{points}}};
"""


def kind_list(kinds: int) -> str:
    return " ".join(f"KIND({kind.name})" for kind in Kind if kinds >> kind & 1)


def _mask(bits: int, names: type[IntEnum], prefix: str, one: str) -> str:
    found = [f"{one} << {prefix}{bit.name}" for bit in names if bits >> bit & 1]
    if len(found) < 2:
        return f"({found[0]})" if found else f"0{one[1:]}"
    return "\\\n  (" + " | \\\n   ".join(found) + ")"


def own_kernels(regions: Iterable[CustomOperator]) -> Mapping[int, OwnKernel]:
    """Return the user's kernels that a model calls.

    Raises UsageError for a missing kernel, and ModelError for a damaged program.
    """
    found: dict[int, OwnKernel] = {}
    for region in regions:
        for op in unpack(region.program).ops:
            if not traits(op.kind).named:
                continue
            if op.param not in MADE:
                raise UsageError(
                    f"the model needs your custom kernel {op.param:#x}, which is not registered",
                    code="unsupported_operator",
                    hint="--describe FILE.py, or import the file that describes it; if the file has changed, convert "
                    "the original again",
                )
            found[op.param] = MADE[op.param]
    return found
