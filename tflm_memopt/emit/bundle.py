"""Returns the contents of all files that the commands `optimize` and `explore` write."""

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from tflm_memopt.answers.exploration import Exploration
from tflm_memopt.answers.optimized import Optimized, Sample
from tflm_memopt.emit.array import model_header, model_source
from tflm_memopt.emit.border import border
from tflm_memopt.emit.embedded import library
from tflm_memopt.emit.license import marked
from tflm_memopt.emit.module import module
from tflm_memopt.emit.module_text import module_header, module_source
from tflm_memopt.emit.names import file_stem
from tflm_memopt.emit.printing import to_json
from tflm_memopt.emit.program import Subject, labels_count
from tflm_memopt.emit.project import arduino, below, esp_idf, of_model, platformio
from tflm_memopt.emit.resolver import ops_header
from tflm_memopt.emit.stm32cube import stm32cube
from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.model.metadata import read_metadata
from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.choices import BUILTIN, PER_REGION
from tflm_memopt.runtime.regions import regions

Files = Mapping[str, bytes]
Sampler = Callable[[], Sample] | None


@dataclass(frozen=True, slots=True)
class Extras:
    sample: Sampler = None
    """Function that runs the model on an example. Emitted programs may contain the outputs of the example."""
    original: bytes | None = None
    """The original model, which has the metadata and the scale of an external input."""
    labels: tuple[str, ...] = ()
    """Labels of the first output, which replace the labels in the metadata of the original model."""
    library: str = ""
    """Stem of an existing *_library.c that the model shares, or "" if the model gets a file of its own."""


Emitter = Callable[[str, Model, Optimized, Extras], Mapping[str, str]]
NO_EXTRAS = Extras()


def files(result: Optimized, name: str, kinds: Collection[str] = ("cpp",), extras: Extras = NO_EXTRAS) -> Files:
    """Return the files of a model by name, with the .tflite file first. Raises UsageError if the model does not fit an
    emitter, or if the labels do not fit the output.
    """
    if result.report.op_per == BUILTIN and MODULE in kinds:
        hint = f"--ops {PER_REGION}, or --emit cpp"
        raise UsageError(f"--ops {BUILTIN} cannot be combined with --emit {MODULE}", code="cannot_emit", hint=hint)
    if result.report.cores and (alone := next((kind for kind in kinds if kind in ONE_CORE), None)):
        hint = f"--emit cpp, {', '.join(kind for kind in PROJECTS if kind not in ONE_CORE)}; or --cores 1"
        raise UsageError(f"--emit {alone} supports one core only", code="cannot_emit", hint=hint)
    stem = file_stem(name)
    texts = {f"{stem}.plan.json": to_json(result.plan.to_json())} if result.plan else {}
    texts[f"{stem}.report.json"] = to_json(result.report.to_json())
    model = read(result.model)
    once = replace(extras, sample=functools.cache(extras.sample) if extras.sample else None)
    for kind in kinds:
        texts |= EMITTERS[kind](stem, model, result, once)
    return {f"{stem}.tflite": result.model} | {file: text.encode() for file, text in marked(texts).items()}


def cpp(stem: str, model: Model, result: Optimized, extras: Extras) -> Mapping[str, str]:
    sides = border(model, read(extras.original) if extras.original else None)
    return {
        f"{stem}_model.h": model_header(stem, len(result.model)),
        f"{stem}_model.cpp": model_source(stem, result.model),
        f"{stem}_ops.h": ops_header(stem, model, result.report, sides, extras.library),
        **({} if extras.library else _library(stem, model, result, extras)),
    }


def _library(stem: str, model: Model, result: Optimized, extras: Extras) -> Mapping[str, str]:
    return library(stem, regions(model), shared=bool(result.report.cores))


def c_module(stem: str, model: Model, result: Optimized, extras: Extras) -> Mapping[str, str]:
    kept = ", ".join(f"operator {k.index} {k.operator}" for k in result.report.kept_builtin)
    whole = module(stem, model, result.report.source, kept or result.report.why_unchanged, result.report.window)
    if extras.sample is None:
        raise ValueError("a C module has a self-test: it needs a sample")
    return {
        f"{stem}.h": module_header(whole),
        f"{stem}.c": module_source(whole, extras.sample()),
        **_library(stem, model, result, extras),
    }


MODULE = "c"
ONE_CORE = (MODULE, "stm32cube")


def _project(kind: str, stem: str, model: Model, result: Optimized, extras: Extras) -> Mapping[str, str]:
    project = of_model(subject(stem, model, result, extras), cpp(stem, model, result, extras), result)
    return below(kind, PROJECTS[kind](project))


def subject(stem: str, model: Model, result: Optimized, extras: Extras) -> Subject:
    if extras.sample is None or extras.original is None:
        raise ValueError("a project has a stored input and the original's scales: it needs a sample and the original")
    original = read(extras.original)
    known, borders = read_metadata(original, extras.original), border(model, original)
    count = labels_count(borders)
    if extras.labels and len(extras.labels) != count:
        raise UsageError(
            f"{len(extras.labels)} labels for {count} values of the first output",
            code="bad_data",
            where="--labels",
            hint="give one label per line, in the order of the output's values",
        )
    labels = extras.labels or (known.labels if len(known.labels) == count else ())
    return Subject(stem, result.report, borders, extras.sample(), labels, known.pixels)


PROJECTS = {"arduino": arduino, "platformio": platformio, "esp-idf": esp_idf, "stm32cube": stm32cube}
EMITTERS: Mapping[str, Emitter] = {
    "tflite": lambda *_: {},
    "cpp": cpp,
    MODULE: c_module,
    **{kind: functools.partial(_project, kind) for kind in PROJECTS},
}


def needs_interpreter(kinds: Collection[str]) -> bool:
    """Return whether TFLM runs one of the emitted programs.

    >>> needs_interpreter(["c", "tflite"]), needs_interpreter(["c", "cpp"]), needs_interpreter(["tflite"])
    (False, True, True)
    """
    return MODULE not in kinds or not set(kinds) <= {MODULE, "tflite"}


def kinds(wanted: str | Collection[str]) -> tuple[str, ...]:
    """Return names of emitters, from a list or a text with commas. Raises UsageError for an unknown or a missing name.

    >>> kinds("cpp, c"), kinds(["tflite"])
    (('cpp', 'c'), ('tflite',))
    """
    given = wanted.split(",") if isinstance(wanted, str) else wanted
    names = tuple(name.strip() for name in given if name.strip())
    if unknown := [name for name in names if name not in EMITTERS]:
        raise UsageError(f"unknown emitter '{unknown[0]}'", hint=f"--emit {one_of(unknown[0], EMITTERS)}")
    if isinstance(wanted, str) and not names:
        raise UsageError("the list of kinds of files is empty", hint=f"name one of {', '.join(EMITTERS)}")
    return names


def plans(result: Exploration, name: str) -> Files:
    """Return a file for each plan that `explore` found. The name of each file contains the plan's number in the table
    that `explore` prints.
    """
    digits = len(str(max(0, len(result.points) - 1)))
    return {
        f"{file_stem(name)}.{number:0{digits}}.plan.json": to_json(point.plan.to_json()).encode()
        for number, point in enumerate(result.points)
    }
