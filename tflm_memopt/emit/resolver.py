"""NAME_ops.h: the op resolver with exactly the operators that a model needs, and the size of its arena."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.emit.border import Border, border, scales
from tflm_memopt.emit.embedded import file_name, symbol
from tflm_memopt.emit.kernels import Part, needs
from tflm_memopt.emit.methods import AFTER_2023, BUILTIN, CUSTOM
from tflm_memopt.emit.names import comment, guard, identifier
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import CUSTOM as CUSTOM_OP
from tflm_memopt.model.reader import Model
from tflm_memopt.ops.packing import Family
from tflm_memopt.ops.packings import family
from tflm_memopt.results import FrameReport, Report
from tflm_memopt.runtime.regions import regions
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.libraries import EARLY_2023, library
from tflm_memopt.tflm.structs import Abi

NEWLINE = "\n"
ARENA_ALIGNMENT = 16
"""TFLM aligns its arena's start and end to this (MicroArenaBufferAlignment, micro_arena_constants.h)."""

TEAM = """
 * team: through which the second core helps (tmo/cores.h), for as long. That of the first call counts; NULL: one core
 * runs it all."""


@dataclass(frozen=True, slots=True)
class Needed:
    """An operator that the model needs, and the C++ expression on `resolver` that adds it; empty: the user has to."""

    operator: str
    add: str
    note: str = ""


def needed(model: Model, library: str, *, shared: bool = False) -> tuple[Needed, ...]:
    """Each operator of all subgraphs once, in the order in which the model runs them.

    library: the table that has the code of our operators (emit/embedded.py). shared: they run on two cores.
    """
    ops = (op for graph in model.graphs for op in graph.ops)
    names = dict.fromkeys(
        (op.type == CUSTOM_OP, str(op.options["custom_code"]) if op.type == CUSTOM_OP else op.type) for op in ops
    )
    return tuple(_needed(name, library, custom=custom, shared=shared) for custom, name in names)


def _needed(name: str, library: str, *, custom: bool, shared: bool) -> Needed:
    if custom and name in OURS:
        registration = f"tmo::RegisterRegion{'Shared' * shared}<&{library}>({'team' * shared})"
        return Needed(name, f'AddCustom("{name}", {registration})')
    method = (CUSTOM if custom else BUILTIN).get(name)
    if method is None:
        note = "a custom operator of yours: add it to what this returns" if custom else "TFLM has no kernel for it"
        return Needed(name, "", note)
    return Needed(name, f"{method}()", "needs a TFLM later than 2023" if method in AFTER_2023 else "")


def arena_bytes(model: Model, report: Report) -> int:
    """The arena to declare, in whole alignment units: enough for any build of TFLM for this width of pointers."""
    return _enough(builds(model, report))


def _enough(arenas: Mapping[str, int]) -> int:
    """The arena for the largest of these builds."""
    return -(-max(arenas.values()) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def builds(model: Model, report: Report) -> Mapping[str, int]:
    """Bytes that each build of TFLM needs, by what it is: Arduino libraries, RISC-V and Xtensa toolchains have larger
    structs than the Cortex-M build that the report counts, and libraries of early 2023 other kernels.
    """
    full: Abi = "ilp32-full" if report.arena.abi.startswith("ilp32") else "lp64-full"
    kernels = library(report.arena.kernels, mve=family(report.target) is Family.MVE)
    arenas = {
        f"built with TF_LITE_STATIC_MEMORY, {report.arena.abi}": report.arena,
        "without it": predict(model, full, library=kernels),
        "without it, reference kernels of January 2023": predict(model, full, library=EARLY_2023),
    }
    return {build: max(arena.min, arena.total) for build, arena in arenas.items()}


def ops_header(name: str, model: Model, report: Report, ports: Border | None = None, library: str = "") -> str:
    """NAME_ops.h.

    ports: the model's inputs and outputs, if its own graph does not have all of them. library: stem of the
    *_library.c that has the code of our operators, if it is not NAME.
    """
    c, include_guard, shared = identifier(name), guard(name, "ops"), bool(report.cores)
    source = comment(file_name(library or name))
    operators = needed(model, symbol(library or name), shared=shared)
    arenas = builds(model, report)
    nbytes = _enough(arenas)
    at_least = "" if report.arena.exact else "at least "
    header = "tmo_tflm_cores.h" if shared else "tmo_tflm.h"
    ours = any(n.operator in OURS for n in operators)
    adapter = f'#include "{header}"\n' if ours else ""
    table = f'\nextern "C" const tmo_library {symbol(library or name)}; /* {source} */\n' if ours else ""
    arena_comment = "\n".join(f" * {line}" for line in _arena_comment(report, operators, arenas))
    return f"""\
// What {name}.tflite needs of TensorFlow Lite Micro: operators and arena. Written by tflm-memopt.
#ifndef {include_guard}
#define {include_guard}

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
{adapter}
/* Bytes of the tensor arena: alignas({ARENA_ALIGNMENT}) static uint8_t arena[{c}_arena_size];
{arena_comment} */
{_arena_size(c, nbytes, report)}
#ifdef TMO_RAM_LIMIT /* bytes that your program has for it */
static_assert({c}_arena_size <= TMO_RAM_LIMIT,
              "{c} needs an arena of {at_least}{nbytes} B, TMO_RAM_LIMIT is less: convert it with {_limit(model)}");
#endif
{"".join(f"{line}{NEWLINE}" for line in _constants(c, report, ports or border(model)))}
{_resolver(c, operators, table, shared=shared)}
#endif  // {include_guard}
"""


def _resolver(c: str, operators: Sequence[Needed], table: str, *, shared: bool) -> str:
    """The function that makes it. table: the declaration of the library's."""
    adds = "\n".join(_statement(n) for n in operators)
    return f"""\
namespace {c}_ops {{
/* TFLM's classes are in tflite::micro in versions after August 2026, in tflite before. */
using namespace ::tflite;
using namespace ::tflite::micro;
using Resolver = MicroMutableOpResolver<{max(len(operators), 1)}>;
}}  // namespace {c}_ops
{table}
/* The model's operators and no others. The resolver lives as long as the program.{TEAM * shared} */
inline {c}_ops::Resolver &{c}_op_resolver({"tmo_team *team = nullptr" * shared}) {{
  static {c}_ops::Resolver resolver;
  static bool filled = false;
  if (!filled) {{
    filled = true;
{adds}
  }}
  return resolver;
}}
"""


def _limit(model: Model) -> str:
    """The flag that limits its RAM: of one device, or of each of several."""
    parts = needs(region.program for region in regions(model)).parts
    return "--memory" if parts >> Part.LINK & 1 else "--ram-limit"


def _constants(c: str, report: Report, ports: Border) -> Iterator[str]:
    """What a program has to know besides the arena's size."""
    if report.arena.variables:
        yield ""
        yield "/* MicroResourceVariables::Create(allocator, this), for the interpreter: the arena has room for them. */"
        yield f"constexpr int {c}_resource_variables = {report.arena.variables};"
    if known := list(scales(c, ports)):
        yield ""
        yield "/* real = scale * (value - zero_point) */"
        yield from known
    yield from _frame(c, report.frame)


def _frame(c: str, frame: FrameReport | None) -> Iterator[str]:
    """What the program says about an input that is not in the arena."""
    if frame is None:
        return
    yield ""
    if frame.pushed:
        pushes = frame.rows // frame.pushed
        yield f"/* The input comes in {pushes} pushes of {frame.pushed} row{'s' * (frame.pushed > 1)}:"
        yield f" * tmo::PushRows(interpreter, frame, {c}_row_bytes) until it returns tmo::kPushDone. */"
        yield f"constexpr uint32_t {c}_pushes = {pushes};"
        yield f"constexpr uint32_t {c}_push_rows = {frame.pushed};"
    else:
        yield "/* The input is read from a buffer of yours: tmo::SetFrame(interpreter, &frame), once. */"
        yield f"constexpr uint32_t {c}_rows = {frame.rows};"
    yield f"constexpr uint32_t {c}_row_bytes = {frame.row_bytes};"


def _arena_size(c: str, nbytes: int, report: Report) -> str:
    """The constant; where it is not known, what the user has to define for it."""
    if report.arena.exact:
        return f"constexpr size_t {c}_arena_size = {nbytes};"
    unknown, macro = comment(", ".join(report.arena.unknown)), f"{c.upper()}_ARENA_SIZE"
    return f"""\
#ifndef {macro}
#error What {unknown} allocates is not known: define {macro}, in bytes, {nbytes} and what it takes
#endif
constexpr size_t {c}_arena_size = {macro};
static_assert({c}_arena_size >= {nbytes}, "the other operators need {nbytes} B");"""


def _arena_comment(report: Report, operators: Sequence[Needed], needs: Mapping[str, int]) -> Iterator[str]:
    arena = report.arena
    yield f"The smallest with which AllocateTensors() succeeds is {arena.figure(arena.min)} B,"
    yield f"of which arena_used_bytes() then says {arena.figure(arena.total)} B."
    if arena.variables:
        count = f"{arena.variables} resource variable{'s' * (arena.variables > 1)}"
        yield f"{arena.variable_bytes:,} B of it are for {count}, which the program creates."
    yield f"Convention: {comment(report.convention)}."
    yield "The constant is enough for all of these builds of TFLM, and for the largest of them no more than that:"
    yield from (f"  {nbytes:,} B {build}" for build, nbytes in needs.items())
    kept = [n.operator for n in operators if n.operator not in OURS]
    if kept and report.arena.kernels == "reference":
        yield f"Optimized kernels may want more for {comment(', '.join(kept))}: --kernels cmsis-nn, esp-nn."


def _statement(n: Needed) -> str:
    operator = comment(n.operator)
    if not n.add:
        return f"    // {operator}: {n.note}"
    return f"    resolver.{n.add};" + (f"  // {n.note}" if n.note else "")
