"""What results can do that takes more than data: be drawn, summed up and written.

Functions that dispatch on the type of a result. report/notebook.py and convert/saved.py register what does it, and
tflm_memopt.api imports both, so that the modules of data import none of what is made of them.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Picture(Protocol):
    """A figure. A notebook shows it."""

    def save(self, path: str | Path) -> None:
        """Write it as .svg, or as .png (with matplotlib)."""

    def _repr_svg_(self) -> str: ...


@functools.singledispatch
def picture(result: object) -> Picture:
    """Draw a plan, a conversion or a frontier."""
    raise TypeError(f"nothing draws a {type(result).__name__}: import tflm_memopt.api")


@functools.singledispatch
def summary(result: object) -> str:
    """Sum up a conversion as HTML."""
    raise TypeError(f"nothing sums up a {type(result).__name__}: import tflm_memopt.api")


@functools.singledispatch
def files(result: object, kinds: str | Collection[str], labels: Sequence[str]) -> Mapping[str, bytes]:
    """Give the name and content of each file of a conversion."""
    raise TypeError(f"nothing writes a {type(result).__name__}: import tflm_memopt.api")


@functools.singledispatch
def save(result: object, folder: Path, kinds: str | Collection[str], labels: Sequence[str]) -> list[Path]:
    """Write these files into a folder, all or none."""
    raise TypeError(f"nothing writes a {type(result).__name__}: import tflm_memopt.api")
