"""The work of a conversion grows at most linearly with the number of operators."""

import copy
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from models import Net

import tflm_memopt
from tflm_memopt.convert import saved
from tflm_memopt.model import writer

MORE = 3
SLACK = 1.25


def regions(count: int) -> bytes:
    net = Net(1)
    y = net.input((1, 16))
    for _ in range(count // 2):
        y = net.unary("RELU", net.normalized(y))
    return net.model(y)


def subgraphs(count: int) -> bytes:
    net = Net(1)
    y = net.input((1, 4, 4, 4))
    for _ in range(4):
        y = net.unary("RELU", y)
    tree = net.finished(y)
    tree.subgraphs += [copy.deepcopy(net.graph) for _ in range(count // 4)]
    return writer.write(tree)


def calls(model: bytes) -> int:
    count = 0

    def counted(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        saved.files(tflm_memopt.optimize(model, effort=0.01), ("cpp",))
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(("made", "count"), [(regions, 60), (subgraphs, 60)])
def test_calls_grow_with_the_number_of_operators(made: Callable[[int], bytes], count: int) -> None:
    calls(made(8))
    none, few, many = (calls(made(n)) for n in (8, count, MORE * count))
    assert many - none <= SLACK * MORE * (few - none)
