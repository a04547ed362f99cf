"""Writes APP.h and APP.c for an application of C modules in one arena."""

from collections.abc import Mapping
from dataclasses import replace

from tflm_memopt.answers.optimized import Optimized, Sample
from tflm_memopt.apps.header import excluded_rows, library_file
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.array import ALIGNMENT
from tflm_memopt.emit.embedded import file_name
from tflm_memopt.emit.module import InApp, Module, module
from tflm_memopt.emit.module_text import LIMIT, module_header, module_source, ram_limit
from tflm_memopt.emit.names import comment, file_stem, guard, identifier
from tflm_memopt.emit.templates import rendered
from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.regions import addresses


def files(result: AppOptimized, samples: Mapping[str, Sample]) -> Mapping[str, str]:
    """Raises UsageError for a model with builtin operators, or with an input or output of a type that C lacks."""
    name, found = file_stem(result.app.name), modules(result)
    texts = {f"{name}.h": _header(result, found), f"{name}.c": _source(result, found)}
    for model, m in found.items():
        texts |= {f"{m.name}.h": module_header(m), f"{m.name}.c": module_source(m, samples[model])}
    return {**texts, **library_file(result)}


def modules(result: AppOptimized) -> Mapping[str, Module]:
    placed = in_one_arena(result.models)
    app, c = file_stem(result.app.name), identifier(result.app.name)
    shared = {}
    for name, m in placed.items():
        plan = result.models[name].plan
        shared[name] = replace(m, shared=InApp(app, c, f"{c}_{identifier(name)}", plan.pauses if plan else ()))
    return shared


def in_one_arena(models: Mapping[str, Optimized]) -> Mapping[str, Module]:
    """Place the models' C modules in one arena, in which they share the bytes for activations but not their states."""
    alone = {name: _alone(name, done) for name, done in models.items()}
    head, at = 0, dict[str, dict[TensorId, int]]()
    for name, done in models.items():
        own = alone[name]
        end, at[name] = addresses(read(done.model), [t for t in own.at if t not in own.states], relative=False)
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


def _header(result: AppOptimized, found: Mapping[str, Module]) -> str:
    c = identifier(result.app.name)
    return rendered(
        "app.h.jinja",
        c=c, modules=list(found.values()), names=[f"{c}_{identifier(name)}" for name in found], arena=_arena(found),
        guard=guard(result.app.name, "module"), library_file=comment(file_name(result.app.name)), limit=LIMIT,
        slow=result.report.slow,
    )  # fmt: skip


def _arena(found: Mapping[str, Module]) -> int:
    return next(m.arena for m in found.values())


def _source(result: AppOptimized, found: Mapping[str, Module]) -> str:
    c = identifier(result.app.name)
    return rendered(
        "app.c.jinja",
        c=c, about=comment(result.app.name), stem=file_stem(result.app.name), modules=list(found.values()),
        ram_limit=ram_limit(c, _arena(found)), alignment=ALIGNMENT,
        excluded=excluded_rows(result),
        slow_at=[(found[name].prefix, at) for name, at in result.report.slow_offsets.items()],
    )  # fmt: skip
