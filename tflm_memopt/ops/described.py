"""Operators that a user describes (own.py), beside those of opset.py, for as long as the process runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Numbers = Callable[[Any], Mapping[str, int] | None]
"""The parameters of a description, for an operator of a model (an OperatorContext); None: it has another form."""


class OwnOperator(NamedTuple):
    """What a user says of an operator."""

    numbers: Numbers
    identify: Callable[[Mapping[str, int]], int]
    """The identity of the kernel for such channels and parameters."""
    operands: int
    """Tensors that it reads: the first one, or the first two."""


DESCRIBED: dict[str, OwnOperator] = {}
"""By TFLite's operator names."""


@dataclass(frozen=True, slots=True)
class OwnKernel:
    """A description for certain extents and numbers."""

    identity: int
    channels: int
    operands: int
    function: str
    """Its C, a function of this name: pixel_IDENTITY."""


MADE: dict[int, OwnKernel] = {}
"""What the models needed that were read so far, by identity."""
