"""Writes APP_app.h, the header for firmware with several models in one arena: arena size, op resolver and turns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.embedded import embedded, entries, file_name, symbol
from tflm_memopt.emit.names import comment, file_stem, guard, identifier
from tflm_memopt.emit.own import own_kernels
from tflm_memopt.emit.resolver import ARENA_ALIGNMENT, Needed, needed
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import read
from tflm_memopt.results import Optimized
from tflm_memopt.runtime.regions import regions
from tflm_memopt.tflm.arena import Arena, predict_together
from tflm_memopt.tflm.libraries import EARLY_2023, Library
from tflm_memopt.tflm.structs import Abi

NEWLINE = "\n"


def arena_bytes(abi: Abi, models: Sequence[Optimized], libraries: Sequence[Library], arena: Arena) -> int:
    """Return the arena bytes to declare: enough for any build of TFLM with this pointer width, in whole alignment
    units.
    """
    full: Abi = "ilp32-full" if abi.startswith("ilp32") else "lp64-full"
    data = [done.model for done in models]
    others = [
        predict_together(data, full, libraries=libraries),
        predict_together(data, full, libraries=[EARLY_2023] * len(data)),
    ]
    most = max(max(one.min, one.total) for one in (arena, *others))
    return -(-most // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def app_header(result: AppOptimized) -> str:
    """Return the text of APP_app.h."""
    app, names = result.app, list(result.models)
    c, include_guard = identifier(app.name), guard(app.name, "app")
    includes = "".join(f'#include "{file_stem(n)}_{kind}.h"\n' for n in names for kind in ("model", "ops"))
    enum = "".join(f"  {c}_{identifier(n)} = {i},{NEWLINE}" for i, n in enumerate(names))
    table = symbol(app.name)
    declared = (
        f'extern "C" const tmo_library {table}; /* {comment(file_name(app.name))} */\n\n'
        if library_file(result)
        else ""
    )
    return f"""\
// {len(names)} models in one arena. Written by tflm-memopt.
//
//   alignas({ARENA_ALIGNMENT}) static uint8_t arena[{c}_arena_size];
//   MicroAllocator *allocator = MicroAllocator::Create(arena, {c}_arena_size);
//   MicroInterpreter each(GetModel(NAME_model), {c}_op_resolver(), allocator);  // for each model
//
// Call AllocateTensors() of all interpreters before the first inference. Write a model's inputs only during its turn:
// outside its turn, the bytes belong to other models.
#ifndef {include_guard}
#define {include_guard}

{includes}#include "tmo/turns.h"

{_sizes(c, result)}
enum {c}_model : unsigned {{
{enum}}};

{declared}{_resolver(c, list(_operators(result)))}
{_turns(c, *excluded(result))}
#endif  // {include_guard}
"""


def _resolver(c: str, operators: Sequence[Needed]) -> str:
    """Return C++ code for the op resolver that all models share."""
    adds = "\n".join(
        f"    resolver.{n.add};" if n.add else f"    // {comment(n.operator)}: {n.note}" for n in operators
    )
    return f"""\
namespace {c}_app {{
using namespace ::tflite;
using namespace ::tflite::micro;
using Resolver = MicroMutableOpResolver<{max(len(operators), 1)}>;
}}  // namespace {c}_app

/* The operators that the models need, for all interpreters. */
inline {c}_app::Resolver &{c}_op_resolver() {{
  static {c}_app::Resolver resolver;
  static bool filled = false;
  if (!filled) {{
    filled = true;
{adds}
  }}
  return resolver;
}}
"""


def _turns(c: str, running: Sequence[int], paused: Sequence[int]) -> str:
    """Return the C++ function that holds which models may run now."""
    rows = ", ".join(f"{{{a:#x}u, {b:#x}u}}" for a, b in zip(running, paused, strict=True))
    return f"""\
/* The models' turns. Call tmo_enter(&{c}_turns(), MODEL) before filling a model's inputs, before pushing rows and
 * before resuming a paused model; unless it returns TMO_OK, another model owns the bytes. Call tmo_leave() after
 * reading the outputs. tmo::RunToPause() and tmo::PushRows() make both calls and run nothing out of turn. If several
 * tasks run models, make all of these calls inside a lock. */
inline tmo_turns &{c}_turns() {{
  static const tmo_excluded excluded[] = {{{rows}}};
  static tmo_turns turns = {{excluded, {len(running)}, 0, 0}};
  return turns;
}}
"""


def _operators(result: AppOptimized) -> Iterator[Needed]:
    """Yield each operator that some model needs, once."""
    every = (n for done in result.models.values() for n in needed(read(done.model), symbol(result.app.name)))
    yield from {(n.operator, n.operator in OURS): n for n in every}.values()


def _sizes(c: str, result: AppOptimized) -> str:
    """Return C++ constants for the arena size and for the offset of each model's head."""
    report = result.report
    lines = [
        f"/* The interpreters use {report.arena.figure(report.arena.total)} B of it ({report.arena.abi}):",
        f" * head {report.arena.figure(report.arena.head)}, tail {report.arena.figure(report.arena.tail)}.",
        " * Heads, in bytes from the arena's start:",
    ]
    for name, done in result.models.items():
        low = min((b.offset for b in done.memory.buffers), default=0)
        lines.append(f" *   {comment(name)}: {low:,} to {done.report.arena.head:,}")
    lines += [f" *   {comment(x.model)}, reserved: {x.first:,} to {x.end:,}, {x.why}" for x in report.reserved]
    slow = _slow_lines(c, result) if report.slow else []
    return "\n".join([*lines, " */", f"constexpr size_t {c}_arena_size = {report.arena_size};", *slow, ""])


def _slow_lines(c: str, result: AppOptimized) -> Iterator[str]:
    """Yield the constant and comment for the slow memory that the models share."""
    yield "/* Slow memory of all models, 16-byte aligned; tmo::SetMemory() gives each model its part:"
    for name, at in result.report.slow_offsets.items():
        yield f" *   {comment(name)}: {identifier(name)}_slow_bytes from byte {at}"
    yield f" */\nconstexpr size_t {c}_slow_bytes = {result.report.slow};"


def excluded(result: AppOptimized) -> tuple[list[int], list[int]]:
    """For each model, return a bit mask of the models that must not run, and one of those that must not be paused, at
    its start.
    """
    names = list(result.models)
    yields = {(one.model, other) for one in result.report.pausing for other in one.runs}
    turns = {frozenset(pair) for pair in yields}
    concurrent_pairs = {frozenset(pair) for pair in result.app.concurrent_pairs} - turns

    def masks(free: Collection[frozenset[str]], pausing: Collection[tuple[str, str]]) -> list[int]:
        return [
            sum(1 << j for j, n in enumerate(names) if frozenset((m, n)) not in free and (n, m) not in pausing)
            for m in names
        ]

    return masks(concurrent_pairs, ()), masks(concurrent_pairs, yields)


def library_file(result: AppOptimized) -> Mapping[str, str]:
    """Return APP_library.c by name, or nothing if no model has one of our operators."""
    models = [read(done.model) for done in result.models.values()]
    found = [region for model in models for region in regions(model)]
    if not found:
        return {}
    own = {identity: kernel for model in models for identity, kernel in own_kernels(model).items()}
    return embedded(result.app.name, [region.program for region in found], entries(found), own)


def files(result: AppOptimized) -> Mapping[str, str]:
    """Return APP_app.h and APP_library.c by name."""
    return {f"{file_stem(result.app.name)}_app.h": app_header(result), **library_file(result)}
