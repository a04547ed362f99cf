"""Ranges worked out by hand. tests/property/test_fold.py compares ranges with TFLM's results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tflm_memopt.ops import quant
from tflm_memopt.ops.intervals import meets_padding, ranges
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp, Rows, Window

PIXEL = Rows(1, 1, 1)
IDENTITY = quant.quantize_multiplier(1.0)
INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1


EVERY = np.arange(-128, 128, dtype=np.int8)
"""The table of an identity LOOKUP."""


def op(kind: Kind = Kind.LOOKUP, **fields: Any) -> RowOp:
    """A row operator from tensor 0 to tensor 1 that changes nothing, with zero points 0, unless `fields` differ."""
    reads = fields.pop("reads", PIXEL)
    given = {
        "name": kind.name,
        "sources": (0,),
        "inputs": (0,),
        "output": 1,
        "reads": (reads,) * len(fields.get("inputs", (0,))),
        "writes": reads,
        "input_zero_points": (0,),
        "output_zero_point": 0,
        "multipliers": [IDENTITY.value],
        "shifts": [IDENTITY.shift],
        "weights": EVERY if kind is Kind.LOOKUP else None,
    } | fields
    given["multipliers"], given["shifts"] = np.array(given["multipliers"], np.int32), np.array(given["shifts"], np.int8)
    return RowOp(kind=kind, **given)


def conv(weights: Any, bias: Any = None, **fields: Any) -> RowOp:
    """A convolution of one pixel; weights [out][in], or [out][kernel_h][kernel_w][in]."""
    values = np.array(weights, np.int8)
    values = values if values.ndim == 4 else values[:, None, None]
    fields = {"reads": Rows(1, 1, values.shape[3]), "writes": Rows(1, 1, len(values))} | fields
    return op(Kind.CONV, weights=values, bias=None if bias is None else np.array(bias, np.int32), **fields)


def bounds(*ops: RowOp) -> list[tuple[int, int]]:
    """Bounds of each channel of the last operator's output."""
    last = ranges(ops)[ops[-1].output]
    return list(zip(last.low.tolist(), last.high.tolist(), strict=True))


def limited(low: int, high: int, reads: Rows = PIXEL) -> RowOp:
    """An operator whose output, tensor 1, has all values of a range."""
    return op(reads=reads, weights=EVERY.clip(low, high))


# ---- sums ----


def test_a_convolution_adds_the_worst_of_each_input() -> None:
    source = limited(-1, 2, Rows(1, 1, 2))
    assert bounds(source, conv([[3, -5], [0, 0], [1, 1]], [4, -7, 0], inputs=(1,), output=2)) == [
        (4 - 3 - 10, 4 + 6 + 5), (-7, -7), (-2, 4),
    ]  # fmt: skip


def test_zero_points_are_taken_off_and_put_on() -> None:
    source = limited(10, 12)
    reader = conv([[5], [-5]], inputs=(1,), output=2, input_zero_points=(10,), output_zero_point=-20)
    assert bounds(source, reader) == [(-20, -10), (-30, -20)]


def test_sums_are_rescaled_per_channel_halves_away_from_zero() -> None:
    source = limited(-3, 3)
    reader = conv([[1], [1], [1]], inputs=(1,), output=2, multipliers=[1 << 30, 1 << 30, 0], shifts=[0, -1, 0])
    assert bounds(source, reader) == [(-1, 2), (-1, 1), (0, 0)]  # -3/2: halves up first, then away from zero


def test_the_activation_cuts() -> None:
    source = limited(-3, 3)
    reader = conv([[10], [10]], [-1000, 0], inputs=(1,), output=2, activation=(-5, 20))
    assert bounds(source, reader) == [(-5, -5), (-5, 20)]


def test_taps_in_the_padding_count_as_the_zero_point() -> None:
    source = limited(5, 5, Rows(4, 4, 1))
    taps = np.ones((1, 3, 3, 1), np.int8)
    inside = conv(taps, inputs=(1,), output=2, reads=Rows(4, 4, 1), writes=Rows(2, 2, 1), window=Window(3, 3))
    across = conv(taps, inputs=(1,), output=2, reads=Rows(4, 4, 1), writes=Rows(4, 4, 1),
                  window=Window(3, 3, pad_top=1, pad_left=1))  # fmt: skip
    assert bounds(source, inside) == [(45, 45)]
    assert bounds(source, across) == [(0, 45)]


@pytest.mark.parametrize(("window", "writes", "meets"), [
    (Window(3, 3), Rows(4, 5, 1), False),
    (Window(3, 3), Rows(5, 5, 1), True),  # below the bottom edge
    (Window(3, 3), Rows(4, 6, 1), True),  # beyond the right edge
    (Window(3, 3, pad_top=1), Rows(4, 5, 1), True),
    (Window(3, 3, pad_left=1), Rows(4, 5, 1), True),
    (Window(3, 3, 2, 2), Rows(2, 3, 1), False),
    (Window(3, 3, 2, 2), Rows(3, 3, 1), True),
    (Window(3, 3, dilation_h=2, dilation_w=3), Rows(2, 1, 1), False),
    (Window(3, 3, dilation_h=2, dilation_w=3), Rows(2, 2, 1), True),
])  # fmt: skip
def test_windows_that_meet_padding(window: Window, writes: Rows, meets: bool) -> None:
    assert meets_padding(op(Kind.MAX_POOL, reads=Rows(6, 7, 1), writes=writes, window=window)) is meets


def test_a_depthwise_channel_reads_its_own_input() -> None:
    source = conv([[0], [0]], [3, -4], reads=Rows(1, 1, 1), writes=Rows(1, 1, 2))
    reader = op(Kind.DEPTHWISE, inputs=(1,), output=2, reads=Rows(1, 1, 2), writes=Rows(1, 1, 4),
                weights=np.array([[[1, 2, 3, -4]]], np.int8), bias=np.array([0, 0, 0, 1], np.int32))  # fmt: skip
    assert bounds(source, reader) == [(3, 3), (6, 6), (-12, -12), (17, 17)]


# ---- sums that may wrap ----


@pytest.mark.parametrize(("known", "bias", "multiplier", "shift", "zero_point"), [
    (True, INT32_MAX - 127, 1 << 30, 0, 0),
    (False, INT32_MAX - 126, 1 << 30, 0, 0),  # the sum
    (True, INT32_MIN + 128, 1 << 30, 0, 0),
    (False, INT32_MIN + 127, 1 << 30, 0, 0),
    (True, 1 << 20, 1 << 30, 10, 0),
    (False, 1 << 20, 1 << 30, 11, 0),  # its left shift
    (False, -(1 << 20), 1 << 30, 11, 0),
    (True, INT32_MAX - 127, INT32_MAX, 0, 1),
    (False, INT32_MAX - 127, INT32_MAX, 0, 2),  # the added zero point
])  # fmt: skip
def test_sums_that_may_wrap(known: bool, bias: int, multiplier: int, shift: int, zero_point: int) -> None:
    """Without wrapping they are far out of range and clamp to the activation's limit."""
    found = bounds(conv([[1]], [bias], multipliers=[multiplier], shifts=[shift], output_zero_point=zero_point,
                        activation=(-100, 99)))  # fmt: skip
    limit = 99 if bias > 0 else -100
    assert found == ([(limit, limit)] if known else [(-100, 99)])


def test_only_the_channel_that_may_wrap_is_unknown() -> None:
    assert bounds(limited(1, 2), conv([[1], [1]], [INT32_MAX, 0], inputs=(1,), output=2)) == [(-128, 127), (1, 2)]


# ---- other operators ----


def test_add_scales_both_operands() -> None:
    a = limited(-10, 20)
    b = replace(limited(4, 4), output=2)
    half = quant.quantize_multiplier(1 / 2)
    back = quant.quantize_multiplier(2.0**-18)  # the operands were shifted left by 20 and halved twice
    total = op(Kind.ADD, inputs=(1, 2), output=3, input_zero_points=(0, 2), param=20,
               output_zero_point=1, multipliers=[half.value, half.value, back.value],
               shifts=[half.shift, half.shift - 1, back.shift])  # fmt: skip
    assert bounds(a, b, total) == [(1 + 2 * (-10) + 2, 1 + 2 * 20 + 2)]


@pytest.mark.parametrize("kind", [Kind.AVERAGE_POOL, Kind.MAX_POOL])
def test_pools_stay_inside_and_are_clamped(kind: Kind) -> None:
    pool = op(kind, inputs=(1,), output=2, window=Window(2, 2, pad_top=1), activation=(0, 5))
    assert bounds(limited(-3, 4), pool) == [(0, 4)]


def test_mean_rescales_the_sum_of_its_window() -> None:
    sixth = quant.mean(1.0, 0.5, 12)  # twice the average
    mean = op(Kind.MEAN, inputs=(1,), output=2, window=Window(3, 4, 3, 4), input_zero_points=(2,), output_zero_point=-1,
              multipliers=[sixth.value], shifts=[sixth.shift])  # fmt: skip
    assert bounds(limited(-3, 4), mean) == [(-11, 3)]


def test_a_table_gives_what_it_holds_between_the_bounds() -> None:
    lookup = op(inputs=(1,), output=2, weights=np.abs(EVERY // 2))
    assert bounds(limited(-6, 8), lookup) == [(0, 4)]
    assert bounds(limited(-5, -5), lookup) == [(3, 3)]


def test_softmax_may_give_anything() -> None:
    assert bounds(limited(3, 3), op(Kind.SOFTMAX, inputs=(1,), output=2)) == [(-128, 127)]


# ---- tensors ----


def test_a_tensor_from_outside_may_hold_anything() -> None:
    assert bounds(op()) == [(-128, 127)]


def test_a_reader_that_cuts_pixels_otherwise_sees_all_channels_in_each() -> None:
    source = conv([[0], [0]], [3, -4])
    reader = op(inputs=(1,), output=2, reads=Rows(1, 2, 1))
    assert bounds(source, reader) == [(-4, 3)]
    same = op(inputs=(1,), output=2, reads=Rows(1, 1, 2))
    assert bounds(source, same) == [(3, 3), (-4, -4)]


def test_constant_channels() -> None:
    found = ranges([conv([[0], [1], [5]], [3, 0, -2000])])[1]
    assert found.constant.tolist() == [True, False, True]
