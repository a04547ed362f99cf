"""Constraints on QUANTIZE, DEQUANTIZE and CAST, whose output type differs from their input type."""

from tflm_memopt.format.limits import MAX_SHIFT
from tflm_memopt.ops import converting, lookup, quant
from tflm_memopt.ops.constraints.base import QUANTIZE, activations, hint, quantization, scale_fault
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.kinds import Kind


@hint(QUANTIZE)
def quantize_types(context: OperatorContext) -> str | None:
    """QUANTIZE must convert float32, int8 or int16 to int8 or int16, int8 to uint8, or uint8 to int8"""
    types = context.input().dtype, context.output.dtype
    return None if types in converting.QUANTIZES else f"{types[0]} to {types[1]}"


@hint(QUANTIZE)
def dequantize_types(context: OperatorContext) -> str | None:
    """DEQUANTIZE must convert int8 or int16 to float32"""
    types = context.input().dtype, context.output.dtype
    return None if types in converting.DEQUANTIZES else f"{types[0]} to {types[1]}"


@hint("cast to a smaller integer type, or to float32")
def cast_types(context: OperatorContext) -> str | None:
    """CAST must convert float32 to int32, or int8, int16, int32 or bool to int8, int16 or float32"""
    types = context.input().dtype, context.output.dtype
    return None if types in converting.CASTS or types in converting.LOWER_BYTES else f"{types[0]} to {types[1]}"


@hint(QUANTIZE)
def one_scale(context: OperatorContext) -> str | None:
    """Integers must have one positive scale and a zero point in the range of their type; int16 has zero point 0"""
    integers = (t for t in activations(context) if t.dtype != "FLOAT32")
    return next((fault for t in integers if (fault := scale_fault(t))), None)


@hint(QUANTIZE)
def rescalable(context: OperatorContext) -> str | None:
    """The scales of input and output must not differ so much that TFLM's rescaling overflows"""
    if context.input().dtype == "FLOAT32":
        return None
    if converting.QUANTIZES.get((context.input().dtype, context.output.dtype)) is Kind.LOOKUP:
        try:
            lookup.requantized(context.input(), context.output)
        except lookup.OutOfRange as why:
            return str(why)
        return None
    ratio = quant.rescale(quantization(context.input()).scale[0], quantization(context.output).scale[0])
    bits = converting.INTEGER_BITS[context.input().dtype]
    return None if ratio.shift <= MAX_SHIFT - bits else f"a rescaling by 2^{ratio.shift}"
