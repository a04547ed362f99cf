"""APP_app.h: what firmware needs of several models in one arena: its size, one resolver, who may run beside whom."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tflm_memopt.application.results import AppOptimized
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
    """The arena to declare, in whole alignment units: enough for any build of TFLM for this width of pointers."""
    full: Abi = "ilp32-full" if abi.startswith("ilp32") else "lp64-full"
    data = [done.model for done in models]
    others = [
        predict_together(data, full, libraries=libraries),
        predict_together(data, full, libraries=[EARLY_2023] * len(data)),
    ]
    most = max(max(one.min, one.total) for one in (arena, *others))
    return -(-most // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def app_header(result: AppOptimized) -> str:
    """APP_app.h."""
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
// AllocateTensors() of all of them comes before the first inference. A model's inputs are written when it is its turn:
// what others leave there is theirs.
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
    """The operators of all models."""
    adds = "\n".join(
        f"    resolver.{n.add};" if n.add else f"    // {comment(n.operator)}: {n.note}" for n in operators
    )
    return f"""\
namespace {c}_app {{
using namespace ::tflite;
using namespace ::tflite::micro;
using Resolver = MicroMutableOpResolver<{max(len(operators), 1)}>;
}}  // namespace {c}_app

/* The operators of all models and no others, for all interpreters. */
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
    """The C++ function that says which models may run now."""
    rows = ", ".join(f"{{{a:#x}u, {b:#x}u}}" for a, b in zip(running, paused, strict=True))
    return f"""\
/* Whose turn it is. tmo_enter(&{c}_turns(), MODEL) before a model's inputs are filled, before a push of rows and when
 * a paused model goes on: unless it says TMO_OK, the bytes are another model's. tmo_leave() when the outputs are read.
 * tmo::RunToPause() and tmo::PushRows() take both, and run nothing out of turn. Where tasks take each other's turn, all
 * of these calls belong inside a lock. */
inline tmo_turns &{c}_turns() {{
  static const tmo_excluded excluded[] = {{{rows}}};
  static tmo_turns turns = {{excluded, {len(running)}, 0, 0}};
  return turns;
}}
"""


def _operators(result: AppOptimized) -> Iterator[Needed]:
    """Each once."""
    every = (n for done in result.models.values() for n in needed(read(done.model), symbol(result.app.name)))
    yield from {(n.operator, n.operator in OURS): n for n in every}.values()


def _sizes(c: str, result: AppOptimized) -> str:
    """The arena, and where each model lies in it."""
    report = result.report
    lines = [
        f"/* The interpreters take {report.arena.figure(report.arena.total)} B of it ({report.arena.abi}):",
        f" * head {report.arena.figure(report.arena.head)}, tail {report.arena.figure(report.arena.tail)}.",
        " * Heads, in bytes from the arena's start:",
    ]
    for name, done in result.models.items():
        low = min((b.offset for b in done.memory.buffers), default=0)
        lines.append(f" *   {comment(name)}: {low:,} to {done.report.arena.head:,}")
    lines += [f" *   {comment(x.model)}, reserved: {x.first:,} to {x.end:,}, {x.why}" for x in report.reserved]
    return "\n".join([*lines, " */", f"constexpr size_t {c}_arena_size = {report.arena_size};", ""])


def excluded(result: AppOptimized) -> tuple[list[int], list[int]]:
    """For each model, a bit for each one that must not run, and for each that must not be paused, when it begins."""
    names = list(result.models)
    yields = {(one.model, other) for one in result.report.pausing for other in one.runs}
    turns = {frozenset(pair) for pair in yields}
    beside = {frozenset(pair) for pair in result.app.beside} - turns

    def masks(free: Collection[frozenset[str]], pausing: Collection[tuple[str, str]]) -> list[int]:
        return [
            sum(1 << j for j, n in enumerate(names) if frozenset((m, n)) not in free and (n, m) not in pausing)
            for m in names
        ]

    return masks(beside, ()), masks(beside, yields)


def library_file(result: AppOptimized) -> Mapping[str, str]:
    """APP_library.c by its name; nothing if no model has an operator of ours."""
    models = [read(done.model) for done in result.models.values()]
    found = [region for model in models for region in regions(model)]
    if not found:
        return {}
    own = {identity: kernel for model in models for identity, kernel in own_kernels(model).items()}
    return embedded(result.app.name, [region.program for region in found], entries(found), own)


def files(result: AppOptimized) -> Mapping[str, str]:
    """APP_app.h and APP_library.c by their names."""
    return {f"{file_stem(result.app.name)}_app.h": app_header(result), **library_file(result)}
