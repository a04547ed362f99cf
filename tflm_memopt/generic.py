"""Writes a result with the writer of its type, which convert/saved.py or apps/saved.py registers.

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
    """The argument `folder` is the folder that the report page names."""
    raise TypeError(f"no writer is registered for {type(result).__name__}: import tflm_memopt.api")
