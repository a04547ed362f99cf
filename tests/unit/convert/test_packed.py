"""Test what a report of a generic program states about cores with packed kernels."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import FLOAT_IO, KEYWORDS, RESNET, WAKE_WORD
from models import Net

import tflm_memopt
from tflm_memopt.report import times


def net() -> bytes:
    net = Net(4)
    x = net.conv2d(net.input((1, 12, 12, 4)), 16, kernel=(3, 3), stride=(2, 2))
    return net.model(net.conv2d(net.depthwise_conv2d(x), 16))


def test_packed_kernels_are_estimated() -> None:
    report = tflm_memopt.optimize(net()).report
    assert report.packed
    assert report.packed.core == "cortex-m4"
    assert report.packed.packed < report.packed.generic
    assert report.packed.original
    assert "cortex-m4 " in times.packed(report)
    assert report.to_json()["packed"]["packed"] == report.packed.packed


@pytest.mark.slow
@pytest.mark.parametrize("path", [KEYWORDS, RESNET, FLOAT_IO, WAKE_WORD], ids=lambda path: path.stem)
def test_a_target_takes_no_more_instructions_than_said(path: Any) -> None:
    said = tflm_memopt.optimize(path.read_bytes(), int8_io=True).report.packed
    assert said
    there = tflm_memopt.optimize(path.read_bytes(), int8_io=True, target=said.core).report.instructions
    assert there[said.core] <= said.packed
