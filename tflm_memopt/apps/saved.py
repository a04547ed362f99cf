"""Makes the files that `optimize app.toml` and AppOptimized.save() write."""

import functools
from collections.abc import Callable, Collection, Mapping
from functools import partial

from tflm_memopt import generic
from tflm_memopt.answers.optimized import Sample
from tflm_memopt.apps import header
from tflm_memopt.apps import module as app_module
from tflm_memopt.apps import report as pages
from tflm_memopt.apps.fit import fit_app
from tflm_memopt.apps.project import of_app
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit import bundle
from tflm_memopt.emit.license import marked
from tflm_memopt.emit.names import file_stem, identifier
from tflm_memopt.emit.printing import to_json
from tflm_memopt.emit.project import Project, below, suited
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.verify import sample

C = "c"
HERE = ("cpp", C, "tflite", *bundle.PROJECTS)
"""Kinds of files that can be written for several models."""
OWN_NAMES = frozenset(
    {"app", "arena", "arena_size", "init", "model", "op_resolver", "selftest", "set_slow", "slow_bytes", "turns"}
)
"""Names that a model must not have, because the application's C code uses them as ends of its own names."""


@generic.files.register
def files(result: AppOptimized, kinds: str | Collection[str], *_unused: object) -> dict[str, bytes]:
    """Raises UsageError for equal file names, and for kinds of files that only single models can have."""
    wanted = bundle.kinds(kinds)
    if alone := [kind for kind in wanted if kind not in HERE]:
        raise UsageError(f"--emit {alone[0]} is for one model", hint=f"--emit {', '.join(HERE)}")
    made: dict[str, bytes] = {}
    projects = [kind for kind in wanted if kind in bundle.PROJECTS]
    own_kinds = [kind for kind in wanted if kind != C and kind not in projects]
    samples = {
        name: functools.cache(partial(sample, done.original, done.model)) for name, done in result.models.items()
    }
    stem, taken = file_stem(result.app.name), {identifier(result.app.name).lower(): "the application"}
    taken |= dict.fromkeys(OWN_NAMES, "the application")
    for name, done in result.models.items():
        own = bundle.files(done, name, own_kinds, bundle.Extras(original=done.original, library=stem))
        c = identifier(file_stem(name))
        if (other := taken.get(c.lower())) or own.keys() & made.keys():
            what = f"the name '{name}' becomes '{c}' in C, which clashes with a name of {other or 'another file'}"
            hint = "choose another name with letters from a to z"
            raise UsageError(what, code="bad_config", where=f"models.{name}", hint=hint)
        taken[c.lower()] = f"the model '{name}'"
        made |= own
    texts = marked(header.files(result)) if "cpp" in wanted else {}
    if C in wanted:
        texts |= marked(app_module.files(result, {name: once() for name, once in samples.items()}))
    if projects:
        project = _project(result, samples)
        for kind in projects:
            texts |= below(kind, marked(bundle.PROJECTS[kind](project)))
    texts |= {f"{stem}.report.json": to_json(result.to_json()), f"{stem}.report.html": pages.page(result)}
    return made | {name: text.encode() for name, text in texts.items()}


def _project(result: AppOptimized, samples: Mapping[str, Callable[[], Sample]]) -> Project:
    subjects, models = {}, dict[str, str]()
    for name, done in result.models.items():
        given = bundle.Extras(samples[name], done.original, library=file_stem(result.app.name))
        subjects[name] = bundle.subject(file_stem(name), read(done.model), done, given)
        models |= bundle.cpp(file_stem(name), read(done.model), done, given)
    fitting = suited([row.rewritten for row in fit_app(result).boards])
    return of_app(result, subjects, models, fitting)
