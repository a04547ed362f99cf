"""Parses QUANTIZE, DEQUANTIZE and CAST, which convert each element to another type. Conversions between int8 and uint8
use a table of 256 bytes. All other conversions run in kernels of their own.
"""

from collections.abc import Mapping
from dataclasses import replace

from tflm_memopt.format.codes import FloatFunction, FloatRange
from tflm_memopt.model.graph import ITEM_BYTES
from tflm_memopt.ops import lookup, movement, quant
from tflm_memopt.ops.constraints.base import quantization, zero_point
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.kinds import Kind, traits
from tflm_memopt.ops.rowop import RowOp

Types = tuple[str, str]

QUANTIZES: Mapping[Types, Kind] = {
    ("FLOAT32", "INT8"): Kind.QUANTIZE,
    ("FLOAT32", "INT16"): Kind.QUANTIZE_S16,
    ("INT8", "INT8"): Kind.LOOKUP,
    ("INT8", "UINT8"): Kind.LOOKUP,
    ("UINT8", "INT8"): Kind.LOOKUP,
    ("INT8", "INT16"): Kind.WIDEN,
    ("INT16", "INT8"): Kind.NARROW,
    ("INT16", "INT16"): Kind.RESCALE_S16,
}
"""Conversions of TFLM's QUANTIZE (micro/kernels/quantize_common.cc) that run row by row."""
DEQUANTIZES: Mapping[Types, Kind] = {("INT8", "FLOAT32"): Kind.DEQUANTIZE, ("INT16", "FLOAT32"): Kind.DEQUANTIZE_S16}
"""Conversions of TFLM's DEQUANTIZE (micro/kernels/dequantize.cc) that run row by row."""
CASTS: Mapping[Types, Kind] = {
    ("INT8", "FLOAT32"): Kind.DEQUANTIZE,
    ("INT16", "FLOAT32"): Kind.DEQUANTIZE_S16,
    ("INT8", "INT16"): Kind.WIDEN,
    ("BOOL", "FLOAT32"): Kind.DEQUANTIZE,
    ("BOOL", "INT16"): Kind.WIDEN,
    ("INT32", "FLOAT32"): Kind.CURVE_F32,
    ("FLOAT32", "INT32"): Kind.CURVE_F32,
}
"""Maps each pair of types to the kernel that computes CAST (micro/kernels/cast.cc). All kernels of CAST apart from
CURVE_F32 use scale 1 and zero point 0.
"""
LOWER_BYTES = (("INT16", "INT8"), ("INT32", "INT8"), ("INT32", "INT16"), ("BOOL", "INT8"))
"""Pairs of types for which CAST copies the lower bytes, or all bytes, of each element."""
INTEGER_BITS = {"INT8": 9, "INT16": 16}
"""Maps a type to the number of bits, including the sign, that an integer minus its zero point needs."""


def converted(context: OperatorContext) -> RowOp:
    source, target = context.input(), context.output
    types = source.dtype, target.dtype
    kind = QUANTIZES.get(types) or DEQUANTIZES[types]
    if kind is Kind.LOOKUP:
        return replace(_conversion(context, kind), weights=lookup.requantized(source, target))
    op = _conversion(context, kind, zero_point(source), zero_point(target))
    if "FLOAT32" in types:
        return replace(op, param=quant.bits(quantization(target if source.dtype == "FLOAT32" else source).scale[0]))
    return _rescaled(op, quantization(source).scale[0], quantization(target).scale[0])


def cast(context: OperatorContext) -> RowOp:
    source, target = context.input().dtype, context.output.dtype
    if (source, target) in LOWER_BYTES:
        return movement.lower_bytes(context, ITEM_BYTES[source], ITEM_BYTES[target])
    op = _conversion(context, CASTS[source, target])
    if op.kind is Kind.CURVE_F32:
        function = FloatFunction.TO_FLOAT if target == "FLOAT32" else FloatFunction.TO_INTEGER
        return replace(op, param=quant.float_form(FloatRange.FINITE, function))
    return replace(op, param=quant.bits(1.0)) if target == "FLOAT32" else _rescaled(op, 1.0, 1.0)


def _conversion(context: OperatorContext, kind: Kind, before: int = 0, after: int = 0) -> RowOp:
    reads = context.producer_rows()
    return context.row_op(
        kind,
        reads=(reads,),
        writes=replace(reads, c=reads.c // traits(kind).reads * traits(kind).writes),
        input_zero_points=(before,),
        output_zero_point=after,
    )


def _rescaled(op: RowOp, before: float, after: float) -> RowOp:
    return replace(op, **quant.scaling([quant.rescale(before, after)]))
