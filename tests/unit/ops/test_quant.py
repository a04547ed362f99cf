"""Arithmetic constants worked out by hand from TFLM's source; tests/tflm compares them with TFLM."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflm_memopt.ops import quant

Q31 = 1 << 31


@pytest.mark.parametrize(
    ("real", "value", "shift"),
    [
        (0.0, 0, 0),
        (1.0, 1 << 30, 1),
        (0.75, 3 << 29, 0),
        (math.ldexp(1, -31), 1 << 30, -30),
        (math.ldexp(1, -32), 1 << 30, -31),
        (math.ldexp(1, -33), 0, 0),  # flushed to zero below 2^-32
        (1 - 2.0**-40, 1 << 30, 1),  # rounds up to 2^31, which becomes the next power of two
    ],
)
def test_multipliers(real: float, value: int, shift: int) -> None:
    assert quant.quantize_multiplier(real) == (value, shift)


@given(st.floats(2**-30, 2**30))
def test_a_multiplier_is_the_nearest(real: float) -> None:
    value, shift = quant.quantize_multiplier(real)
    assert 1 << 30 <= value < Q31
    assert abs(math.ldexp(value / Q31, shift) - real) <= math.ldexp(0.5 / Q31, shift)


def test_one_multiplier_for_each_scale_of_the_filter() -> None:
    assert quant.weighted(0.5, [0.5, 1.0], 1.0) == ((1 << 30, -1), (1 << 30, 0))


def test_mean_divides_the_multiplier() -> None:
    assert quant.mean(1.0, 1.0, 9) == ((1 << 33) // 9, -2)
    assert quant.mean(1.0, 1.0, 1) == (1 << 30, 1)
    assert quant.mean(2.0**-31, 1.0, 4)[1] == -31  # no shift below -31, which loses precision


def test_softmax() -> None:
    multiplier, diff_min = quant.softmax(1.0, 1 / 16)
    assert multiplier == (1 << 30, 23)
    assert diff_min == -(31 * 2**26 // 2**23)
    assert quant.softmax_factor(1.0, 1e9) == Q31 - 1


@pytest.mark.parametrize(
    ("activation", "expected"),
    [("NONE", (-128, 127)), ("RELU", (-100, 127)), ("RELU6", (-100, 20)), ("RELU_N1_TO_1", (-120, -80))],
)
def test_activation_ranges(activation: str, expected: tuple[int, int]) -> None:
    assert quant.activation_range(activation, 0.05, -100) == expected


def test_add_shares_one_scale() -> None:
    a, b, out = quant.add(0.5, 0.25, 1.0)
    assert (a, b) == ((1 << 30, 0), (1 << 30, -1))
    assert out == (1 << 30, -19)
