"""Compute operators on whole tensors [h, w, c] in the simplest way: no rows, no clipped windows.

Arithmetic is written as in TFLM and gemmlowp (nudges, truncating divisions), not as in the library under test.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.families import BINARY_INT8
from tflm_memopt.kernels.descriptions.curves import EXPONENTIAL, RECIPROCAL, SIGMOID
from tflm_memopt.lower.program import ProgramOp
from tflm_memopt.ops.kinds import WIDE, Kind
from tflm_memopt.ops.rowop import Window

Int8 = NDArray[np.int8]
Ints = NDArray[np.int64]


def output(op: ProgramOp, inputs: Sequence[Int8], shape: tuple[int, int, int]) -> Int8:
    """Return the whole output [h, w, c] of one operator."""
    result = {
        Kind.CONV: _conv,
        Kind.DEPTHWISE: _depthwise,
        Kind.SUMS: _sums,
        Kind.ADD_SUMS: _add_sums,
        **dict.fromkeys(BINARY_INT8, _binary),
        Kind.AVERAGE_POOL: _pool,
        Kind.MAX_POOL: _pool,
        Kind.MEAN: _pool,
        Kind.SOFTMAX: _softmax,
        Kind.LOG_SOFTMAX: _log_softmax,
        Kind.ARG_MAX: _arg_max,
        Kind.ARG_MAX_ALONG: _arg_max_along,
        Kind.LOOKUP: _lookup,
        Kind.GATHER: _gather,
        Kind.COPY: _copy,
        Kind.RESIZE_BILINEAR: _resize,
        Kind.TRANSPOSE_CONV: _transpose_conv,
        Kind.BATCH_MATMUL: _batch_matmul,
        **dict.fromkeys((Kind.CONV_S16, Kind.DEPTHWISE_S16, Kind.TRANSPOSE_CONV_S16), _conv_int16),
        **dict.fromkeys((Kind.AVERAGE_POOL_S16, Kind.MAX_POOL_S16, Kind.MEAN_S16), _pool_int16),
        **dict.fromkeys((Kind.ADD_S16, Kind.SUB_S16), _add_int16),
        Kind.MUL_S16: _mul_int16,
        Kind.CURVE_S16: _curve,
        Kind.SOFTMAX_S16: _softmax_int16,
        Kind.BATCH_MATMUL_S16: _batch_matmul_int16,
        Kind.LEAKY_RELU_S16: _leaky_relu_int16,
        **dict.fromkeys((Kind.QUANTIZE, Kind.QUANTIZE_S16), _quantize),
        **dict.fromkeys((Kind.DEQUANTIZE, Kind.DEQUANTIZE_S16), _dequantize),
        **dict.fromkeys((Kind.WIDEN, Kind.NARROW, Kind.RESCALE_S16), _requantize),
    }[op.kind](op, [i.astype(np.int64) for i in inputs], shape)
    assert result.shape == shape
    return result.astype(np.int8)


def wrap32(x: Ints) -> Ints:
    return x.astype(np.int64).astype(np.uint32).astype(np.int32).astype(np.int64)


def high_mul(a: Ints, b: Ints | int) -> Ints:
    """Return SaturatingRoundingDoublingHighMul of gemmlowp, which divides with truncation."""
    product = a * np.int64(b)
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    quotient = np.sign(nudged) * (np.abs(nudged) // (1 << 31))
    return np.minimum(quotient, (1 << 31) - 1)


def divide_by_power(x: Ints, exponent: Ints | int) -> Ints:
    """Return RoundingDivideByPOT of gemmlowp, which rounds halves away from zero."""
    power = np.int64(1) << np.asarray(exponent, np.int64)
    return np.sign(x) * ((2 * np.abs(x) + power) // (2 * power))


def rescale(x: Ints, multiplier: Ints | int, shift: Ints | int) -> Ints:
    left, right = np.maximum(shift, 0), np.maximum(-np.asarray(shift, np.int64), 0)
    return divide_by_power(high_mul(wrap32(x << left), multiplier), right)


def _scale(op: ProgramOp, x: Ints) -> Int8:
    return np.clip(_rescaled(op, x), *op.activation).astype(np.int8)


def _rescaled(op: ProgramOp, x: Ints) -> Ints:
    assert op.multipliers is not None
    assert op.shifts is not None
    scaled = rescale(wrap32(x), op.multipliers.astype(np.int64), op.shifts.astype(np.int64))
    return scaled + op.output_zero_point


def _padded(x: Ints, w: Window, shape: tuple[int, int, int], fill: int) -> Ints:
    """Pad the input as far as its windows reach."""
    bottom = max(0, (shape[0] - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1 - w.pad_top - x.shape[0])
    right = max(0, (shape[1] - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1 - w.pad_left - x.shape[1])
    return np.pad(x, ((w.pad_top, bottom), (w.pad_left, right), (0, 0)), constant_values=fill)


def _under_tap(padded: Ints, w: Window, shape: tuple[int, int, int], ky: int, kx: int) -> Ints:
    """Return the input [h, w, c] that tap (ky, kx) of each output pixel reads."""
    top, left = ky * w.dilation_h, kx * w.dilation_w
    return padded[top:, left:][:: w.stride_h, :: w.stride_w][: shape[0], : shape[1]]


def _conv(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    return _scale(op, _conv_sums(op, inputs[0], shape) + (0 if op.bias is None else op.bias))


def _conv_sums(op: ProgramOp, x: Ints, shape: tuple[int, int, int]) -> Ints:
    assert op.weights is not None
    centred = _padded(x, op.window, shape, op.input_zero_points[0]) - op.input_zero_points[0]
    total = np.zeros(shape, np.int64)
    for ky in range(op.window.kernel_h):
        for kx in range(op.window.kernel_w):
            total += _under_tap(centred, op.window, shape, ky, kx) @ op.weights[:, ky, kx, :].astype(np.int64).T
    return total


def _sums(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    return _in_bytes(_conv_sums(op, inputs[0], (*shape[:2], shape[2] // op.param)), op.param)


def _add_sums(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    of_each = [op.param >> 4 * k & 15 for k in range(5)]
    total = sum(_from_bytes(x, n) for x, n in zip(inputs, of_each, strict=False)) + (0 if op.bias is None else op.bias)
    return _in_bytes(wrap32(total), of_each[4]) if of_each[4] else _scale(op, total)


def _in_bytes(x: Ints, nbytes: int) -> Int8:
    """Return the lower `nbytes` bytes of each number, little-endian."""
    parts = np.ascontiguousarray(x.astype("<i8"))[..., np.newaxis].view(np.int8)[..., :nbytes]
    return parts.reshape(*x.shape[:2], -1)


def _from_bytes(x: Ints, nbytes: int) -> Ints:
    parts = x.reshape(*x.shape[:2], -1, nbytes)
    return sum((parts[..., k] % 256 if k + 1 < nbytes else parts[..., k]) * 256**k for k in range(nbytes))


def _depthwise(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    return _scale(op, _depthwise_sums(op, inputs[0], shape) + (0 if op.bias is None else op.bias))


def _depthwise_sums(op: ProgramOp, x: Ints, shape: tuple[int, int, int]) -> Ints:
    assert op.weights is not None
    repeated = np.repeat(x, shape[2] // x.shape[2], axis=2)
    centred = _padded(repeated, op.window, shape, op.input_zero_points[0]) - op.input_zero_points[0]
    total = np.zeros(shape, np.int64)
    for ky in range(op.window.kernel_h):
        for kx in range(op.window.kernel_w):
            total += _under_tap(centred, op.window, shape, ky, kx) * op.weights[ky, kx].astype(np.int64)
    return total


def _int16(x: Ints) -> Ints:
    """Combine a tensor's channel bytes into int16."""
    return np.ascontiguousarray(x.astype(np.int8)).view("<i2").astype(np.int64)


def _from_int16(op: ProgramOp, x: Ints) -> Int8:
    return _stored(np.clip(x, (op.param & 0xFFFF ^ 0x8000) - 0x8000, op.param >> 16))


def _stored(x: Ints) -> Int8:
    return np.ascontiguousarray(np.clip(x, -0x8000, 0x7FFF).astype("<i2")).view(np.int8)


def _conv_int16(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    sums = {Kind.CONV_S16: _conv_sums, Kind.DEPTHWISE_S16: _depthwise_sums}.get(op.kind, _transpose_conv_sums)
    total = sums(op, _int16(inputs[0]), (*shape[:2], shape[2] // 2))
    return _scaled_int64(op, total + (0 if op.bias is None else op.bias.view("<i8")))


def _scaled_int64(op: ProgramOp, total: Ints) -> Int8:
    """Return the total scaled by 16-bit multipliers with a single rounding."""
    assert op.multipliers is not None
    assert op.shifts is not None
    m, right = op.multipliers.astype(np.int64), 15 - op.shifts.astype(np.int64)
    reduced = np.where(m < 0x7FFF0000, (m + (1 << 15)) >> 16, 0x7FFF)
    return _from_int16(op, (total * reduced + (np.int64(1) << (right - 1))) >> right)


def _integers(op: ProgramOp, x: Ints) -> Ints:
    """Return the integers that a converting operator reads."""
    return x if op.kind in (Kind.DEQUANTIZE, Kind.WIDEN) else _int16(x)


def _saturated(op: ProgramOp, x: Ints) -> Int8:
    """Saturate to the output type of a converting operator."""
    narrow = op.kind in (Kind.QUANTIZE, Kind.NARROW)
    limits = np.iinfo(np.int8 if narrow else np.int16)
    return np.ascontiguousarray(np.clip(x, limits.min, limits.max).astype(limits.dtype)).view(np.int8)


def _float_scale(op: ProgramOp) -> np.float32:
    return np.array(op.param, "<i4").view("<f4")[()]


@np.errstate(all="ignore")
def _quantize(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    ratio = np.ascontiguousarray(inputs[0].astype(np.int8)).view("<f4") / _float_scale(op)
    real = np.clip(np.nan_to_num(ratio.astype(np.float64), nan=0.0, posinf=1e9, neginf=-1e9), -1e9, 1e9)
    rounded = np.sign(real) * np.floor(np.abs(real) + 0.5)
    return _saturated(op, rounded.astype(np.int64) + op.output_zero_point)


def _dequantize(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    real = np.float64(_float_scale(op)) * (_integers(op, inputs[0]) - op.input_zero_points[0])
    return np.ascontiguousarray(real.astype("<f4")).view(np.int8)


def _requantize(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    assert op.multipliers is not None
    assert op.shifts is not None
    x = _integers(op, inputs[0]) - op.input_zero_points[0]
    left = max(int(op.shifts[0]), 0)
    y = divide_by_power(high_mul(wrap32(x << left), int(op.multipliers[0])), left - int(op.shifts[0]))
    return _saturated(op, y + op.output_zero_point)


def _add_int16(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    assert op.multipliers is not None
    assert op.shifts is not None
    m, s = op.multipliers.astype(np.int64), op.shifts.astype(np.int64)
    wide = [np.broadcast_to(_int16(x), (*shape[:2], shape[2] // 2)) for x in inputs]
    a, b = (rescale(wide[k] << 15, m[k], s[k]) for k in ((1, 0) if op.swapped else (0, 1)))
    return _from_int16(op, rescale(wrap32(a - b if op.kind is Kind.SUB_S16 else a + b), m[2], s[2]))


def _leaky_relu_int16(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    assert op.multipliers is not None
    assert op.shifts is not None
    x, m, s = _int16(inputs[0]), op.multipliers.astype(np.int64), op.shifts.astype(np.int64)
    return _stored(np.where(x < 0, rescale(x, m[1], s[1]), rescale(x, m[0], s[0]))).reshape(shape)


def _mul_int16(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    a, b = (np.broadcast_to(_int16(x), (*shape[:2], shape[2] // 2)) for x in inputs)
    return _from_int16(op, _rescaled(op, a * b))


def _curve(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    """Follow TFLM's algorithm, separately for each sign, with a table that a test compares with TFLM's."""
    assert op.multipliers is not None
    assert op.shifts is not None
    table, right = np.array(SIGMOID, np.int64), -int(op.shifts[0])
    x = (_int16(inputs[0]) * int(op.multipliers[0]) + ((1 << right) >> 1)) >> right
    bits = 8 if op.param else 9
    at, rest = np.abs(x) >> bits, np.abs(x) & ((1 << bits) - 1)
    inside = np.minimum(at, 254)
    value = (table[inside] << bits) + rest * (table[inside + 1] - table[inside])
    if op.param:
        value = np.where(at >= 255, 0xFFFF << 8, value)
        return _stored(np.where(x >= 0, value - (1 << 23) + 128, (1 << 23) - value + 127) >> 8).reshape(shape)
    value = np.where(at >= 255, 0x7FFF << 10, value)
    return _stored(np.where(x >= 0, value + 512, (1 << 25) - value + 511) >> 10).reshape(shape)


def _softmax_int16(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    def looked_up(table: tuple[int, ...], x: Ints) -> Ints:
        x, entries = np.clip(x, -0x8000, 0x7FFF), np.array(table, np.int64)
        at, rest = 256 + (x >> 7), x & 127
        return entries[at] + (((entries[at + 1] - entries[at]) * rest + 64) >> 7)

    x = _int16(inputs[0])
    exps = looked_up(EXPONENTIAL, _rescaled(op, x - x.max(axis=2, keepdims=True)) + 0x7FFF)
    total = exps.sum(axis=2, keepdims=True)
    bits = np.ceil(np.log2(total + 1)).astype(np.int64)
    shifted = ((total << (31 - bits)) + (1 << 13)) >> 14
    factor, right = looked_up(RECIPROCAL, shifted - (1 << 15) - (1 << 16)), bits - 1
    return _stored(np.clip((exps * factor + (1 << (right - 1))) >> right, 0, 0x7FFF)).reshape(shape)


def _batch_matmul_int16(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    a, b = (_int16(x)[:, 0, :] for x in inputs)
    whole = dataclasses.replace(op, param=0x7FFF << 16 | 0x8000)
    return _scaled_int64(whole, a @ (b.T if op.param else b)).reshape(shape)


def _batch_matmul(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    a, b = (x[:, 0, :] - zero for x, zero in zip(inputs, op.input_zero_points, strict=True))
    return _scale(op, a @ (b.T if op.param else b)).reshape(shape)


def _pool(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    return np.clip(_pooled(op, op.kind, inputs[0], shape), *op.activation).astype(np.int8)


def _pool_int16(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    kind = next(narrow for narrow, wide in WIDE.items() if wide is op.kind)
    return _from_int16(op, _pooled(op, kind, _int16(inputs[0]), (*shape[:2], shape[2] // 2)))


def _pooled(op: ProgramOp, kind: Kind, x: Ints, shape: tuple[int, int, int]) -> Ints:
    """Return the outputs before clamping. kind: the int8 kind."""
    outside = np.iinfo(np.int64).min
    padded = _padded(x, op.window, shape, outside)
    taps = np.stack([
        _under_tap(padded, op.window, shape, ky, kx)
        for ky in range(op.window.kernel_h)
        for kx in range(op.window.kernel_w)
    ])  # fmt: skip
    if op.kind is Kind.MAX_POOL and op.param:
        return np.where(taps == outside, np.int64(128), taps).min(axis=0)
    if kind is Kind.MAX_POOL:
        return taps.max(axis=0)
    total, count = np.where(taps == outside, 0, taps).sum(axis=0), (taps != outside).sum(axis=0)
    if kind is Kind.MEAN:
        return _rescaled(op, total - op.input_zero_points[0] * count)
    return np.sign(total) * ((np.abs(total) + count // 2) // count)


def _binary(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    order = (1, 0) if op.swapped else (0, 1)
    if op.kind in (Kind.MAXIMUM, Kind.MINIMUM):
        choose = np.maximum if op.kind is Kind.MAXIMUM else np.minimum
        return np.broadcast_to(choose(*inputs), shape).astype(np.int8)
    assert op.multipliers is not None
    assert op.shifts is not None
    m, s = op.multipliers.astype(np.int64), op.shifts.astype(np.int64)
    values = [np.broadcast_to(inputs[k] - op.input_zero_points[k], shape) for k in order]
    if op.kind is Kind.MUL:
        result = rescale(wrap32(values[0] * values[1]), m[0], s[0])
    elif op.kind is Kind.PRELU:
        slope = rescale(wrap32(values[0] * values[1]), m[1], s[1])
        result = np.where(values[0] < 0, slope, rescale(values[0], m[0], s[0]))
    else:
        a, b = (rescale(wrap32(v << op.param), m[k], s[k]) for v, k in zip(values, order, strict=True))
        combined = {Kind.ADD: a + b, Kind.SUB: a - b, Kind.SQUARED_DIFFERENCE: wrap32(a - b) ** 2}[op.kind]
        result = rescale(wrap32(combined), m[2], s[2])
    return np.clip(wrap32(result + op.output_zero_point), *op.activation).astype(np.int8)


def _lookup(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    assert op.weights is not None
    return op.weights[inputs[0].reshape(shape) + 128]


def _copy(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    assert op.copy is not None
    out = np.full((shape[0], shape[1] * shape[2]), op.copy.fill if op.copy.fills else 0, np.int64)
    read = [(k, tap) for k, a in enumerate(op.access) for tap in range(a.extent)]
    for y in range(inputs[0].shape[0] if op.iterative else shape[0]):
        for m in op.copy.moves:
            operand, tap = read[m.row]
            rows = inputs[operand].reshape(inputs[operand].shape[0], -1)
            row = first_row(op, operand, y, len(rows)) + tap
            if 0 <= row < len(rows):
                step = (y + m.shift) % m.period * m.phase_step
                for i in range(m.count):
                    at, to = m.source + i * m.source_step, m.target + i * m.target_step
                    at, to, line = (at, to + step, 0) if op.iterative else (at + step, to, y)
                    out[line, to : to + m.bytes] = rows[row, at : at + m.bytes]
    return out.reshape(shape).astype(np.int8)


def first_row(op: ProgramOp, k: int, y: int, height: int) -> int:
    """Return the first row of operand k that iteration y reads, or a number far outside the tensor if it reads none."""
    a = op.access[k]
    if a.table is None:
        return math.floor((y * a.mul + a.add) / a.div)
    return 10**6 if a.table[y] == 0xFFFF else a.table[y]


def _resize(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    """Follow TFLM's ComputeInterpolationValuesInteger, in which positions before the image stay negative."""
    (image,) = inputs

    def along(size: int, output: int, scale: int) -> Iterator[tuple[int, int, int]]:
        for o in range(output):
            at = o * scale + (scale // 2 - 512 if op.param else 0)
            low = max(int(at / 1024), 0)
            yield low, min(int((at + 1023) / 1024), size - 1), at - 1024 * low

    out = np.zeros(shape, np.int64)
    for y, (y0, y1, dy) in enumerate(along(image.shape[0], shape[0], op.window.stride_h)):
        for x, (x0, x1, dx) in enumerate(along(image.shape[1], shape[1], op.window.stride_w)):
            left = image[y0, x0] * (1024 - dy) + image[y1, x0] * dy
            right = image[y0, x1] * (1024 - dy) + image[y1, x1] * dy
            total = left * (1024 - dx) + right * dx
            out[y, x] = np.sign(total) * ((np.abs(total) + (1 << 19)) >> 20)
    return out.astype(np.int8)


def _transpose_conv(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    return _scale(op, _transpose_conv_sums(op, inputs[0], shape) + (0 if op.bias is None else op.bias))


def _transpose_conv_sums(op: ProgramOp, x: Ints, shape: tuple[int, int, int]) -> Ints:
    """Scatter inputs to outputs, as TFLM does."""
    assert op.weights is not None
    w, x = op.window, x - op.input_zero_points[0]
    total = np.zeros(shape, np.int64)
    for iy, ix, ky, kx in np.ndindex(*x.shape[:2], w.kernel_h, w.kernel_w):
        oy, ox = iy * w.stride_h - w.pad_top + ky, ix * w.stride_w - w.pad_left + kx
        if 0 <= oy < shape[0] and 0 <= ox < shape[1]:
            total[oy, ox] += op.weights[:, ky, kx].astype(np.int64) @ x[iy, ix]
    return total


def _softmax(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    return np.apply_along_axis(lambda pixel: _softmax_pixel(op, pixel), 2, inputs[0])


def _softmax_pixel(op: ProgramOp, x: Ints) -> Int8:
    assert op.multipliers is not None
    assert op.shifts is not None
    diff = x - x.max()
    counts = diff >= op.param
    exps = np.where(counts, _exp(rescale(diff, int(op.multipliers[0]), int(op.shifts[0]))), 0)
    total = int(divide_by_power(exps, 12).sum())  # 12 integer bits, 19 fractional
    normalised = total << (32 - total.bit_length())
    bits_over_one = total.bit_length() - 20
    reciprocal = _reciprocal(normalised - (1 << 31))
    share = divide_by_power(high_mul(exps, reciprocal), bits_over_one + 23)
    return np.where(counts, np.clip(share - 128, -128, 127), -128).astype(np.int8)


def _log_softmax(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    return np.apply_along_axis(lambda pixel: _log_softmax_pixel(op, pixel), 2, inputs[0])


def _log_softmax_pixel(op: ProgramOp, x: Ints) -> Int8:
    assert op.multipliers is not None
    assert op.shifts is not None
    (m, back), (s, shift_back) = op.multipliers.tolist(), op.shifts.tolist()
    diff = x - x.max()
    scaled = rescale(diff, m, s)
    log = _log(int(divide_by_power(np.where(diff >= op.param, _exp(scaled), 0), 12).sum()))
    least = max(op.param - 1, int(rescale(np.array(log - (1 << 31)), back, shift_back)))
    value = divide_by_power(scaled - log, 22) + 127
    return np.where(diff > least, np.clip(value, -128, 127), -128).astype(np.int8)


def _log(a: int) -> int:
    """Return log_x_for_x_greater_than_or_equal_to_1 of TFLM. Integer bits: argument 12, result 5, between 6."""

    def constant(value: float) -> int:
        return round(value * (1 << 31))

    def doubled(value: int, times: int) -> int:
        return min(max(value << times, -(1 << 31)), (1 << 31) - 1)

    def multiplied(b: int, c: int) -> int:
        return int(high_mul(np.array(b), c))

    fourth, half = constant(0.5**0.25), constant(0.5**0.5)
    clear, clear_half = 32 - a.bit_length(), 32 - multiplied(a, half).bit_length()
    first = doubled(multiplied(a << (clear - 1), half), 1), ((12 - clear) << 25) + (1 << 23)
    second = doubled(a, clear_half - 1), ((13 - clear_half) << 25) - (1 << 23)
    r, power = min(first[0], second[0]), max(first[1], second[1])
    p, q = (r + fourth + 1) // 2, 2 * (r - fourth)
    square = multiplied(q, q)
    numerator = multiplied(q, r) + multiplied(multiplied(q, square), constant(11 / 240 * 2**0.25))
    inner = constant(2 / 2**0.25 - 2**0.25) + q + multiplied(constant(2**0.25 / 20), square)
    denominator = multiplied(p, inner) + multiplied(constant(2**0.25 / 4), q)
    fraction = multiplied(int(divide_by_power(np.array(numerator), 6)), _reciprocal(denominator))
    return doubled(multiplied(power, constant(math.log(2))) + fraction, 1)


def _arg_max(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    found = (inputs[0].argmin if op.param else inputs[0].argmax)(axis=2)
    return np.ascontiguousarray(found[..., np.newaxis].astype("<i4")).view(np.int8)


def _arg_max_along(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    w, found = op.window, np.zeros((*shape[:2], shape[2] // 4), "<i4")
    for y, x in np.ndindex(*shape[:2]):
        window = inputs[0][y * w.stride_h :, x * w.stride_w :][: w.kernel_h, : w.kernel_w]
        pixels = window.reshape(-1, window.shape[2])
        found[y, x] = (pixels.argmin if op.param else pixels.argmax)(axis=0)
    return found.view(np.int8)


def _exp(a: Ints) -> Ints:
    """Return exp_on_negative_values of gemmlowp. The argument has 5 integer bits, and the result none."""
    quarter = 1 << 24
    part = a % quarter - quarter
    x = part * 32 + (1 << 28)
    x2 = high_mul(x, x)
    x3, x4 = high_mul(x2, x), high_mul(x2, x2)
    series = x + divide_by_power(high_mul(divide_by_power(x4, 2) + x3, round((1 << 31) / 3)) + x2, 1)
    eighth = round(math.exp(-1 / 8) * (1 << 31))
    result = eighth + high_mul(series, eighth)
    for exponent in range(-2, 5):
        factor = round(math.exp(-(2.0**exponent)) * (1 << 31))
        bit = ((part - a) >> (26 + exponent)) & 1
        result = np.where(bit == 1, high_mul(result, factor), result)
    return np.where(a == 0, (1 << 31) - 1, result)


def _reciprocal(a: int) -> int:
    """Return one_over_one_plus_x_for_x_in_0_1 of gemmlowp."""
    half = np.array((a + (1 << 31)) // 2)
    x = np.array(round(48 / 17 * (1 << 29))) + high_mul(half, -round(32 / 17 * (1 << 29)))
    for _ in range(3):
        x = x + 4 * high_mul(x, (1 << 29) - int(high_mul(half, int(x))))
    return min(2 * int(x), (1 << 31) - 1)


def _gather(op: ProgramOp, inputs: list[Ints], shape: tuple[int, int, int]) -> Int8:
    assert op.weights is not None
    indices = np.ascontiguousarray(inputs[0].astype(np.int8)).view("<i4")[..., 0]
    return op.weights[indices]
