"""Test what the text says about instructions."""

from __future__ import annotations

from dataclasses import replace

from models import Net

import tflm_memopt
from tflm_memopt.answers.report import PackedEstimate
from tflm_memopt.report import times


def test_packed_kernels_are_only_said_to_be_faster_where_they_are() -> None:
    net = Net(1)
    report = tflm_memopt.optimize(net.model(net.conv2d(net.input((1, 8, 8, 2)), 4, kernel=(3, 3)))).report
    for packed, said in ((10_000, "at most 10 k"), (20_000, "another plan"), (30_000, "another plan")):
        there = replace(report, packed=PackedEstimate("cortex-m4", None, 20_000, packed))
        assert times.packed(there) == f"cortex-m4 20 k, with --target or --board {said}"
