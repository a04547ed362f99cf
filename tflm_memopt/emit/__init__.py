"""What `optimize` leaves in its folder: the model, the plan, the report, and C++ or C to compile in.

And the plans that `explore` leaves. From data to bytes; nothing is written here.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tflm_memopt.emit.array import model_header, model_source
from tflm_memopt.emit.module import module
from tflm_memopt.emit.module_text import module_header, module_source
from tflm_memopt.emit.names import file_stem
from tflm_memopt.emit.project import arduino, esp_idf, platformio
from tflm_memopt.emit.resolver import ops_header
from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.plan import Plan
from tflm_memopt.results import Exploration, Optimized, Sample

Files = Mapping[str, bytes]
Sampler = Callable[[], Sample] | None
Emitter = Callable[[str, Model, Optimized, Sampler], Mapping[str, str]]
NOTHING_PLANNED = Plan(steps=(), buffers=(), offsets=(), head=0, lower_bound=0, proven=True)
"""The plan of a model that stays as it is."""


def files(result: Optimized, name: str, kinds: Collection[str] = ("cpp",), sample: Sampler = None) -> Files:
    """File name -> content of everything about the model NAME, the model itself first.

    kinds: of EMITTERS. sample: runs the model, for a kind that stores what comes out. Raises UsageError for a model
    that cannot be written so.
    """
    stem = file_stem(name)
    texts: dict[str, str] = {
        f"{stem}.plan.json": to_json((result.plan or NOTHING_PLANNED).to_json()),
        f"{stem}.report.json": to_json(result.report.to_json()),
    }
    model, once = read(result.model), functools.cache(sample) if sample else None
    for kind in kinds:
        texts |= EMITTERS[kind](stem, model, result, once)
    return {f"{stem}.tflite": result.model} | {file: text.encode() for file, text in texts.items()}


def _cpp(stem: str, model: Model, result: Optimized, _: Sampler) -> Mapping[str, str]:
    return {
        f"{stem}_model.h": model_header(stem, len(result.model)),
        f"{stem}_model.cpp": model_source(stem, result.model),
        f"{stem}_ops.h": ops_header(stem, model, result.report),
    }


def _c(stem: str, model: Model, result: Optimized, sample: Sampler) -> Mapping[str, str]:
    kept = ", ".join(f"operator {k.index} {k.operator}" for k in result.report.kept_builtin)
    whole = module(stem, model, result.report.frame, kept or result.report.why_unchanged)
    if sample is None:
        raise ValueError("a C module has a self-test: it needs a sample")
    return {f"{stem}.h": module_header(whole), f"{stem}.c": module_source(whole, sample())}


def _project(kind: str, write: Callable[[str, Mapping[str, str], Optimized, Sample], Mapping[str, str]]) -> Emitter:
    """The emitter of a project, in a folder of its own."""

    def emit(stem: str, model: Model, result: Optimized, sample: Sampler) -> Mapping[str, str]:
        if sample is None:
            raise ValueError("a project has a stored input: it needs a sample")
        files = write(stem, _cpp(stem, model, result, sample), result, sample())
        return {f"{kind}/{name}": text for name, text in files.items()}

    return emit


EMITTERS: Mapping[str, Emitter] = {
    "tflite": lambda *_: {},
    "cpp": _cpp,
    "c": _c,
    **{
        kind: _project(kind, write)
        for kind, write in (("arduino", arduino), ("platformio", platformio), ("esp-idf", esp_idf))
    },
}
"""What `--emit` takes: the model alone; model and resolver for TensorFlow Lite Micro, in C++; a C module without an
interpreter; projects around the model."""


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
