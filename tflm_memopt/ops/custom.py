"""Registers the user's custom operators (own.py) until the process ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Numbers = Callable[[Any], Mapping[str, int] | None]
"""Function that returns the parameters of a kernel description for an operator, or None if it does not fit."""


class OwnOperator(NamedTuple):
    """A user's definition of an operator."""

    numbers: Numbers
    identify: Callable[[Mapping[str, int]], int]
    """Function that returns the identity of the kernel for given numbers of channels and parameters."""
    operands: int
    """Number of operands that the custom operator reads, 1 or 2."""


CUSTOM_OPERATORS: dict[str, OwnOperator] = {}
"""Custom operators by TFLite's operator name."""


@dataclass(frozen=True, slots=True)
class OwnKernel:
    """A kernel description that was compiled for given sizes and parameters."""

    identity: int
    channels: int
    operands: int
    function: str
    """C code of the function pixel_IDENTITY."""


MADE: dict[int, OwnKernel] = {}
"""Custom kernels by identity, for all models that the process has read."""
