"""Writes NAME_ops.h: an op resolver with exactly the operators that a model needs, and the size of the arena."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.emit.border import Border, border, scales
from tflm_memopt.emit.embedded import file_name, symbol
from tflm_memopt.emit.kernels import needs
from tflm_memopt.emit.methods import AFTER_2023, BUILTIN, CUSTOM
from tflm_memopt.emit.names import comment, guard, identifier
from tflm_memopt.format.codes import Part
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import CUSTOM as CUSTOM_OP
from tflm_memopt.model.reader import Model
from tflm_memopt.ops.packing import Family, family
from tflm_memopt.results import MemoriesReport, Report, SourceReport
from tflm_memopt.runtime.regions import regions
from tflm_memopt.tflm.arena import predict
from tflm_memopt.tflm.libraries import EARLY_2023, library
from tflm_memopt.tflm.structs import Abi

NEWLINE = "\n"
ARENA_ALIGNMENT = 16
"""Alignment of the arena's start and end in TFLM (MicroArenaBufferAlignment, micro_arena_constants.h)."""

TEAM = """
 * team: the second core (tmo/cores.h), which must live as long. The first call's argument is used; with NULL, one core
 * runs the model."""


@dataclass(frozen=True, slots=True)
class Needed:
    """An operator that the model needs, and the C++ expression on `resolver` that adds it. The expression is "" if the
    user must add the operator.
    """

    operator: str
    add: str
    note: str = ""


def needed(model: Model, library: str, *, shared: bool = False) -> tuple[Needed, ...]:
    """Return each operator of all subgraphs once, in execution order.

    library: name of the tmo_library with our operators' code (emit/embedded.py). shared: whether the operators run on
    two cores.
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
        note = "your own custom operator: add it to the returned resolver" if custom else "TFLM has no kernel for it"
        return Needed(name, "", note)
    return Needed(name, f"{method}()", "needs a TFLM later than 2023" if method in AFTER_2023 else "")


def arena_bytes(model: Model, report: Report) -> int:
    """Return the arena bytes to declare: enough for any build of TFLM with this pointer width, in whole alignment
    units.
    """
    return _enough(builds(model, report))


def _enough(arenas: Mapping[str, int]) -> int:
    """Return the arena size that is enough for all of these builds."""
    return -(-max(arenas.values()) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def builds(model: Model, report: Report) -> Mapping[str, int]:
    """Return the arena of each build of TFLM, by a description of the build.

    Arduino libraries and toolchains for RISC-V and Xtensa have larger structs than the Cortex-M build of the report.
    Libraries of early 2023 have other kernels.
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
    """Return the text of NAME_ops.h.

    ports: the model's inputs and outputs, if its own graph lacks some. library: stem of the *_library.c with our
    operators' code, if it differs from NAME.
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
// Operators and arena that {name}.tflite needs in TensorFlow Lite Micro. Written by tflm-memopt.
#ifndef {include_guard}
#define {include_guard}

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
{adapter}
/* Bytes of the tensor arena: alignas({ARENA_ALIGNMENT}) static uint8_t arena[{c}_arena_size];
{arena_comment} */
{_arena_size(c, nbytes, report)}
#ifdef TMO_RAM_LIMIT /* bytes that your program has for the arena */
static_assert({c}_arena_size <= TMO_RAM_LIMIT,
              "{c} needs an arena of {at_least}{nbytes} B, more than TMO_RAM_LIMIT: convert it with {_limit(model)}");
#endif
{"".join(f"{line}{NEWLINE}" for line in _constants(c, report, ports or border(model)))}
{_resolver(c, operators, table, shared=shared)}
#endif  // {include_guard}
"""


def _resolver(c: str, operators: Sequence[Needed], table: str, *, shared: bool) -> str:
    """Return the function that creates the op resolver. table: declaration of the tmo_library."""
    adds = "\n".join(_statement(n) for n in operators)
    return f"""\
namespace {c}_ops {{
/* TFLM's classes are in namespace tflite::micro since August 2026, and in tflite before. */
using namespace ::tflite;
using namespace ::tflite::micro;
using Resolver = MicroMutableOpResolver<{max(len(operators), 1)}>;
}}  // namespace {c}_ops
{table}
/* The operators that the model needs. The resolver lives as long as the program.{TEAM * shared} */
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
    """Return the command-line flag that limits RAM: --ram-limit, or --memory for several devices."""
    parts = needs(region.program for region in regions(model)).parts
    return "--memory" if parts >> Part.LINK & 1 else "--ram-limit"


def _constants(c: str, report: Report, ports: Border) -> Iterator[str]:
    """Yield the constants of a program other than the size of the arena."""
    if report.arena.variables:
        yield ""
        yield "/* MicroResourceVariables::Create(allocator, this), for the interpreter; the arena includes it. */"
        yield f"constexpr int {c}_resource_variables = {report.arena.variables};"
    if known := list(scales(c, ports)):
        yield ""
        yield "/* real = scale * (value - zero_point) */"
        yield from known
    yield from _source(c, report.source)
    yield from _slow_memory(c, report.memories)


def _slow_memory(c: str, memories: MemoriesReport | None) -> Iterator[str]:
    """Yield the constant and comment for slow memory."""
    if memories and memories.slow:
        yield ""
        yield "/* Slow memory that the model needs, 16-byte aligned. Call once, after AllocateTensors():"
        yield " * tmo_memory memory = {data, bytes, NULL}; tmo::SetMemory(interpreter, &memory);"
        yield " * The third field is the source of an external input. */"
        yield f"constexpr uint32_t {c}_slow_bytes = {memories.slow};"


def _source(c: str, source: SourceReport | None) -> Iterator[str]:
    """Yield the constants and comments for an input outside the arena."""
    if source is None:
        return
    yield ""
    if source.pushed:
        pushes = source.rows // source.pushed
        yield f"/* The input comes in {pushes} pushes of {source.pushed} row{'s' * (source.pushed > 1)}:"
        yield f" * tmo::PushRows(interpreter, source, {c}_row_bytes) until it returns tmo::kPushDone. */"
        yield f"constexpr uint32_t {c}_pushes = {pushes};"
        yield f"constexpr uint32_t {c}_push_rows = {source.pushed};"
    else:
        yield "/* The input is read from your buffer. Call tmo::SetSource(interpreter, &source) once. */"
        yield f"constexpr uint32_t {c}_rows = {source.rows};"
    yield f"constexpr uint32_t {c}_row_bytes = {source.row_bytes};"


def _arena_size(c: str, nbytes: int, report: Report) -> str:
    """Return the constant or, if the size is unknown, an #error that asks the user to define it."""
    if report.arena.exact:
        return f"constexpr size_t {c}_arena_size = {nbytes};"
    unknown, macro = comment(", ".join(report.arena.unknown)), f"{c.upper()}_ARENA_SIZE"
    return f"""\
#ifndef {macro}
#error Unknown allocations of {unknown}: define {macro} as {nbytes} bytes plus these allocations
#endif
constexpr size_t {c}_arena_size = {macro};
static_assert({c}_arena_size >= {nbytes}, "the other operators need {nbytes} B");"""


def _arena_comment(report: Report, operators: Sequence[Needed], needs: Mapping[str, int]) -> Iterator[str]:
    arena = report.arena
    yield f"AllocateTensors() needs at least {arena.figure(arena.min)} B,"
    yield f"and arena_used_bytes() then returns {arena.figure(arena.total)} B."
    if arena.variables:
        count = f"{arena.variables} resource variable{'s' * (arena.variables > 1)}"
        yield f"{arena.variable_bytes:,} B of it are for {count}, which the program creates."
    yield f"Convention: {comment(report.convention)}."
    yield "The constant is the requirement of the largest of these builds of TFLM:"
    yield from (f"  {nbytes:,} B {build}" for build, nbytes in needs.items())
    kept = [n.operator for n in operators if n.operator not in OURS]
    if kept and report.arena.kernels == "reference":
        yield f"Optimized kernels may need more for {comment(', '.join(kept))}: --kernels cmsis-nn, esp-nn."


def _statement(n: Needed) -> str:
    operator = comment(n.operator)
    if not n.add:
        return f"    // {operator}: {n.note}"
    return f"    resolver.{n.add};" + (f"  // {n.note}" if n.note else "")
