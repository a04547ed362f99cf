"""Writes a result by the function for the type of the result, which convert/saved.py and apps/saved.py register.
Modules that define result types need not import code that writes files.
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any


@functools.singledispatch
def files(
    result: object, kinds: str | Collection[str], labels: Sequence[str], inputs: Sequence[Any] = ()
) -> Mapping[str, bytes]:
    """Return the contents of a conversion's files by name."""
    raise TypeError(f"no writer is registered for {type(result).__name__}: import tflm_memopt.api")


@functools.singledispatch
def save(
    result: object, folder: Path, kinds: str | Collection[str], labels: Sequence[str], inputs: Sequence[Any] = ()
) -> list[Path]:
    """Write the files of a conversion into a folder, all or none."""
    raise TypeError(f"no writer is registered for {type(result).__name__}: import tflm_memopt.api")
