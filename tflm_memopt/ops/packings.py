"""Decides which operators a core family's fast kernels compute exactly as TFLM does.

All operators without a packing run in generic kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import PACKED_SHIFT, PACKED_TAPS
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import (
    LEAST_DEPTH,
    OF_VECTORS,
    QUAD,
    VECTOR,
    Family,
    Packing,
    esp_depthwise_bytes,
    is_direct,
    packed_values,
    tile_limit,
)
from tflm_memopt.ops.rowop import RowOp

Refusal = Callable[[RowOp], str | None]
HALF = 1 << 30
SUM_LIMIT = 1 << 23
"""Limit of sums with which 256 * B + A fits an int32."""
LARGE_SUM_LIMIT = 1 << 29
"""Limit of sums with which a sum plus a rounding constant fits an int32."""


def packing(op: RowOp, wanted: Family) -> Packing:
    """Return the order in which the fast kernels of these cores need an operator's constants, or Packing.NONE."""
    fits = (found for found in PACKINGS.get(wanted, ()) if all(refuses(op) is None for refuses in CONDITIONS[found]))
    return next(fits, Packing.NONE)


def alignment(ops: Iterable[RowOp]) -> int:
    """Return the alignment of rows, in bytes, that the kernels of these operators prefer."""
    return VECTOR if any(op.packing in OF_VECTORS for op in ops) else 1


def is_convolution(op: RowOp) -> str | None:
    """A packed operator must be a convolution, or a depthwise convolution of a single channel"""
    if op.weights is not None and (op.is_convolution or (op.is_depthwise and op.reads[0].c == 1)):
        return None
    return op.kind.name


def tile_fits(packing: Packing, op: RowOp) -> str | None:
    """The values of one pixel must fit into the tile of the packed kernel"""
    kernel = op.window.kernel_h, op.window.kernel_w
    values = packed_values(packing, kernel, op.reads[0].c)
    direct = is_direct(packing, kernel, op.reads[0].c, op.writes.c, op.writes.w)
    return None if values <= tile_limit(packing) or direct else f"{values} values"


def is_not_mostly_padding(op: RowOp) -> str | None:
    """If a row has one pixel, padding must not exceed half of the packed weights"""
    kernel, channels = (op.window.kernel_h, op.window.kernel_w), op.reads[0].c
    values = packed_values(Packing.DSP_CONV, kernel, channels)
    padded = op.writes.w == 1 and values > 2 * kernel[0] * kernel[1] * channels
    return f"{kernel[0] * kernel[1] * channels} of {values} values" if padded else None


def columns_are_adjacent(op: RowOp) -> str | None:
    """The rows of a packed convolution must not be dilated"""
    return None if op.window.dilation_w == 1 else f"dilation {op.window.dilation_w}"


def esp_call_fits(op: RowOp) -> str | None:
    """The scratch of one pixel must not exceed the bytes of input and output, as it would in small maps of many
    channels
    """
    kernel = op.window.kernel_h, op.window.kernel_w
    nbytes = esp_depthwise_bytes(kernel, op.window.stride_w, op.reads[0].c, 1)
    return None if nbytes <= op.reads[0].nbytes + op.writes.nbytes else f"{nbytes} B of scratch"


def is_deep(op: RowOp) -> str | None:
    """A packed depthwise layer must have 16 or more channels, or 4, 8 or 12 with undilated 3x3 taps and a ReLU"""
    window, channels = op.window, op.reads[0].c
    nine = (window.kernel_h, window.kernel_w, window.dilation_w) == (3, 3, 1)
    relu = op.output_zero_point == -128 and op.activation == (-128, 127)
    return None if channels >= VECTOR or (nine and relu and channels % QUAD == 0) else f"{channels} channels"


def is_depthwise(op: RowOp) -> str | None:
    """A packed operator must be a depthwise convolution with at least 4 channels, as many output as input channels"""
    if op.weights is None or not op.is_depthwise:
        return op.kind.name
    return None if LEAST_DEPTH <= op.reads[0].c == op.writes.c else f"{op.reads[0].c} to {op.writes.c} channels"


def taps_fit(op: RowOp) -> str | None:
    """A packed depthwise convolution must have at most PACKED_TAPS taps"""
    taps = op.window.kernel_h * op.window.kernel_w
    return None if taps <= PACKED_TAPS else f"{taps} taps"


def weights_are_symmetric(op: RowOp) -> str | None:
    """No weight may be -128"""
    return "a weight is -128" if (filters(op) == -128).any() else None


def shifts_in_range(op: RowOp) -> str | None:
    """Shifts must be -22 to -1, or a channel's multiplier 0"""
    if op.shifts is None or op.multipliers is None:
        return "no scales"
    outside = ((op.shifts > -1) | (op.shifts < -PACKED_SHIFT)) & (op.multipliers != 0)
    return f"shift {op.shifts[outside][0]}" if outside.any() else None


def multipliers_are_normal(op: RowOp) -> str | None:
    """Multipliers must be 0 or at least 2^30"""
    if op.multipliers is None:
        return "no scales"
    small = (op.multipliers < 1 << 30) & (op.multipliers != 0)
    return f"multiplier {op.multipliers[small][0]}" if small.any() else None


def sums_fit(limit: int, op: RowOp) -> str | None:
    """The sum of each channel must stay below the limit for any input"""
    low, high = sum_range(op)
    worst = int(max(-low.min(), high.max()))
    return None if worst < limit else f"sum {worst}"


def is_dense(op: RowOp) -> str | None:
    """A packed dense layer needs a multiple of 8 input channels, and an even number (>= 4) of output channels"""
    kernel = op.window.kernel_h, op.window.kernel_w
    direct = is_direct(Packing.DSP_CONV, kernel, op.reads[0].c, op.writes.c, op.writes.w)
    return None if direct and op.writes.c % 2 == 0 else f"{op.writes.w} pixels of {op.writes.c} channels"


def is_addition(op: RowOp) -> str | None:
    """A packed ADD must have two operands of the output's size"""
    if op.kind is not Kind.ADD or len(op.reads) != 2:
        return op.kind.name
    return "an operand is repeated" if op.constant or op.repeats(0) or op.repeats(1) else None


def addition_in_range(op: RowOp) -> str | None:
    """The scale of one operand must be exactly 1/2; other shifts must be -22 to -1, and multipliers at least 2^30"""
    if op.shifts is None or op.multipliers is None:
        return "no scales"
    operands = np.arange(3) < 2
    halves = (op.shifts == 0) & (op.multipliers == HALF) & operands
    lost = (op.multipliers == HALF) & (op.shifts <= -op.param) & operands
    right = (op.shifts <= -1) & (op.shifts >= -PACKED_SHIFT) & (op.multipliers >= HALF) & ~lost
    wrong = ~(halves | right) if halves.any() else ~halves
    return f"multiplier {op.multipliers[wrong][0]}, shift {op.shifts[wrong][0]}" if wrong.any() else None


_SCALES: tuple[Refusal, ...] = (shifts_in_range, multipliers_are_normal)
_LARGE_SUMS: tuple[Refusal, ...] = (*_SCALES, partial(sums_fit, LARGE_SUM_LIMIT))
_DSP_CONV: tuple[Refusal, ...] = (
    is_convolution,
    partial(tile_fits, Packing.DSP_CONV),
    is_not_mostly_padding,
    weights_are_symmetric,
    *_SCALES,
    partial(sums_fit, SUM_LIMIT),
)
CONDITIONS: Mapping[Packing, tuple[Refusal, ...]] = {
    Packing.DSP_CONV: _DSP_CONV,
    Packing.DSP_DENSE: (*_DSP_CONV, is_dense),
    Packing.DSP_DEPTHWISE: (is_depthwise, taps_fit, *_LARGE_SUMS),
    Packing.DSP_ADD: (is_addition, addition_in_range),
    Packing.MVE_CONV: (is_convolution, partial(tile_fits, Packing.MVE_CONV), *_LARGE_SUMS),
    Packing.MVE_DEPTHWISE: (is_depthwise, is_deep, taps_fit, weights_are_symmetric, *_LARGE_SUMS),
    Packing.RVV_CONV: (is_convolution, partial(tile_fits, Packing.RVV_CONV), *_LARGE_SUMS),
    Packing.RVV_DEPTHWISE: (is_depthwise, taps_fit, *_LARGE_SUMS),
    Packing.ESP_CONV: (is_convolution, partial(tile_fits, Packing.ESP_CONV), *_LARGE_SUMS),
    Packing.ESP_DEPTHWISE: (is_depthwise, columns_are_adjacent, taps_fit, esp_call_fits, *_LARGE_SUMS),
}
"""Functions that return why an operator cannot have a packing, or None. Later functions rely on the first one."""
PACKINGS: Mapping[Family, tuple[Packing, ...]] = {
    Family.DSP: (Packing.DSP_DENSE, Packing.DSP_CONV, Packing.DSP_DEPTHWISE, Packing.DSP_ADD),
    Family.MVE: (Packing.MVE_CONV, Packing.MVE_DEPTHWISE, Packing.DSP_DEPTHWISE, Packing.DSP_ADD),
    Family.ESP: (Packing.ESP_CONV, Packing.ESP_DEPTHWISE),
    Family.RVV: (Packing.RVV_CONV, Packing.RVV_DEPTHWISE),
}
"""The packings of each family of cores, best first."""


def filters(op: RowOp) -> NDArray[np.int8]:
    """Return the weights of a convolution as [out][kernel_h][kernel_w][in]."""
    if op.weights is None:
        raise ValueError(f"{op.name} has no weights")
    return op.weights if op.is_convolution else np.moveaxis(op.weights, -1, 0)[..., np.newaxis]


def signed_sums(weights: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sums of the negative and of the positive weights of each output channel. weights: [out][..][in]."""
    flat = weights.reshape(len(weights), -1)
    return np.minimum(flat, 0).sum(axis=1, dtype=np.int64), np.maximum(flat, 0).sum(axis=1, dtype=np.int64)


def folded_bias(op: RowOp) -> NDArray[np.int64]:
    """Return the bias with the input's zero point included, so that sums use the input's bytes directly."""
    negative, positive = signed_sums(filters(op))
    zeros = op.input_zero_points[0] * (negative + positive)
    return np.asarray(-zeros if op.bias is None else op.bias.astype(np.int64) - zeros)


def sum_range(op: RowOp) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    (negative, positive), bias = signed_sums(filters(op)), folded_bias(op)
    return bias - 128 * positive + 127 * negative, bias + 127 * positive - 128 * negative
