"""Writes APP.h and APP.c for an application of C modules: one arena for all models, and their turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tflm_memopt.apps.header import excluded, library_file
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.array import ALIGNMENT
from tflm_memopt.emit.embedded import file_name
from tflm_memopt.emit.module import InApp, Module, module
from tflm_memopt.emit.module_text import LIMIT, module_header, module_source, ram_limit
from tflm_memopt.emit.names import comment, file_stem, guard, identifier
from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.reader import Model, read
from tflm_memopt.results import Optimized, Sample
from tflm_memopt.runtime.regions import planned

NEWLINE = "\n"


def files(result: AppOptimized, samples: Mapping[str, Sample]) -> Mapping[str, str]:
    """Return the content of each file by name. samples: inputs of each model's self-test.

    Raises UsageError for a model with builtin operators, or with inputs or outputs of a type that C does not have.
    """
    name, found = file_stem(result.app.name), modules(result)
    texts = {f"{name}.h": _header(result, found), f"{name}.c": _source(result, found)}
    for model, m in found.items():
        texts |= {f"{m.name}.h": module_header(m), f"{m.name}.c": module_source(m, samples[model])}
    return {**texts, **library_file(result)}


def modules(result: AppOptimized) -> Mapping[str, Module]:
    """Return the models' modules in their shared arena."""
    placed = in_one_arena(result.models)
    return {name: replace(m, shared=_sharing(result, name)) for name, m in placed.items()}


def in_one_arena(models: Mapping[str, Optimized]) -> Mapping[str, Module]:
    """Place the models' modules in one arena: first the heads as laid out, then the state of each model."""
    alone = {name: _alone(name, done) for name, done in models.items()}
    head, at = 0, dict[str, dict[TensorId, int]]()
    for name, done in models.items():
        at[name], end = _in_head(read(done.model), alone[name])
        head = max(head, end)
    for name, m in alone.items():
        for state in m.states:
            at[name][state] = -(-head // ALIGNMENT) * ALIGNMENT
            head = at[name][state] + m.sizes[state]
    return {name: replace(m, at=at[name], arena=head) for name, m in alone.items()}


def _alone(name: str, done: Optimized) -> Module:
    kept = ", ".join(f"operator {k.index} {k.operator}" for k in done.report.kept_builtin)
    left = f"'{name}': {kept or done.report.why_unchanged}"
    return module(file_stem(name), read(done.model), done.report.source, left, done.report.window)


def _in_head(model: Model, m: Module) -> tuple[dict[TensorId, int], int]:
    """Return the offsets of a model's buffers except its states, and the end of the last buffer.

    Buffers that TFLM would place go above the others. A model with such buffers excludes all other models and retains
    nothing.
    """
    at = planned(model, m.at)
    end = max((offset + model.graph.tensors[t].nbytes for t, offset in at.items()), default=0)
    for t in m.at.keys() - at.keys() - set(m.states):
        at[t] = -(-end // ALIGNMENT) * ALIGNMENT
        end = at[t] + model.graph.tensors[t].nbytes
    return at, end


def _sharing(result: AppOptimized, name: str) -> InApp:
    c, plan = identifier(result.app.name), result.models[name].plan
    return InApp(file_stem(result.app.name), c, f"{c}_{identifier(name)}", plan.pauses if plan else ())


def _header(result: AppOptimized, found: Mapping[str, Module]) -> str:
    """Return the text of APP.h."""
    c, include_guard = identifier(result.app.name), guard(result.app.name, "module")
    names = [f"{c}_{identifier(name)}" for name in found]
    return f"""\
/* {len(found)} models in one arena, without an interpreter: C11, for tflm-memopt's custom_ops.
 * Written by tflm-memopt.
 *
 *   if (tmo_enter(&{c}_turns, {names[0]}) == TMO_OK) {{  // otherwise another model owns the bytes
 *     ...                                     // fill the inputs, invoke or push, read the outputs
 *     tmo_leave(&{c}_turns, {names[0]});
 *   }}
 *
 * Each model has its own header. A model out of turn runs nothing and returns TMO_OUT_OF_TURN. If several tasks
 * run models, make all of these calls inside a lock.
 * Compile {comment(file_name(result.app.name))} as well: it contains the part of the library that these models need. */
#ifndef {include_guard}
#define {include_guard}

#include "tmo/turns.h"

{NEWLINE.join(f'#include "{m.name}.h"' for m in found.values())}

#ifdef __cplusplus
extern "C" {{
#endif

#define {c.upper()}_ARENA_BYTES {_arena(found)}u {LIMIT}

enum {c}_model {{ {", ".join(names)} }};

/* The arena of all models. */
extern uint8_t {c}_arena[{c.upper()}_ARENA_BYTES];
/* The models' turns (tmo/turns.h). */
extern tmo_turns {c}_turns;

/* Call it once, first. It checks that this library can run all programs. */
tmo_status {c}_init(void);
{_set_slow_header(result) if result.report.slow else ""}
/* Runs the self-tests of all models. Returns the number of output bytes that differ from TFLM on a PC, or the negative
 * tmo_status of the first test that failed. */
int32_t {c}_selftest(void);

#ifdef __cplusplus
}}
#endif

#endif /* {include_guard} */
"""


def _arena(found: Mapping[str, Module]) -> int:
    return next(m.arena for m in found.values())


def _source(result: AppOptimized, found: Mapping[str, Module]) -> str:
    """Return the text of APP.c."""
    c = identifier(result.app.name)
    rows = ", ".join(f"{{{a:#x}u, {b:#x}u}}" for a, b in zip(*excluded(result), strict=True))
    return f"""\
/* {comment(result.app.name)}: {len(found)} models in one arena. Written by tflm-memopt. */
#include "{file_stem(result.app.name)}.h"

{ram_limit(c, _arena(found))}

_Alignas({ALIGNMENT}) uint8_t {c}_arena[{c.upper()}_ARENA_BYTES];

static const tmo_excluded excluded[] = {{{rows}}};
tmo_turns {c}_turns = {{excluded, {len(found)}, 0, 0}};

tmo_status {c}_init(void) {{
  tmo_status status = TMO_OK;
{_each(found, "if (status == TMO_OK) status = {}_init();")}
  return status;
}}

{_set_slow(result, found) if result.report.slow else ""}int32_t {c}_selftest(void) {{
  int32_t wrong = 0, found = 0;
{_each(found, "if (found >= 0) wrong += (found = {}_selftest());")}
  return found < 0 ? found : wrong;
}}
"""


def _set_slow_header(result: AppOptimized) -> str:
    c = identifier(result.app.name)
    return f"""
#define {c.upper()}_SLOW_BYTES {result.report.slow}u /* of slow memory, for example PSRAM, for all models */

/* Sets the slow memory of all models, 16-byte aligned. Call it before {c}_init(). */
void {c}_set_slow(void *memory);
"""


def _set_slow(result: AppOptimized, found: Mapping[str, Module]) -> str:
    offsets = result.report.slow_offsets.items()
    sets = "".join(f"  {found[name].prefix}_set_slow((uint8_t *)memory + {at});\n" for name, at in offsets)
    return f"void {identifier(result.app.name)}_set_slow(void *memory) {{\n{sets}}}\n\n"


def _each(found: Mapping[str, Module], statement: str) -> str:
    return "\n".join("  " + statement.format(m.prefix) for m in found.values())
