"""Computes the range of values that each channel can have for any int8 model input (interval analysis). The bounds of a
channel hold for all rows and pixels, including padding. Every operator is monotone in each value that it reads, so the
ends of an interval give the ends of the result's interval. An int32 that may wrap can have any value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops import fixed
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.quant import INT8_MAX, INT8_MIN
from tflm_memopt.ops.rowop import RowOp

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds of each channel of a tensor."""

    low: Ints
    high: Ints

    @property
    def constant(self) -> Bools:
        return np.equal(self.low, self.high)


def ranges(ops: Iterable[RowOp]) -> dict[TensorId, Range]:
    """Return the range of each operator's output. The argument `ops` has the operators in execution order. A tensor
    without a range may have any value.
    """
    known: dict[TensorId, Range] = {}
    for op in ops:
        transfer = _TRANSFER.get(op.kind)
        known[op.output] = transfer(op, inputs(op, known)) if transfer else _anything(op.writes.c)
    return known


def inputs(op: RowOp, known: Mapping[TensorId, Range]) -> tuple[Range, ...]:
    """Return the ranges of an operator's inputs. The rows that an operator reads from a state can have any value."""
    if op.older is not None:
        return tuple(_anything(rows.c) for rows in op.reads)
    return tuple(_seen(known.get(t), rows.c) for t, rows in zip(op.inputs, op.reads, strict=True))


def meets_padding(op: RowOp) -> bool:
    w, reads, writes = op.window, op.reads[0], op.writes
    bottom, right = w.rows.reach(writes.h) - w.pad_top, w.columns.reach(writes.w) - w.pad_left
    return w.pad_top > 0 or w.pad_left > 0 or bottom > reads.h or right > reads.w


def _seen(made: Range | None, channels: int) -> Range:
    if made is None:
        return _anything(channels)
    if len(made.low) == channels:
        return made
    return Range(np.full(channels, made.low.min()), np.full(channels, made.high.max()))


def _anything(channels: int) -> Range:
    return Range(np.full(channels, INT8_MIN, np.int64), np.full(channels, INT8_MAX, np.int64))


def _int32(low: Ints, high: Ints) -> Range:
    fits = (low >= fixed.INT32_MIN) & (high <= fixed.INT32_MAX)
    return Range(np.where(fits, low, fixed.INT32_MIN), np.where(fits, high, fixed.INT32_MAX))


def _rescaled(x: Range, multipliers: NDArray[np.int32] | np.int32, shifts: NDArray[np.int8] | np.int8) -> Range:
    """Return the range of the results of TFLM's MultiplyByQuantizedMultiplier, whose left shift may wrap."""
    left = np.maximum(np.asarray(shifts, np.int64), 0)
    shifted = _int32(x.low << left, x.high << left)
    return Range(*(fixed.rescale(end, multipliers, np.minimum(shifts, 0)) for end in (shifted.low, shifted.high)))


def _output(op: RowOp, x: Range) -> Range:
    sums = _int32(x.low + op.output_zero_point, x.high + op.output_zero_point)
    return Range(np.clip(sums.low, *op.activation), np.clip(sums.high, *op.activation))


def _requantized(op: RowOp, low: Ints, high: Ints) -> Range:
    return _output(op, _rescaled(_int32(low, high), *op.own_scales))


def _conv(op: RowOp, x: Sequence[Range]) -> Range:
    (low, high), (up, down) = _centred(op, x[0]), _signed_sums(op, (1, 2))
    return _biased(op, up @ low + down @ high, up @ high + down @ low)


def _depthwise(op: RowOp, x: Sequence[Range]) -> Range:
    times = op.writes.c // op.reads[0].c
    (low, high), (up, down) = _centred(op, x[0]), _signed_sums(op, (0, 1))
    low, high = np.repeat(low, times), np.repeat(high, times)
    return _biased(op, up * low + down * high, up * high + down * low)


def _centred(op: RowOp, x: Range) -> tuple[Ints, Ints]:
    """Return the range of inputs after the zero point is subtracted. Padding counts as 0."""
    low, high = x.low - op.input_zero_points[0], x.high - op.input_zero_points[0]
    return (np.minimum(low, 0), np.maximum(high, 0)) if meets_padding(op) else (low, high)


def _signed_sums(op: RowOp, taps: tuple[int, int]) -> tuple[Ints, Ints]:
    weights = op.own_weights.astype(np.int64)
    return np.maximum(weights, 0).sum(taps), np.minimum(weights, 0).sum(taps)


def _biased(op: RowOp, low: Ints, high: Ints) -> Range:
    bias = 0 if op.bias is None else op.bias.astype(np.int64)
    return _requantized(op, low + bias, high + bias)


def _operands(op: RowOp, x: Sequence[Range]) -> tuple[Range, Range]:
    known = list(x)
    if op.constant:
        values = op.constant.values.reshape(-1, op.constant.rows.c).astype(np.int64)
        known.insert(op.constant.position, Range(values.min(axis=0), values.max(axis=0)))
    a, b = (Range(*np.broadcast_arrays(r.low, r.high, np.zeros(op.writes.c))[:2]) for r in known)
    return a, b


def _add(op: RowOp, x: Sequence[Range]) -> Range:
    multipliers, shifts = op.own_scales
    a, b = (
        _rescaled(_int32((r.low - zero) << op.param, (r.high - zero) << op.param), multiplier, shift)
        for r, zero, multiplier, shift in zip(
            _operands(op, x), op.input_zero_points, multipliers[:2], shifts[:2], strict=True
        )
    )
    low, high = (a.low - b.high, a.high - b.low) if op.kind is Kind.SUB else (a.low + b.low, a.high + b.high)
    total = _int32(low, high)
    return _output(op, _rescaled(total, multipliers[2], shifts[2]))


def _mul(op: RowOp, x: Sequence[Range]) -> Range:
    a, b = ((r.low - zero, r.high - zero) for r, zero in zip(_operands(op, x), op.input_zero_points, strict=True))
    corners = [p * q for p in a for q in b]
    return _requantized(op, np.minimum.reduce(corners), np.maximum.reduce(corners))


def _extreme(op: RowOp, x: Sequence[Range]) -> Range:
    a, b = _operands(op, x)
    choose = np.maximum if op.kind is Kind.MAXIMUM else np.minimum
    return Range(choose(a.low, b.low), choose(a.high, b.high))


def _pool(op: RowOp, x: Sequence[Range]) -> Range:
    """The average or maximum of a window lies within the input's range, since padding does not count."""
    return Range(np.clip(x[0].low, *op.activation), np.clip(x[0].high, *op.activation))


def _mean(op: RowOp, x: Sequence[Range]) -> Range:
    count, zero = op.window.kernel_h * op.window.kernel_w, op.input_zero_points[0]
    return _requantized(op, count * (x[0].low - zero), count * (x[0].high - zero))


def _lookup(op: RowOp, x: Sequence[Range]) -> Range:
    values = op.own_weights.astype(np.int64)
    parts = [values[low - INT8_MIN : high - INT8_MIN + 1] for low, high in zip(x[0].low, x[0].high, strict=True)]
    return Range(np.array([part.min() for part in parts]), np.array([part.max() for part in parts]))


def _gather(op: RowOp, x: Sequence[Range]) -> Range:
    return Range(op.own_weights.min(axis=0).astype(np.int64), op.own_weights.max(axis=0).astype(np.int64))


_TRANSFER: Mapping[Kind, Callable[[RowOp, Sequence[Range]], Range]] = {
    Kind.CONV: _conv,
    Kind.DEPTHWISE: _depthwise,
    Kind.ADD: _add,
    Kind.SUB: _add,
    Kind.MUL: _mul,
    Kind.MAXIMUM: _extreme,
    Kind.MINIMUM: _extreme,
    Kind.AVERAGE_POOL: _pool,
    Kind.MAX_POOL: _pool,
    Kind.MEAN: _mean,
    Kind.LOOKUP: _lookup,
    Kind.GATHER: _gather,
}
