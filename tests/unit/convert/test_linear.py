"""The work of a conversion grows no faster than the number of operators."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from models import Net

import tflm_memopt
from tflm_memopt.convert import saved
from tflm_memopt.model import writer

MORE = 3
"""Times as many operators in the second model."""
SLACK = 1.25
"""Times as many calls for each operator are accepted; in a quadratic step there would be MORE times as many."""


def regions(count: int) -> bytes:
    """Builtin operators in between, so that each of the others is a region of its own."""
    net = Net(1)
    y = net.input((1, 16))
    for _ in range(count // 2):
        y = net.unary("RELU", net.normalized(y))
    return net.model(y)


def subgraphs(count: int) -> bytes:
    """Copies of a subgraph that nothing calls."""
    net = Net(1)
    y = net.input((1, 4, 4, 4))
    for _ in range(4):
        y = net.unary("RELU", y)
    tree = net.finished(y)
    tree.subgraphs += [copy.deepcopy(net.graph) for _ in range(count // 4)]
    return writer.write(tree)


def calls(model: bytes) -> int:
    """Functions called and generators entered during a conversion and all that is written of it."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        saved.files(tflm_memopt.optimize(model, effort=0.01), ("cpp",), (), Path("model.tflite"), Path())
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(("made", "count"), [(regions, 60), (subgraphs, 60)])
def test_calls_grow_with_the_number_of_operators(made: Callable[[int], bytes], count: int) -> None:
    calls(made(8))  # what happens once in a process (imports, templates) must not count
    none, few, many = (calls(made(n)) for n in (8, count, MORE * count))
    assert many - none <= SLACK * MORE * (few - none)
