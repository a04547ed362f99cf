"""Defines SUMS and ADD_SUMS, the two operators of a layer whose input channels are divided among devices.

With SUMS, each device computes partial sums of the output from its input channels. Each device that needs the output
receives the partial sums, and adds and rescales them with ADD_SUMS. A partial sum is signed and little-endian, with as
many bytes as its bounds require. A tensor of partial sums is int8, with one channel for each byte of a sum.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflm_memopt.format.limits import MAX_INPUTS, MAX_SUM_BYTES
from tflm_memopt.model.graph import Op, Tensor, TensorId
from tflm_memopt.ops.constraints import limits
from tflm_memopt.ops.context import EXPLICIT_PADDING, OperatorContext
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.parse import slide
from tflm_memopt.ops.rowop import Access, RowOp, Rows, Window

SUMS, ADD_SUMS = "TMO_SUMS", "TMO_ADD_SUMS"
_BITS = 4
"""Number of bits that the field `param` of ADD_SUMS has for the size of one tensor's sums (tmo_sum_bytes())."""
_WINDOW = ("strideH", "strideW", "dilationHFactor", "dilationWFactor")
_SUMS = struct.Struct("<B8H")
_ADD_SUMS = struct.Struct("<Bibbb")


def bytes_of(low: int, high: int) -> int:
    """Return how many bytes a signed integer needs for all values from `low` to `high`, but at most 4.

    >>> bytes_of(-128, 127), bytes_of(-129, 0), bytes_of(0, 2**23), bytes_of(0, 2**40)
    (1, 2, 4, 4)
    """
    return min(MAX_SUM_BYTES, max(-low - 1, high, 0).bit_length() // 8 + 1)


def sums_options(op: Op, margins: Sequence[int], nbytes: int) -> bytes:
    """Return the custom options of SUMS. The argument `margins` has the padding of the input at the top, bottom, left
    and right.
    """
    return _SUMS.pack(nbytes, *(int(op.options.get(name, 1)) for name in _WINDOW), *margins)


def add_options(
    operands: Sequence[int], made: int, zero_point: int = 0, limits: tuple[int, int] = (-128, 127)
) -> bytes:
    """Return the custom options of ADD_SUMS. In operand k, each sum takes `operands[k]` bytes, and in the output, each
    sum takes `made` bytes. If the argument `made` is 0, the output has rescaled int8 values and no sums.
    """
    param = _param((*operands, *[0] * (MAX_INPUTS - len(operands)), made))
    return _ADD_SUMS.pack(len(operands), param, zero_point, *limits)


def weights_of(op: Op) -> tuple[TensorId, ...]:
    """Return the filter of SUMS or the bias of ADD_SUMS as a tuple, or () for any other operator."""
    code = op.options.get("custom_code")
    if code == SUMS:
        return op.inputs[1:]
    return op.inputs[op.options["custom_options"][0] + 2 :] if code == ADD_SUMS else ()


def _param(nbytes: Sequence[int]) -> int:
    return sum(n << _BITS * k for k, n in enumerate(nbytes))


def _bytes(param: int) -> list[int]:
    return [param >> _BITS * k & (1 << _BITS) - 1 for k in range(MAX_INPUTS + 1)]


def bytes_made(param: int) -> int:
    """Return the size in bytes of a sum that ADD_SUMS outputs, or 0 if ADD_SUMS rescales its output."""
    return _bytes(param)[MAX_INPUTS]


def partial(context: OperatorContext) -> RowOp | None:
    """Return SUMS or ADD_SUMS as a RowOp, or None for another operator, invalid options, or an operator beyond the
    executor's limits.
    """
    said, code, op = context.op.options.get("custom_options", b""), context.op.options.get("custom_code", ""), None
    if code == SUMS and len(said) == _SUMS.size and len(context.op.inputs) == 2:
        op = _sums(context, *_SUMS.unpack(said))
    if code == ADD_SUMS and len(said) == _ADD_SUMS.size:
        op = _add_sums(context, *_ADD_SUMS.unpack(said))
    return replace(op, name=code) if op and limits.executable(op) is None else None


def _sums(context: OperatorContext, nbytes: int, *numbers: int) -> RowOp | None:
    x, weights, made = context.input(0), context.input(1).data, context.output
    if weights is None or weights.ndim != 4 or weights.dtype != np.int8 or x.quantization is None:
        return None
    strides, margins = numbers[: len(_WINDOW)], numbers[len(_WINDOW) :]
    if not _int8(x, made) or x.shape[-1] != weights.shape[3] or made.shape[-1] != nbytes * len(weights) or 0 in strides:
        return None
    if {*weights.shape[1:3], *strides} == {1} and not any(margins):
        reads = context.producer_rows()
        reads = reads if reads.c == x.shape[-1] else Rows(x.elements // x.shape[-1], 1, x.shape[-1])
        window, rows = Window(), reads
    elif len(x.shape) == len(made.shape) == 4:
        options = {**dict(zip(_WINDOW, strides, strict=True)), EXPLICIT_PADDING: margins}
        context = replace(context, op=replace(context.op, options=options))
        if tuple(span.output for span in context.spans()) != made.shape[1:3]:
            return None
        window, reads, rows, swapped = slide(context)
        weights = weights.transpose(0, 2, 1, 3) if swapped else weights
    else:
        return None
    if rows.h * rows.w * made.shape[-1] != made.elements:
        return None
    return context.row_op(
        Kind.SUMS,
        reads=(reads,),
        writes=replace(rows, c=made.shape[-1]),
        input_zero_points=(x.quantization.zero_point[0],),
        window=window,
        weights=np.ascontiguousarray(weights),
        param=nbytes,
        macs=rows.h * rows.w * math.prod(weights.shape),
    )


def _add_sums(context: OperatorContext, parts: int, param: int, zero_point: int, low: int, high: int) -> RowOp | None:
    """Return the operator ADD_SUMS, which reads the rows that other devices sent. A tensor of height 1 has one row."""
    *nbytes, made = _bytes(param)
    if not 2 <= parts <= min(MAX_INPUTS, len(context.op.inputs)) or not all(nbytes[:parts]):
        return None
    tensors = [context.input(k) for k in range(len(context.op.inputs))]
    operands, constants = tensors[:parts], tensors[parts:]
    values = context.output.elements // (made or 1)
    rows = min(map(context.producer_rows, range(parts)), key=lambda r: r.h)
    sizes = [n * values for n in nbytes[:parts]]
    if not _int8(*operands, context.output) or [t.elements for t in operands] != sizes:
        return None
    channels = context.output.shape[-1] // (made or 1)
    if len(constants) not in ((0,) if made else (2, 3)) or values % (rows.h * channels):
        return None
    if any(t.data is None or t.data.shape not in ((channels,), (1,)) for t in constants):
        return None
    multipliers, shifts, bias = ([t.data for t in constants] + 3 * [None])[:3]
    seen = Rows(rows.h, values // (rows.h * channels), channels)
    return context.row_op(
        Kind.ADD_SUMS,
        reads=tuple(replace(seen, c=channels * n) for n in nbytes[:parts]),
        writes=replace(seen, c=context.output.shape[-1]),
        output_zero_point=zero_point,
        activation=(low, high),
        bias=bias,
        multipliers=multipliers,
        shifts=shifts,
        param=param,
        access=(Access(),) * parts,
    )


def _int8(*tensors: Tensor) -> bool:
    return all(t.dtype == "INT8" and t.shape and min(t.shape) > 0 for t in tensors)
