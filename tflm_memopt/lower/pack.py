"""Rearranges weights and scales for fast kernels, in the layouts TMO_PACKING_* of custom_ops/include/tmo/program.h."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import PACKED_SCALES
from tflm_memopt.ops.packing import QUAD, VECTOR, Packing, esp_channels, packed_values
from tflm_memopt.ops.packings import filters, folded_bias
from tflm_memopt.ops.rowop import RowOp

MVE_ORDER = [0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15]
"""Order in which a vector for Helium holds the constants of sixteen channels."""
TURN = 3
"""Packed depthwise convolutions are padded with zeros to a multiple of TURN taps."""
ADD_SCALES = 11


class Packed(NamedTuple):
    weights: NDArray[np.int8] | None
    scales: NDArray[np.int32] | None
    """Scales of the operator, or None if the weights contain them."""


def pack(op: RowOp) -> Packed:
    if op.packing is Packing.DSP_ADD:
        return Packed(None, add_scales(op))
    weights = np.where(_dead(op)[:, None, None, None], 0, filters(op))
    return LAYOUTS[op.packing](weights, _scales(op))


def _dead(op: RowOp) -> NDArray[np.bool_]:
    return np.broadcast_to(op.own_scales[0] == 0, op.writes.c)


def constant_sizes(
    packing: Packing, kernel: tuple[int, int], in_channels: int, out_channels: int
) -> tuple[int | None, int | None]:
    """Return the number of weight bytes and the number of int32 scales of an operator with packed weights.

    The function allocates no memory, because a damaged program may state weights of gigabytes.
    """
    if packing is Packing.DSP_ADD:
        return None, ADD_SCALES
    taps = kernel[0] * kernel[1]
    if packing is Packing.DSP_DEPTHWISE:
        return -(-out_channels // 4) * (16 + 8 * (-(-taps // TURN) * TURN) + 48), None
    if packing is Packing.MVE_DEPTHWISE:
        return -(-out_channels // VECTOR) * VECTOR * (12 + taps + taps % 2), None
    if packing is Packing.ESP_DEPTHWISE:
        padded = esp_channels(kernel, out_channels)
        return taps * padded, 3 * padded
    if packing is Packing.ESP_CONV:
        return packed_values(packing, kernel, in_channels) * out_channels, 3 * out_channels
    if packing in (Packing.RVV_CONV, Packing.RVV_DEPTHWISE):
        weights = taps * out_channels * (in_channels if packing is Packing.RVV_CONV else 1)
        return weights, 2 * out_channels + -(-out_channels // 2)
    pairs, values = -(-out_channels // 2), packed_values(packing, kernel, in_channels)
    if packing is Packing.MVE_CONV:
        channels = -(-out_channels // QUAD) * QUAD
        return channels * values, 3 * channels
    return 2 * pairs * values, PACKED_SCALES * pairs


def dsp_weights(filters: NDArray[np.int8]) -> NDArray[np.int8]:
    """Convert weights [out][kernel_h][kernel_w][in] to int16 [pair][quad][k, k + 2, k + 1, k + 3]. If A and B are the
    weights of a pair of channels, each int16 is `256 × B + A`.
    """
    n, kernel_h, kernel_w, channels = filters.shape
    values = packed_values(Packing.DSP_CONV, (kernel_h, kernel_w), channels)
    width = kernel_w * channels
    rows = np.zeros((n + n % 2, kernel_h, -(-width // 4) * 4), np.int16)
    rows[:n, :, :width] = filters.reshape(n, kernel_h, width)
    flat = np.zeros((n + n % 2, values), np.int16)
    flat[:, : rows[0].size] = rows.reshape(len(rows), -1)
    pairs = (256 * flat[1::2] + flat[0::2]).reshape(-1, values // 4, 4)[..., [0, 2, 1, 3]]
    return np.ascontiguousarray(pairs, "<i2").view(np.int8).reshape(-1)


def dsp_dense_weights(filters: NDArray[np.int8]) -> NDArray[np.int8]:
    """Interleave the words of dsp_weights() for three pairs of channels at a time. If 2 or 4 pairs remain at
    the end, these pairs are not interleaved.
    """
    pairs = dsp_weights(filters).view("<u4").reshape(len(filters) // 2, -1)
    done = (len(pairs) // 3 - (len(pairs) % 3 == 1)) * 3
    threes = pairs[:done].reshape(-1, 3, pairs.shape[1]).transpose(0, 2, 1)
    return np.concatenate((threes.reshape(-1), pairs[done:].reshape(-1))).view(np.int8)


def dsp_scales(channels: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return for each pair of channels (A, B): the bias of A, `256 × bias B + bias A` modulo 2^32, the scale of A, and
    the scale of B.
    """
    if len(channels) % 2:
        channels = np.vstack((channels, [[0, 0, 0, 1]]))
    a, b = channels[0::2], channels[1::2]
    return _int32(np.column_stack((a[:, 0], 256 * b[:, 0] + a[:, 0], a[:, 1:], b[:, 1:])))


def dsp_stream(filters: NDArray[np.int8], scales: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the constants of a depthwise convolution in the order in which the DSP kernel reads them.

    The argument `filters` has the weights [channel][kernel_h][kernel_w][1]. The data is stored for four channels at a
    time: biases, then taps, then scales (m2, c and e). Three taps at a time are stored as int16: two taps of channels 0
    to 3, then one tap of channels 0, 2, 1, 3. If the number of channels is not a multiple of four, the last four
    channels include channels that are already stored.
    """
    padded = _padded(filters, TURN).astype(np.int16)
    stream = []
    for first in _starts(len(filters), 4):
        four = slice(first, first + 4)
        turns = padded[four].reshape(4, -1, TURN).transpose(1, 0, 2)
        taps = np.concatenate((turns[:, :, :2].reshape(-1, 8), turns[:, [0, 2, 1, 3], 2]), axis=1)
        stream += [_int32(scales[four, 0]), taps, _int32(scales[four, 1:])]
    return np.concatenate([np.ascontiguousarray(part).reshape(-1).view(np.int8) for part in stream])


def add_scales(op: RowOp) -> NDArray[np.int32]:
    """Return a row for each operand and a last row for the output: the left shift and the scale (m2, c and e)."""
    multipliers, shifts = (values.astype(np.int64) for values in op.own_scales)
    shifts = -shifts
    halves = (shifts == 0).astype(np.int64)
    shifts = shifts + halves
    zeros = np.array([0, 0, op.output_zero_point])
    scales = np.stack((op.param + halves, 2 * multipliers, (2 * zeros + 1) * 2**shifts // 2, shifts), axis=1)
    return _int32(np.concatenate((scales[0], scales[1], scales[2, 1:])))


def mve_weights(filters: NDArray[np.int8]) -> NDArray[np.int8]:
    """Convert weights [out][kernel_h][kernel_w][in] to [four][vector][channel][16 values]."""
    flat = _padded(filters, VECTOR, QUAD)
    return np.ascontiguousarray(flat.reshape(-1, QUAD, flat.shape[1] // VECTOR, VECTOR).transpose(0, 2, 1, 3)).reshape(
        -1
    )


def mve_scales(channels: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return biases, multipliers and shifts of four channels at a time. Unused channels have the multiplier 0 and the
    shift -1.
    """
    return _int32(_mve_scales(channels, -len(channels) % QUAD).reshape(-1, QUAD, 3).transpose(0, 2, 1))


def mve_stream(filters: NDArray[np.int8], channels: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the constants of a depthwise convolution in the order in which the Helium kernel reads them.

    The argument `filters` has the weights [channel][kernel_h][kernel_w][1]. The data is stored for sixteen channels at
    a time: biases, then taps, then multipliers, then shifts. If the number of channels is not a multiple of sixteen,
    the last sixteen channels include channels that are already stored. If an operator has fewer than sixteen channels,
    its channels are repeated to fill sixteen.
    """
    again = np.arange(max(len(filters), VECTOR)) % len(filters)
    padded, scales = _padded(filters[again], 2), _mve_scales(channels)[again]
    stream = []
    for first in _starts(len(again), VECTOR):
        own = scales[first : first + VECTOR][MVE_ORDER, :]
        stream += [_int32(own[:, 0]), padded[first : first + VECTOR].T, _int32(own[:, 1:].T)]
    return np.concatenate([np.ascontiguousarray(part).reshape(-1).view(np.int8) for part in stream])


def rvv_weights(filters: NDArray[np.int8]) -> NDArray[np.int8]:
    """Convert weights [out][kernel_h][kernel_w][in] to [kernel_h][kernel_w][in][out], with in = 1 for DEPTHWISE."""
    return np.ascontiguousarray(np.moveaxis(filters, 0, -1), np.int8).reshape(-1)


def rvv_scales(channels: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return biases, multipliers, and right shifts, with the shifts of two channels in an int32."""
    bias, multipliers, shifts = _mve_scales(channels).T
    rights = np.zeros(len(shifts) + len(shifts) % 2, "<i2")
    rights[: len(shifts)] = -shifts
    return np.concatenate((_int32(bias), _int32(multipliers), rights.view("<i4")))


def esp_depthwise(filters: NDArray[np.int8], channels: NDArray[np.int64]) -> Packed:
    """Pad the channels to whole vectors of ESP-NN with weights 0, multiplier 0 and shift -1."""
    more = esp_channels(filters.shape[1:3], len(filters)) - len(filters)
    padded = np.pad(filters, ((0, more), (0, 0), (0, 0), (0, 0)))
    return Packed(rvv_weights(padded), esp_scales(channels, more))


def esp_scales(channels: NDArray[np.int64], more: int = 0) -> NDArray[np.int32]:
    """Return all biases, then all multipliers, then all shifts, with `more` unused channels at the end."""
    return _int32(_mve_scales(channels, more).T)


def _padded(filters: NDArray[np.int8], values: int, channels: int = 1) -> NDArray[np.int8]:
    """Pad filters with zeros to a multiple of `values` weights per channel and of `channels` channels."""
    flat = filters.reshape(len(filters), -1)
    return np.pad(flat, ((0, -len(flat) % channels), (0, -flat.shape[1] % values)))


def _starts(channels: int, each: int) -> list[int]:
    """Divide channels into sets of `each` channels, and return the first channel of each set. If `channels` is not a
    multiple of `each`, the last two sets share some channels.
    """
    return [*range(0, channels - each + 1, each), *([channels - each] if channels % each else [])]


def _mve_scales(channels: NDArray[np.int64], more: int = 0) -> NDArray[np.int64]:
    bias, doubled, _, shifts = channels.T
    unused = np.tile([[0, 0, -1]], (more, 1))
    return np.concatenate((np.stack((bias, doubled // 2, -shifts), axis=1), unused))


def _scales(op: RowOp) -> NDArray[np.int64]:
    """Return each channel's bias, doubled multiplier (m2), rounding constant (c) and right shift (e).

    A channel with multiplier 0 gets weights 0 and bias 0.
    """
    multipliers, lefts = (np.broadcast_to(values, op.writes.c).astype(np.int64) for values in op.own_scales)
    shifts = np.where(_dead(op), 1, -lefts)
    rounding = (2 * op.output_zero_point + 1) * 2**shifts // 2
    return np.stack((np.where(_dead(op), 0, folded_bias(op)), 2 * multipliers, rounding, shifts), axis=1)


def _int32(values: NDArray[np.int64]) -> NDArray[np.int32]:
    return values.astype(np.uint32).view(np.int32).reshape(-1)


LAYOUTS: Mapping[Packing, Callable[[NDArray[np.int8], NDArray[np.int64]], Packed]] = {
    Packing.DSP_CONV: lambda weights, scales: Packed(dsp_weights(weights), dsp_scales(scales)),
    Packing.DSP_DENSE: lambda weights, scales: Packed(dsp_dense_weights(weights), dsp_scales(scales)),
    Packing.DSP_DEPTHWISE: lambda weights, scales: Packed(dsp_stream(weights, scales), None),
    Packing.MVE_CONV: lambda weights, scales: Packed(mve_weights(weights), mve_scales(scales)),
    Packing.MVE_DEPTHWISE: lambda weights, scales: Packed(mve_stream(weights, scales), None),
    Packing.RVV_CONV: lambda weights, scales: Packed(rvv_weights(weights), rvv_scales(scales)),
    Packing.RVV_DEPTHWISE: lambda weights, scales: Packed(rvv_weights(weights), rvv_scales(scales)),
    Packing.ESP_CONV: lambda weights, scales: Packed(_padded(weights, VECTOR).reshape(-1), esp_scales(scales)),
    Packing.ESP_DEPTHWISE: esp_depthwise,
}
"""For each packing, a function that packs weights [out][kernel_h][kernel_w][in] and the biases and scales."""


def plain_weights(op: RowOp) -> NDArray[np.int8] | None:
    return in_nibbles(op.weights) if op.nibbles and op.weights is not None else op.weights


def in_nibbles(weights: NDArray[np.int8]) -> NDArray[np.int8]:
    """Store two int4 weights in each byte, the first weight in the lower half.

    >>> in_nibbles(np.array([1, -2, 3], np.int8)).tolist()
    [-31, 3]
    """
    pairs = np.append(weights.reshape(-1), np.zeros(weights.size % 2, np.int8)).view(np.uint8).reshape(-1, 2)
    return np.asarray((pairs[:, 0] & 15) | pairs[:, 1] << 4, np.uint8).view(np.int8)
