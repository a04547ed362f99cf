"""Test the whole conversion at the level of bytes: which parts are converted, which stay unchanged, and the report."""

from __future__ import annotations

from typing import Any

import pytest
from models import Net
from moving import concatenation

import tflm_memopt
from tflm_memopt.convert.policy import NO_BALANCE
from tflm_memopt.plan.layout import offsets

SECONDS = 0.3


def network() -> bytes:
    net = Net(seed=1)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    y = net.add(x, net.conv2d(net.depthwise_conv2d(x), 8, kernel=(3, 3)))
    return net.model(net.softmax(net.fully_connected(net.pool(y, kernel=(12, 12)), 10, out=(0.1, 0))))


def test_the_same_model_gives_the_same_bytes() -> None:
    first = tflm_memopt.optimize(network(), seconds=SECONDS).model
    offsets.forget()
    assert tflm_memopt.optimize(network(), seconds=SECONDS).model == first


BUILTIN: dict[str, Any] = {"ops": "builtin", "effort": 0.05}


def detector(size: int = 32) -> bytes:
    """Return a detector with heads on two maps, whose layers may run in groups of channels."""
    net = Net(3)
    x = net.conv2d(net.input((1, size, size, 3)), 8, kernel=(3, 3), stride=(2, 2))
    x = net.conv2d(net.depthwise_conv2d(x), 16)
    first = net.conv2d(net.depthwise_conv2d(x, stride=(2, 2)), 32)
    second = net.conv2d(net.depthwise_conv2d(first, stride=(2, 2)), 32)
    heads = []
    for x in (first, second):
        head = net.conv2d(x, 12, kernel=(3, 3), out=(0.1, 0))
        heads.append(net.reshape(head, (1, net.shape(head)[1] ** 2 * 3, 4)))
    return net.model(concatenation(net, heads, 1))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "worthwhile"), [(8, False), (32, True)])
def test_the_balance_rule_holds(size: int, *, worthwhile: bool) -> None:
    """A small saving does not justify the offsets in the file."""
    always = tflm_memopt.optimize(detector(size), **BUILTIN).report
    assert always.changed
    assert always.balance
    assert always.balance.worthwhile == worthwhile
    report = tflm_memopt.optimize(detector(size), if_worthwhile=True, **BUILTIN).report
    assert (report.changed, report.why_unchanged) == (worthwhile, "" if worthwhile else NO_BALANCE)
