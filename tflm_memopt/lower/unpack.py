"""Converts packed constants back to numbers, according to the layouts described in program.h.

pack.py and this module do not import each other, so that a mistake in one of them shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.ops.packing import Packing

Ints = NDArray[np.int64]
Kernel = tuple[int, int, int]
"""Rows, columns and channels of a filter."""


@dataclass(frozen=True, slots=True)
class PackedSums:
    """Filters and scales of weighted sums. In some layouts, overlapping groups contain a channel twice."""

    channels: Ints
    """The output channel of each entry."""
    filters: NDArray[np.int8]
    """[entry][kernel_h][kernel_w][in]"""
    bias: Ints
    """Includes the input's zero point."""
    multipliers: Ints
    shifts: Ints
    """Positive shifts are to the left."""


def packed_sums(
    packing: Packing, weights: NDArray[np.int8], scales: NDArray[np.int32] | None, kernel: Kernel, channels: int
) -> PackedSums:
    """Unpack a convolution, dense or depthwise layer with `channels` output channels.

    weights, scales: as in lower/pack.py's Packed.
    """
    if scales is None:
        return _STREAMS[packing](weights, kernel, channels)
    values, found = _FILTERS[packing](weights, kernel, channels), _SCALES[packing](scales, channels)
    return PackedSums(np.arange(channels), values.reshape(channels, *kernel), *found)


def add_scales(scales: NDArray[np.int32], left_shift: int) -> tuple[Ints, Ints]:
    """Return multipliers and shifts of a packed ADD's operands and output. left_shift: of both operands."""
    operands, output = scales[:8].reshape(2, 4), scales[8:]
    doubled = np.array([*operands[:, 1], output[0]]).view(np.uint32).astype(np.int64)
    right = np.array([*(operands[:, 3] - (operands[:, 0] - left_shift)), output[2]], np.int64)
    return doubled // 2, -right


def _dsp_filters(weights: NDArray[np.int8], kernel: Kernel, channels: int) -> NDArray[np.int8]:
    """Unpack int16 values 256 * B + A of each pair of channels, in fours with the middle two exchanged."""
    pairs = weights.view("<i2").reshape(-(-channels // 2), -1, 4)[..., [0, 2, 1, 3]]
    first = pairs.astype(np.int8)
    second = ((pairs.astype(np.int32) - first) >> 8).astype(np.int8)
    both = np.stack((first, second), axis=1).reshape(2 * len(pairs), -1)
    height, width = kernel[0], kernel[1] * kernel[2]
    rows: NDArray[np.int8] = both[:channels, : height * (-(-width // 4) * 4)].reshape(channels, height, -1)
    return rows[..., :width]


def _dsp_dense_filters(weights: NDArray[np.int8], kernel: Kernel, channels: int) -> NDArray[np.int8]:
    """Unpack interleaved words of three pairs each, followed by two or four remaining pairs one after the other."""
    words, pairs = weights.view("<u4"), channels // 2
    length, threes = len(words) // pairs, max(0, pairs - (4 if pairs % 3 == 1 else pairs % 3)) // 3
    split = 3 * threes * length
    in_threes = words[:split].reshape(threes, length, 3).swapaxes(1, 2).reshape(-1)
    return _dsp_filters(np.concatenate((in_threes, words[split:])).view(np.int8), kernel, channels)


def _mve_filters(weights: NDArray[np.int8], kernel: Kernel, channels: int) -> NDArray[np.int8]:
    """Unpack groups of four channels, sixteen values at a time."""
    fours = weights.reshape(-(-channels // 4), -1, 4, 16).swapaxes(1, 2)
    flat: NDArray[np.int8] = fours.reshape(4 * len(fours), -1)[:channels, : int(np.prod(kernel))]
    return flat


def _rvv_filters(weights: NDArray[np.int8], _: Kernel, channels: int) -> NDArray[np.int8]:
    """Unpack weights in which all channels of a tap are adjacent."""
    values: NDArray[np.int8] = weights.reshape(-1, channels).T
    return values


def _esp_filters(weights: NDArray[np.int8], kernel: Kernel, channels: int) -> NDArray[np.int8]:
    """Unpack channels whose values are padded to a multiple of 16."""
    return weights.reshape(channels, -1)[:, : math.prod(kernel)]


def _esp_depthwise_filters(weights: NDArray[np.int8], kernel: Kernel, channels: int) -> NDArray[np.int8]:
    """Unpack taps whose channels are padded."""
    values: NDArray[np.int8] = weights.reshape(math.prod(kernel), -1)[:, :channels].T
    return values


def _dsp_scales(scales: NDArray[np.int32], channels: int) -> tuple[Ints, Ints, Ints]:
    """Unpack pairs: bias A, 256 * bias B + bias A; doubled multiplier, rounding, right shift of A, and of B."""
    pairs = scales.reshape(-1, 8)
    first, both = pairs[:, 0], pairs[:, 1]
    bias = np.stack((first, (both - first) >> 8), axis=1).reshape(-1)[:channels]
    doubled, _, right = pairs[:, 2:].reshape(-1, 3)[:channels].T
    return bias.astype(np.int64), _halved(doubled), -right.astype(np.int64)


def _mve_scales(scales: NDArray[np.int32], channels: int) -> tuple[Ints, Ints, Ints]:
    """Unpack biases, multipliers and shifts of each four channels."""
    bias, multipliers, shifts = scales.reshape(-1, 3, 4).swapaxes(0, 1).reshape(3, -1)[:, :channels].astype(np.int64)
    return bias, multipliers, shifts


def _rvv_scales(scales: NDArray[np.int32], channels: int) -> tuple[Ints, Ints, Ints]:
    """Unpack biases, multipliers, and right shifts as int16."""
    rights = scales[2 * channels :].view("<i2")[:channels]
    bias, multipliers = scales[: 2 * channels].reshape(2, channels).astype(np.int64)
    return bias, multipliers, -rights.astype(np.int64)


def _esp_scales(scales: NDArray[np.int32], channels: int) -> tuple[Ints, Ints, Ints]:
    """Unpack biases, multipliers and shifts."""
    bias, multipliers, shifts = scales.reshape(3, -1)[:, :channels].astype(np.int64)
    return bias, multipliers, shifts


def _dsp_stream(stream: NDArray[np.int8], kernel: Kernel, channels: int) -> PackedSums:
    """Unpack groups of four channels: biases; three taps at a time, two of each channel and the third of 0, 2, 1, 3;
    scales.
    """
    taps, firsts = kernel[0] * kernel[1], [*range(0, channels - 3, 4), *([channels - 4] if channels % 4 else [])]
    vectors = stream.reshape(len(firsts), -1)
    turns = vectors[:, 16:-48].view("<i2").astype(np.int8).reshape(len(firsts), -1, 12)
    pairs = turns[..., :8].reshape(*turns.shape[:2], 4, 2)
    third = turns[..., 8:][..., [0, 2, 1, 3], None]
    filters = np.concatenate((pairs, third), axis=-1).transpose(0, 2, 1, 3).reshape(4 * len(firsts), -1)[:, :taps]
    scales = vectors[:, -48:].view("<i4").reshape(-1, 3)
    return PackedSums(
        np.concatenate([np.arange(4) + first for first in firsts]),
        filters.reshape(-1, *kernel),
        vectors[:, :16].view("<i4").reshape(-1).astype(np.int64),
        _halved(scales[:, 0]),
        -scales[:, 2].astype(np.int64),
    )


_MVE_LANES = [0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15]
"""Order of the channels in which Helium widens bytes to words, four at a time."""


def _mve_stream(stream: NDArray[np.int8], kernel: Kernel, channels: int) -> PackedSums:
    """Unpack groups of sixteen channels: biases, taps, multipliers, shifts; words in the order of column windows."""
    taps, numbers = kernel[0] * kernel[1], np.arange(max(channels, 16))
    firsts = [*range(0, len(numbers) - 15, 16), *([len(numbers) - 16] if len(numbers) % 16 else [])]
    vectors = stream.reshape(len(firsts), -1)

    def words(begin: int, end: int | None) -> Ints:
        lanes = np.empty((len(firsts), 16), np.int64)
        lanes[:, _MVE_LANES] = vectors[:, begin:end].view("<i4")
        return lanes.reshape(-1)

    filters = vectors[:, 64:-128].reshape(len(firsts), -1, 16).swapaxes(1, 2).reshape(-1, taps + taps % 2)[:, :taps]
    return PackedSums(
        np.concatenate([numbers[first : first + 16] for first in firsts]) % channels,
        filters.reshape(-1, *kernel),
        words(0, 64),
        words(-128, -64),
        words(-64, None),
    )


def _halved(doubled: NDArray[Any]) -> Ints:
    """Return the multipliers, which a layout stores doubled, modulo 2**32."""
    return np.ascontiguousarray(doubled, np.int32).view(np.uint32).astype(np.int64) // 2


Filters = Callable[[NDArray[np.int8], Kernel, int], NDArray[np.int8]]
_FILTERS: Mapping[Packing, Filters] = {
    Packing.DSP_CONV: _dsp_filters,
    Packing.DSP_DENSE: _dsp_dense_filters,
    Packing.MVE_CONV: _mve_filters,
    Packing.RVV_CONV: _rvv_filters,
    Packing.RVV_DEPTHWISE: _rvv_filters,
    Packing.ESP_CONV: _esp_filters,
    Packing.ESP_DEPTHWISE: _esp_depthwise_filters,
}
_SCALES: Mapping[Packing, Callable[[NDArray[np.int32], int], tuple[Ints, Ints, Ints]]] = {
    Packing.DSP_CONV: _dsp_scales,
    Packing.DSP_DENSE: _dsp_scales,
    Packing.MVE_CONV: _mve_scales,
    Packing.RVV_CONV: _rvv_scales,
    Packing.RVV_DEPTHWISE: _rvv_scales,
    Packing.ESP_CONV: _esp_scales,
    Packing.ESP_DEPTHWISE: _esp_scales,
}
_STREAMS: Mapping[Packing, Callable[[NDArray[np.int8], Kernel, int], PackedSums]] = {
    Packing.DSP_DEPTHWISE: _dsp_stream,
    Packing.MVE_DEPTHWISE: _mve_stream,
}
