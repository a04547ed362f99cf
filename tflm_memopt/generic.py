"""Writes a result with the function that convert/saved.py or apps/saved.py registers for the result's type.

Modules that define types of results need not import code that writes files.
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any


@functools.singledispatch
def files(
    result: object,
    kinds: str | Collection[str],
    labels: Sequence[str] = (),
    inputs: Sequence[Any] = (),
    folder: Path = Path(),
) -> Mapping[str, bytes]:
    """Return the files that the user requested for a result. Other modules register a function for each class of
    results.
    """
    raise TypeError(f"no writer is registered for {type(result).__name__}: import tflm_memopt.api")
