"""What `optimize` leaves in its folder: the model, the plan, the report, and C++ to compile in.

And the plans that `explore` leaves. From data to bytes; nothing is written here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from tflm_memopt.emit.array import model_header, model_source
from tflm_memopt.emit.names import file_stem
from tflm_memopt.emit.resolver import ops_header
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Plan
from tflm_memopt.results import Exploration, Optimized

NOTHING_PLANNED = Plan(steps=(), buffers=(), offsets=(), head=0, lower_bound=0, proven=True)
"""The plan of a model that stays as it is."""


def files(result: Optimized, name: str) -> Mapping[str, bytes]:
    """File name -> content of everything about the model NAME, the model itself first."""
    stem, model = file_stem(name), result.model
    texts = {
        f"{stem}.plan.json": to_json((result.plan or NOTHING_PLANNED).to_json()),
        f"{stem}.report.json": to_json(result.report.to_json()),
        f"{stem}_model.h": model_header(stem, len(model)),
        f"{stem}_model.cpp": model_source(stem, model),
        f"{stem}_ops.h": ops_header(stem, read(model), result.report),
    }
    return {f"{stem}.tflite": model} | {file: text.encode() for file, text in texts.items()}


def plans(result: Exploration, name: str) -> Mapping[str, bytes]:
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
