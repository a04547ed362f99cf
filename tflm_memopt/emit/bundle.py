"""What `optimize` leaves in its folder: the model, the plan, the report, and C++ or C to compile in.

And the plans that `explore` leaves. From data to bytes; nothing is written here.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tflm_memopt.emit import specialized
from tflm_memopt.emit.array import model_header, model_source
from tflm_memopt.emit.border import Border, border
from tflm_memopt.emit.embedded import STEPPED, embedded, entries
from tflm_memopt.emit.license import marked
from tflm_memopt.emit.module import Module, module
from tflm_memopt.emit.module_text import module_header, module_source
from tflm_memopt.emit.names import file_stem
from tflm_memopt.emit.own import no_own, own_kernels
from tflm_memopt.emit.program import Subject, labels_count
from tflm_memopt.emit.project import Project, arduino, below, esp_idf, of_model, platformio
from tflm_memopt.emit.resolver import ops_header
from tflm_memopt.emit.stm32cube import stm32cube
from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.model.described import described
from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.plan import Plan
from tflm_memopt.results import Exploration, Optimized, Sample
from tflm_memopt.runtime.regions import regions

Files = Mapping[str, bytes]
Sampler = Callable[[], Sample] | None


@dataclass(frozen=True, slots=True)
class Extras:
    """What is known about a model besides its rewrite."""

    sample: Sampler = None
    """Runs it, for a kind that stores what comes out."""
    original: bytes | None = None
    """As it was: its metadata, and the scale of an input that is external now."""
    labels: tuple[str, ...] = ()
    """Labels of output 0, instead of those that the original's metadata has."""
    kinds: frozenset[str] = frozenset()
    """All that is written of it; files() says so."""
    library: str = ""
    """Stem of the *_library.c that another one writes; empty: the model has its own."""


Emitter = Callable[[str, Model, Optimized, Extras], Mapping[str, str]]
NO_EXTRAS = Extras()
NOTHING_PLANNED = Plan(steps=(), buffers=(), offsets=(), head=0, lower_bound=0, proven=True)
"""The plan of a model that stays as it is."""


def files(result: Optimized, name: str, kinds: Collection[str] = ("cpp",), extras: Extras = NO_EXTRAS) -> Files:
    """File name -> content of everything about the model NAME, the model itself first.

    kinds: of EMITTERS. Raises UsageError for a model that cannot be written so, and for labels that are not its.
    """
    if result.report.cores and (alone := next((kind for kind in kinds if kind in ONE_CORE), None)):
        hint = f"--emit cpp, {', '.join(kind for kind in PROJECTS if kind not in ONE_CORE)}; or --cores 1"
        raise UsageError(f"--emit {alone} is for one core", code="cores_emit", hint=hint)
    stem = file_stem(name)
    texts: dict[str, str] = {
        f"{stem}.plan.json": to_json((result.plan or NOTHING_PLANNED).to_json()),
        f"{stem}.report.json": to_json(result.report.to_json()),
    }
    model, once = (
        read(result.model),
        replace(extras, sample=functools.cache(extras.sample) if extras.sample else None, kinds=frozenset(kinds)),
    )
    for kind in kinds:
        texts |= EMITTERS[kind](stem, model, result, once)
    return {f"{stem}.tflite": result.model} | {file: text.encode() for file, text in marked(texts).items()}


def cpp(stem: str, model: Model, result: Optimized, extras: Extras) -> Mapping[str, str]:
    """Model, resolver and library for TensorFlow Lite Micro."""
    return {
        f"{stem}_model.h": model_header(stem, len(result.model)),
        f"{stem}_model.cpp": model_source(stem, result.model),
        f"{stem}_ops.h": ops_header(stem, model, result.report, _border(model, extras), extras.library),
        **({} if extras.library else _library(stem, model, result, extras)),
    }


def _library(stem: str, model: Model, result: Optimized, extras: Extras) -> Mapping[str, str]:
    """NAME_library.c, the same for all kinds that are written together; nothing for a model without our operators."""
    if not (found := list(regions(model))):
        return {}
    called = STEPPED if extras.kinds == {"c-specialized"} else entries(found, shared=bool(result.report.cores))
    if "c-specialized" in extras.kinds:
        called |= STEPPED
    return embedded(stem, [region.program for region in found], called, own_kernels(model))


def _module(run: Callable[[Module], str] | None = None) -> Emitter:
    """The emitter of a C module. run: what runs it; None: the library's executor, kernels of a user's own as well."""

    def emit(stem: str, model: Model, result: Optimized, extras: Extras) -> Mapping[str, str]:
        if run:
            no_own("c-specialized", model)
        kept = ", ".join(f"operator {k.index} {k.operator}" for k in result.report.kept_builtin)
        whole = module(stem, model, result.report.frame, kept or result.report.why_unchanged, result.report.window)
        if extras.sample is None:
            raise ValueError("a C module has a self-test: it needs a sample")
        source = module_source(whole, extras.sample(), run(whole) if run else "")
        library = _library(stem, model, result, extras)
        return {f"{stem}.h": module_header(whole), f"{stem}.c": source, **library}

    return emit


MODULES = ("c", "c-specialized")
"""Emitters without an interpreter: the library's executor runs the model, or code for it alone."""
ONE_CORE = (*MODULES, "stm32cube")
"""Emitters whose programs have no second core."""


def _border(model: Model, extras: Extras) -> Border:
    return border(model, read(extras.original) if extras.original else None)


def _project(kind: str, write: Callable[[Project], Mapping[str, str]]) -> Emitter:
    """The emitter of a project, in a folder of its own."""

    def emit(stem: str, model: Model, result: Optimized, extras: Extras) -> Mapping[str, str]:
        project = of_model(subject(stem, model, result, extras), cpp(stem, model, result, extras), result)
        return below(kind, write(project))

    return emit


def subject(stem: str, model: Model, result: Optimized, extras: Extras) -> Subject:
    """The model as a program has it. Raises UsageError for labels that are not its."""
    if extras.sample is None or extras.original is None:
        raise ValueError("a project has a stored input and the original's scales: it needs a sample and the original")
    original = read(extras.original)
    known, borders = described(original, extras.original), border(model, original)
    count = labels_count(borders)
    if extras.labels and len(extras.labels) != count:
        raise UsageError(
            f"{len(extras.labels)} labels for {count} values of the first output",
            code="labels_of_output",
            where="--labels",
            hint="a label a line, in the order of the output's values",
        )
    labels = extras.labels or (known.labels if len(known.labels) == count else ())
    return Subject(stem, result.report, borders, extras.sample(), labels, known.pixels)


PROJECTS = {"arduino": arduino, "platformio": platformio, "esp-idf": esp_idf, "stm32cube": stm32cube}
EMITTERS: Mapping[str, Emitter] = {
    "tflite": lambda *_: {},
    "cpp": cpp,
    "c": _module(),
    "c-specialized": _module(specialized.run),
    **{kind: _project(kind, write) for kind, write in PROJECTS.items()},
}
"""What `--emit` takes: the model alone; model and resolver for TensorFlow Lite Micro, in C++; a C module without an
interpreter; projects around the model."""


def kinds(wanted: str | Collection[str]) -> tuple[str, ...]:
    """Names of EMITTERS, as a list or with commas between them; UsageError for one that is none.

    >>> kinds("cpp, c"), kinds(["tflite"])
    (('cpp', 'c'), ('tflite',))
    """
    given = wanted.split(",") if isinstance(wanted, str) else wanted
    names = tuple(name.strip() for name in given if name.strip())
    if unknown := [name for name in names if name not in EMITTERS]:
        hint = one_of(unknown[0], EMITTERS)
        raise UsageError(f"'{unknown[0]}' is nothing to emit", code="unknown_emit", hint=hint)
    if set(MODULES) <= set(names):
        both = " and ".join(MODULES)
        raise UsageError(f"{both} write the same files", code="same_files", hint="one of them, or two folders")
    return names


def plans(result: Exploration, name: str) -> Files:
    """File name -> content of the plans of a frontier, numbered as in its table."""
    digits = len(str(max(0, len(result.points) - 1)))
    return {
        f"{file_stem(name)}.{number:0{digits}}.plan.json": to_json(point.plan.to_json()).encode()
        for number, point in enumerate(result.points)
    }


def to_json(document: Mapping[str, Any]) -> str:
    """One JSON document, for people as well. Floats that JSON lacks (a NaN that a model put out) become strings."""
    return json.dumps(_plain(document), indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
