"""Test operators that run from the last row to the first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unit.plan.sketch import Sketch

from tflm_memopt.ops.rowop import Constant, Rows, Window
from tflm_memopt.plan.iteration.reversal import reversed_op


def test_a_reversed_window_pads_on_the_other_side() -> None:
    """A window with a stride of 2 pads one row below, and the reversed window pads one row above."""
    s = Sketch()
    s.conv(s.input(8, 1, 4), 4, stride=2)
    assert s.ops[0].window.pad_top == 0
    other = reversed_op(s.ops[0], pixels=False)
    assert other is not None
    assert other.window.pad_top == 1
    rows = [s.ops[0].rows_read(0, y) for y in range(4)]
    assert [other.rows_read(0, y) for y in range(4)] == [(8 - end, 8 - first) for first, end in reversed(rows)]


@pytest.mark.parametrize(("pixels", "axes"), [(False, 1), (True, (1, 2))])
def test_weights_are_reversed_as_what_they_multiply(pixels: bool, axes: int | tuple[int, ...]) -> None:
    s = Sketch()
    s.conv(s.input(8, 8, 1), 1)
    weights = np.arange(9, dtype=np.int8).reshape(1, 3, 3, 1)
    other = reversed_op(replace(s.ops[0], window=Window(3, 3, 1, 1, 1, 1, 1, 1), weights=weights), pixels=pixels)
    assert other is not None and other.weights is not None
    np.testing.assert_array_equal(other.weights, np.flip(weights, axes))


@pytest.mark.parametrize(("pixels", "axes"), [(False, 0), (True, (0, 1))])
def test_a_constant_operand_is_reversed_with_the_other(pixels: bool, axes: int | tuple[int, ...]) -> None:
    s = Sketch()
    x = s.input(4, 2, 3)
    s.add(x, x)
    values = np.arange(24, dtype=np.int8).reshape(4, 2, 3)
    op = replace(s.ops[0], inputs=(x,), reads=(Rows(4, 2, 3),), constant=Constant(1, Rows(4, 2, 3), values))
    other = reversed_op(op, pixels=pixels)
    assert other is not None and other.constant is not None
    np.testing.assert_array_equal(other.constant.values, np.flip(values, axes))
