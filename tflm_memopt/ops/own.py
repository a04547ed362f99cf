"""Operators that a user describes (kernels/own.py), beside those of opset.py, for as long as the process runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tflm_memopt.ops.site import Site

Numbers = Callable[[Site], Mapping[str, int] | None]
"""The parameters of a description, for an operator of a model; None: the operator has another form."""


class OwnOperator(NamedTuple):
    """What a user says of an operator."""

    numbers: Numbers
    identify: Callable[[Mapping[str, int]], int]
    """The identity of the kernel for such channels and parameters."""


DESCRIBED: dict[str, OwnOperator] = {}
"""By TFLite's operator names."""
