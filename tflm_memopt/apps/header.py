"""Writes APP_app.h with the arena's size, the op resolver, and the rules by which models take turns."""

from collections.abc import Collection, Mapping

from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.embedded import file_name, library, symbol
from tflm_memopt.emit.names import comment, file_stem, guard, identifier
from tflm_memopt.emit.resolver import ARENA_ALIGNMENT, needed
from tflm_memopt.emit.templates import rendered
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.regions import regions


def excluded(result: AppOptimized) -> tuple[list[int], list[int]]:
    """Return two lists, each with a bit mask for each model: the models that must not run when the model starts, and
    the models that must not be paused then.
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


def excluded_rows(result: AppOptimized) -> list[str]:
    return [f"{{{a:#x}u, {b:#x}u}}" for a, b in zip(*excluded(result), strict=True)]


def library_file(result: AppOptimized) -> Mapping[str, str]:
    found = [region for done in result.models.values() for region in regions(read(done.model))]
    return library(result.app.name, found)


def files(result: AppOptimized) -> Mapping[str, str]:
    name = result.app.name
    models = [
        {
            "stem": file_stem(each),
            "c": identifier(each),
            "about": comment(each),
            "head": (min((b.offset for b in done.memory.buffers), default=0), done.report.arena.head),
        }
        for each, done in result.models.items()
    ]
    every = (n for done in result.models.values() for n in needed(read(done.model), symbol(name)))
    text = rendered(
        "app_ops.h.jinja",
        c=identifier(name), guard=guard(name, "app"), report=result.report, models=models, alignment=ARENA_ALIGNMENT,
        operators=[*{(n.operator, n.operator in OURS): n for n in every}.values()],
        table=symbol(name), comment=comment, identifier=identifier,
        library_file=comment(file_name(name)) if library_file(result) else "", excluded=excluded_rows(result),
    )  # fmt: skip
    return {f"{file_stem(name)}_app.h": text, **library_file(result)}
