"""Makes the files of a conversion, which the command `optimize` and Optimized.save() write."""

import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflm_memopt import generic
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.emit import bundle
from tflm_memopt.emit.names import file_stem
from tflm_memopt.files import for_reports, keep, paths_below, stem, write_files
from tflm_memopt.report import html
from tflm_memopt.runtime.verify import sample


@generic.files.register
def files(
    result: Optimized,
    kinds: str | Collection[str],
    labels: Sequence[str] = (),
    inputs: Sequence[NDArray[Any]] = (),
    original: Path | None = None,
    folder: Path = Path(),
) -> dict[str, bytes]:
    """Return the content of each file by name. The files of the model come first and the page of the report last.

    `labels` are the names of the first output's values. `inputs` are the input arrays of the stored inference.
    `original` is the path of the original model, which the page names. `folder` is the folder of the written files, as
    the report page names it.
    """
    name = stem(result.report.model)
    stored = partial(sample, result.original, result.model, inputs=inputs)
    given = bundle.Extras(stored, result.original, tuple(labels))
    made = bundle.files(result, name, bundle.kinds(kinds), given)
    file = original or result.source
    page = html.optimized(result, file and for_reports(file), for_reports(folder))
    return {**made, f"{file_stem(name)}.report.html": page.encode()}


@generic.save.register
def save(
    result: Optimized,
    folder: str | os.PathLike[str],
    kinds: str | Collection[str],
    labels: Sequence[str] = (),
    inputs: Sequence[NDArray[Any]] = (),
) -> list[Path]:
    """Write all files or, if one of them cannot be written, none."""
    contents = paths_below(Path(folder), files(result, kinds, labels, inputs, folder=Path(folder)))
    if result.source is not None and result.source.exists():
        keep(result.source, contents)
    write_files(contents)
    return list(contents)
