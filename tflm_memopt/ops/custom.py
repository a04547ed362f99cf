"""Registry of the user's custom operators (own.py), which lasts as long as the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Numbers = Callable[[Any], Mapping[str, int] | None]
"""Function that returns a description's parameters for an OperatorContext; None for forms that it does not cover."""


class OwnOperator(NamedTuple):
    """A user's definition of an operator."""

    numbers: Numbers
    identify: Callable[[Mapping[str, int]], int]
    """Function that returns the identity of the kernel for given numbers of channels and parameters."""
    operands: int
    """Number of operands that the operator reads: the first one, or the first two."""


CUSTOM_OPERATORS: dict[str, OwnOperator] = {}
"""Custom operators by TFLite's operator name."""


@dataclass(frozen=True, slots=True)
class OwnKernel:
    """A description compiled for given extents and parameters."""

    identity: int
    channels: int
    operands: int
    function: str
    """C code of the function pixel_IDENTITY."""


MADE: dict[int, OwnKernel] = {}
"""Custom kernels, by identity, for all models that were read so far."""
