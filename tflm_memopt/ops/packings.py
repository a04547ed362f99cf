"""Decides which operators run in the fast kernels of a core family. A fast kernel must compute exactly what TFLM
computes.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

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
from tflm_memopt.ops.rowop import Ints, RowOp

Condition = Callable[[RowOp], bool]
HALF = 1 << 30
SUM_LIMIT = 1 << 23
"""If the sums A and B of two channels are below SUM_LIMIT, the number `256 * B + A` fits an int32."""
LARGE_SUM_LIMIT = 1 << 29
"""If a sum is below LARGE_SUM_LIMIT, adding a rounding constant does not overflow an int32."""


def packing(op: RowOp, wanted: Family) -> Packing:
    """Return the packing of an operator for a family of cores, or Packing.NONE."""
    fits = (found for found in PACKINGS.get(wanted, ()) if all(holds(op) for holds in CONDITIONS[found]))
    return next(fits, Packing.NONE)


def alignment(ops: Iterable[RowOp]) -> int:
    """Return the best alignment of rows for the kernels of `ops`, in bytes."""
    return VECTOR if any(op.packing in OF_VECTORS for op in ops) else 1


def is_convolution(op: RowOp) -> bool:
    return op.is_convolution or (op.is_depthwise and op.reads[0].c == 1)


def tile_fits(packing: Packing, op: RowOp) -> bool:
    values = packed_values(packing, _kernel(op), op.reads[0].c)
    return values <= tile_limit(packing) or _is_direct(packing, op)


def is_not_mostly_padding(op: RowOp) -> bool:
    weights = math.prod(_kernel(op)) * op.reads[0].c
    return op.writes.w > 1 or packed_values(Packing.DSP_CONV, _kernel(op), op.reads[0].c) <= 2 * weights


def columns_are_adjacent(op: RowOp) -> bool:
    return op.window.dilation_w == 1


def esp_call_fits(op: RowOp) -> bool:
    nbytes = esp_depthwise_bytes(_kernel(op), op.window.stride_w, op.reads[0].c, 1)
    return nbytes <= op.reads[0].nbytes + op.writes.nbytes


def is_deep(op: RowOp) -> bool:
    nine = (*_kernel(op), op.window.dilation_w) == (3, 3, 1)
    relu = op.output_zero_point == -128 and op.activation == (-128, 127)
    return op.reads[0].c >= VECTOR or (nine and relu and op.reads[0].c % QUAD == 0)


def is_depthwise(op: RowOp) -> bool:
    return op.is_depthwise and LEAST_DEPTH <= op.reads[0].c == op.writes.c


def taps_fit(op: RowOp) -> bool:
    return math.prod(_kernel(op)) <= PACKED_TAPS


def weights_are_symmetric(op: RowOp) -> bool:
    return not (op.own_weights == -128).any()


def scales_in_range(op: RowOp) -> bool:
    multipliers, shifts = op.own_scales
    normal = (multipliers >= HALF) & (shifts <= -1) & (shifts >= -PACKED_SHIFT)
    return bool((normal | (multipliers == 0)).all())


def sums_fit(limit: int, op: RowOp) -> bool:
    low, high = sum_range(filters(op), op.input_zero_points[0])
    bias = 0 if op.bias is None else op.bias
    return bool(max(-(bias + low).min(), (bias + high).max()) < limit)


def is_dense(op: RowOp) -> bool:
    return _is_direct(Packing.DSP_CONV, op) and op.writes.c % 2 == 0


def has_one_scale(op: RowOp) -> bool:
    return all(bool((values == values.flat[0]).all()) for values in op.own_scales)


def is_addition(op: RowOp) -> bool:
    return op.kind is Kind.ADD and len(op.reads) == 2 and not (op.constant or op.repeats(0) or op.repeats(1))


def addition_in_range(op: RowOp) -> bool:
    multipliers, shifts = op.own_scales
    operands = np.arange(3) < 2
    halves = (shifts == 0) & (multipliers == HALF) & operands
    lost = (multipliers == HALF) & (shifts <= -op.param) & operands
    right = (shifts <= -1) & (shifts >= -PACKED_SHIFT) & (multipliers >= HALF) & ~lost
    return bool(halves.any() and (halves | right).all())


def _kernel(op: RowOp) -> tuple[int, int]:
    return op.window.kernel_h, op.window.kernel_w


def _is_direct(packing: Packing, op: RowOp) -> bool:
    return is_direct(packing, _kernel(op), op.reads[0].c, op.writes.c, op.writes.w)


_LARGE_SUMS: tuple[Condition, ...] = (scales_in_range, partial(sums_fit, LARGE_SUM_LIMIT))
_DSP_CONV: tuple[Condition, ...] = (
    is_convolution,
    partial(tile_fits, Packing.DSP_CONV),
    is_not_mostly_padding,
    weights_are_symmetric,
    scales_in_range,
    partial(sums_fit, SUM_LIMIT),
)
CONDITIONS: Mapping[Packing, tuple[Condition, ...]] = {
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
"""Conditions of each packing, evaluated in order until one fails."""
PACKINGS: Mapping[Family, tuple[Packing, ...]] = {
    Family.DSP: (Packing.DSP_DENSE, Packing.DSP_CONV, Packing.DSP_DEPTHWISE, Packing.DSP_ADD),
    Family.MVE: (Packing.MVE_CONV, Packing.MVE_DEPTHWISE, Packing.DSP_DEPTHWISE, Packing.DSP_ADD),
    Family.ESP: (Packing.ESP_CONV, Packing.ESP_DEPTHWISE),
    Family.RVV: (Packing.RVV_CONV, Packing.RVV_DEPTHWISE),
}


def filters(op: RowOp) -> NDArray[np.int8]:
    """Return the weights of a convolution or depthwise convolution as [out][kernel_h][kernel_w][in]."""
    return op.own_weights if op.is_convolution else np.moveaxis(op.own_weights, -1, 0)[..., np.newaxis]


def folded_bias(op: RowOp) -> Ints:
    """Return the bias with the input's zero point included, so that sums use the input's bytes directly."""
    zeros = op.input_zero_points[0] * filters(op).sum(axis=(1, 2, 3), dtype=np.int64)
    return np.asarray(-zeros if op.bias is None else op.bias.astype(np.int64) - zeros)


def sum_range(weights: NDArray[Any], zero_point: int) -> tuple[Ints, Ints]:
    """Return the minimum and maximum sum of each output channel for int8 inputs. The argument `weights` has axes
    [out][..][in].
    """
    flat = weights.reshape(len(weights), -1)
    negative, positive = (half.sum(axis=1, dtype=np.int64) for half in (np.minimum(flat, 0), np.maximum(flat, 0)))
    least, most = (n - zero_point for n in (-128, 127))
    return positive * least + negative * most, positive * most + negative * least
