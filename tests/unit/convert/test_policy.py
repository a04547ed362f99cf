"""Plans of one model with different restrictions on tiled groups share the work that does not depend on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from unittest import mock

import pytest
from models import Net

import tflm_memopt
from tflm_memopt.plan.search.cuts import RowBlocks

PACKED = {"target": "cortex-m4", "without": ("reorder",), "effort": "low"}


@pytest.mark.parametrize(
    "convert",
    [
        partial(tflm_memopt.optimize, **PACKED),
        partial(tflm_memopt.optimize, **PACKED, max_instructions=1 << 40),
        partial(tflm_memopt.explore, **PACKED, cost="instructions"),
    ],
    ids=("for fast kernels", "within instructions", "explored"),
)
def test_row_blocks_are_looked_for_once(convert: Callable[[bytes], object]) -> None:
    net = Net()
    x = net.input((1, 12, 8, 4))
    for _ in range(2):
        x = net.conv2d(x, 4)
    model = net.model(x)
    with mock.patch("tflm_memopt.plan.planner.RowBlocks", side_effect=RowBlocks) as found:
        convert(model)
    assert found.call_count == 1
