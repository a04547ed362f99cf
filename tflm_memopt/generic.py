"""Drawing, summarising and writing results, dispatched on the type of the result.

report/notebook.py and convert/saved.py register the implementations, and tflm_memopt.api imports both. The modules that
define results therefore import no plotting or writing code.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol


class Picture(Protocol):
    """A figure that a notebook can display."""

    def save(self, path: str | Path) -> None:
        """Write the figure as an .svg file."""

    def _repr_svg_(self) -> str: ...


@functools.singledispatch
def picture(result: object) -> Picture:
    """Draw a conversion or a frontier."""
    raise TypeError(f"no picture is registered for {type(result).__name__}: import tflm_memopt.api")


@functools.singledispatch
def summary(result: object) -> str:
    """Sum up a conversion as HTML."""
    raise TypeError(f"no summary is registered for {type(result).__name__}: import tflm_memopt.api")


@functools.singledispatch
def files(
    result: object, kinds: str | Collection[str], labels: Sequence[str], inputs: Sequence[Any] = ()
) -> Mapping[str, bytes]:
    """Return the files of a conversion: content by name."""
    raise TypeError(f"no writer is registered for {type(result).__name__}: import tflm_memopt.api")


@functools.singledispatch
def save(
    result: object, folder: Path, kinds: str | Collection[str], labels: Sequence[str], inputs: Sequence[Any] = ()
) -> list[Path]:
    """Write the files of a conversion into a folder, all or none."""
    raise TypeError(f"no writer is registered for {type(result).__name__}: import tflm_memopt.api")
