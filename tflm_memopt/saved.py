"""The files of a conversion: what the command `optimize` writes, and Optimized.save() in Python."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from tflm_memopt import emit
from tflm_memopt.emit.names import file_stem
from tflm_memopt.files import keep, stem, write_files
from tflm_memopt.report import html
from tflm_memopt.results import Optimized
from tflm_memopt.runtime.verify import sample


def files(result: Optimized, kinds: str | Collection[str], labels: Sequence[str] = ()) -> dict[str, bytes]:
    """File name -> content; the model itself comes first, the report's page last. labels: of a project's output."""
    name = stem(result.report.model)
    given = emit.Given(lambda: sample(result.original, result.model), result.original, tuple(labels))
    made = emit.files(result, name, emit.kinds(kinds), given)
    return {**made, f"{file_stem(name)}.report.html": html.optimized(result).encode()}


def save(
    result: Optimized, folder: str | os.PathLike[str], kinds: str | Collection[str], labels: Sequence[str] = ()
) -> list[Path]:
    """Writes them, all or none."""
    contents = {Path(folder) / name: content for name, content in files(result, kinds, labels).items()}
    if result.source is not None and result.source.exists():
        keep(result.source, contents)
    write_files(contents)
    return list(contents)
