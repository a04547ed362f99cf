"""Parses element-wise operators with two operands, one of which may be broadcast or constant."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.codes import FloatFunction, FloatRange
from tflm_memopt.model.graph import ITEM_BYTES, Tensor
from tflm_memopt.ops import quant
from tflm_memopt.ops.constraints.base import quantization, values
from tflm_memopt.ops.context import OperatorContext, broadcast_rows
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.quant import Multiplier
from tflm_memopt.ops.rowop import Constant, RowOp, Rows

LEFT_SHIFTS = {
    "ADD": quant.ADD_LEFT_SHIFT,
    "SUB": quant.ADD_LEFT_SHIFT,
    "SQUARED_DIFFERENCE": quant.SQUARED_DIFFERENCE_LEFT_SHIFT,
}


def binary(context: OperatorContext) -> RowOp:
    name, wide = context.op.type, context.output.dtype == "INT16"
    a, b, out = (quantization(t) for t in (context.input(0), context.input(1), context.output))
    activation = context.op.options.get("fusedActivationFunction", "NONE")
    if wide:
        kind, param = Kind[f"{name}_S16"], quant.int16_activation(activation, out.scale[0])
        limits = quant.INT8_MIN, quant.INT8_MAX
    else:
        kind, param = Kind[name], LEFT_SHIFTS.get(name, 0)
        limits = quant.activation_range(activation, out.scale[0], out.zero_point[0])
    return replace(
        _function(context, kind, param),
        input_zero_points=(a.zero_point[0], b.zero_point[0]),
        output_zero_point=out.zero_point[0],
        activation=limits,
        **quant.scaling(_factors(name, wide, a.scale[0], b.scale[0], out.scale[0])),
    )


def _factors(name: str, wide: bool, a: float, b: float, out: float) -> tuple[Multiplier, ...]:
    match name:
        case "ADD" | "SUB":
            return quant.add(a, b, out, quant.INT16_ADD_LEFT_SHIFT if wide else quant.ADD_LEFT_SHIFT)
        case "MUL":  # CalculateOpDataMul (micro/kernels/mul_common.cc)
            return (quant.quantize_multiplier(a * b / out),)
        case "PRELU":  # CalculatePreluParams (micro/kernels/prelu_common.cc)
            return quant.rescale(a, out), quant.quantize_multiplier(a * b / out)
        case "SQUARED_DIFFERENCE":
            return quant.squared_difference(a, b, out)
    return ()


UNLIMITED = ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU", "FLOOR_DIV", "FLOOR_MOD")
DIVISIONS = ("DIV", "FLOOR_DIV", "FLOOR_MOD")


def binary_32(context: OperatorContext) -> RowOp:
    name = context.op.type
    if context.output.dtype == "INT32":
        return _function(context, Kind.BINARY_32, quant.float_form(FloatRange.FINITE, FloatFunction[f"{name}_S32"]))
    activation = context.op.options.get("fusedActivationFunction", "NONE")
    limits = FloatRange.ALL if name in UNLIMITED else quant.FLOAT_RANGES[activation]
    kind = Kind.BINARY_32 if name in DIVISIONS else Kind.ARITHMETIC_F32
    return _function(context, kind, quant.float_form(limits, FloatFunction[name]))


def comparison(context: OperatorContext) -> RowOp:
    """For float32 and int32, GREATER becomes LESS with exchanged operands."""
    if context.input().dtype == "INT8":
        return _scaled_comparison(context)
    name, suffix = context.op.type, "" if context.input().dtype == "FLOAT32" else "_S32"
    function = FloatFunction[name.replace("GREATER", "LESS") + suffix]
    order = (1, 0) if name.startswith("GREATER") else (0, 1)
    return _function(context, Kind.COMPARE_32, quant.float_form(FloatRange.FINITE, function), order)


WANTED: Mapping[str, int] = {"LESS": 1, "EQUAL": 2, "LESS_EQUAL": 3, "GREATER": 4, "NOT_EQUAL": 5, "GREATER_EQUAL": 6}
"""Each comparison has one bit for each case in which it is true: 1 for less, 2 for equal and 4 for greater."""


def _scaled_comparison(context: OperatorContext) -> RowOp:
    """Parse a comparison of int8, whose operands TFLM scales first (ComparisonWithScaling, reference/comparisons.h)."""
    scales = [quantization(context.input(k)) for k in range(2)]
    factors = (*(quant.quantize_multiplier(q.scale[0]) for q in scales), Multiplier(0, 0))  # a bool output has no scale
    zero_points = tuple(q.zero_point[0] for q in scales)
    op = _function(context, Kind.COMPARE, WANTED[context.op.type])
    return replace(op, input_zero_points=zero_points, **quant.scaling(factors))


def extreme(context: OperatorContext) -> RowOp:
    """Parse MAXIMUM and MINIMUM of int8 or int16, for which TFLM ignores scales and zero points."""
    suffix = "_S16" if context.output.dtype == "INT16" else ""
    return _function(context, Kind[context.op.type + suffix], 0)


def logical(context: OperatorContext) -> RowOp:
    """Parse LOGICAL_AND and LOGICAL_OR as minimum and maximum of two bytes that are 0 or 1."""
    return _function(context, Kind.MINIMUM if context.op.type == "LOGICAL_AND" else Kind.MAXIMUM, 0)


def _function(context: OperatorContext, kind: Kind, param: int, order: tuple[int, int] = (0, 1)) -> RowOp:
    reads, writes = _rows(context)
    read = [k for k in order if not context.input(k).constant]
    constant = None
    for at, k in enumerate(order):
        if k not in read:
            constant = Constant(at, reads[k], constant_rows(context.input(k), context.input(k).shape, reads[k]))
    return context.row_op(
        kind,
        operands=read,
        reads=tuple(reads[k] for k in read),
        writes=writes,
        input_zero_points=(0, 0),
        param=param,
        constant=constant,
    )


def float_leaky_relu(context: OperatorContext) -> RowOp:
    rows, alpha = context.producer_rows(), np.array([context.op.options["alpha"]], "<f4").view(np.int8)
    return context.row_op(
        Kind.ARITHMETIC_F32,
        reads=(rows,),
        writes=rows,
        input_zero_points=(0, 0),
        param=quant.float_form(FloatRange.ALL, FloatFunction.LEAKY_RELU),
        constant=Constant(1, Rows(1, 1, alpha.size), alpha.reshape(1, 1, -1)),
    )


def _rows(context: OperatorContext) -> tuple[tuple[Rows, Rows], Rows]:
    """Return the rows of both operands and of the output. An operand with the output's shape keeps the rows in which it
    was written.
    """
    shapes, item = [context.input(k).shape for k in range(2)], ITEM_BYTES[context.input().dtype]
    out, made = context.output.shape, ITEM_BYTES[context.output.dtype]
    for k in sorted(range(2), key=lambda k: shapes[k] != out):
        if not context.input(k).constant and (each := _beside(context, k)) is not None:
            rows = context.producer_rows(k)
            channels = rows.c // item if shapes[k] == out else out[-1]
            return (rows, each) if k == 0 else (each, rows), replace(rows, c=channels * made)
    a, b, whole = (broadcast_rows(shape, out) for shape in (*shapes, out))
    a, b = (replace(rows, c=rows.c * item) for rows in (a, b))
    return (a, b), replace(whole, c=whole.c * made)


def _beside(context: OperatorContext, k: int) -> Rows | None:
    own, other, out = context.input(k).shape, context.input(1 - k), context.output.shape
    rows, item = context.producer_rows(k), ITEM_BYTES[other.dtype]
    if own == out and other.shape == out:
        return rows
    if own == out and other.elements == 1:
        return Rows(1, 1, item)
    if len(own) != len(out) or own[:-1] != out[:-1] or rows.c != own[-1] * item or (own != out and rows.h == 1):
        return None
    if other.shape[:-1] == out[:-1]:
        return replace(rows, c=other.shape[-1] * item)
    return Rows(1, 1, out[-1] * item) if other.elements == out[-1] == other.shape[-1] else None


def constant_rows(tensor: Tensor, shape: tuple[int, ...], rows: Rows) -> NDArray[np.int8]:
    """Return a constant as rows of bytes, after the constant is broadcast to `shape`."""
    stored = np.ascontiguousarray(np.broadcast_to(values(tensor), shape), _STORED.get(tensor.dtype, "<i1"))
    return stored.reshape(-1).view(np.int8).reshape(rows.h, rows.w, rows.c)


_STORED = {"INT16": "<i2", "FLOAT32": "<f4", "INT32": "<i4"}
