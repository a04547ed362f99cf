"""Registers the user's custom operators (own.py) until the process ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Numbers = Callable[[Any], Mapping[str, int] | None]
"""A function of this type returns the kernel's parameters for a model's operator, or None for an unsuitable operator.
"""


class OwnOperator(NamedTuple):
    numbers: Numbers
    identify: Callable[[Mapping[str, int]], int]
    operands: int


CUSTOM_OPERATORS: dict[str, OwnOperator] = {}


@dataclass(frozen=True, slots=True)
class OwnKernel:
    identity: int
    channels: int
    operands: int
    function: str


MADE: dict[int, OwnKernel] = {}
