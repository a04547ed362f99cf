"""Makes the files that the command `optimize` and Optimized.save() write."""

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflm_memopt import generic
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.emit import bundle
from tflm_memopt.emit.names import file_stem
from tflm_memopt.files import for_reports, stem
from tflm_memopt.report import html
from tflm_memopt.runtime.verify import sample


@generic.files.register
def files(
    result: Optimized,
    kinds: str | Collection[str],
    labels: Sequence[str] = (),
    inputs: Sequence[NDArray[Any]] = (),
    folder: Path = Path(),
    original: Path | None = None,
) -> dict[str, bytes]:
    """The result begins with the model's files and ends with the report's page.

    The argument `labels` has the names of the first output's values. The report's page names the folder of the files,
    `folder`, and the path of the original model, `original`.
    """
    name = stem(result.report.model)
    stored = partial(sample, result.original, result.model, inputs=inputs)
    given = bundle.Extras(stored, result.original, tuple(labels))
    made = bundle.files(result, name, bundle.kinds(kinds), given)
    file = original or result.source
    page = html.optimized(result, file and for_reports(file), for_reports(folder))
    return {**made, f"{file_stem(name)}.report.html": page.encode()}
