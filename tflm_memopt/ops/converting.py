"""Parses QUANTIZE and DEQUANTIZE as row operators, which convert each element to another type.

A table of 256 bytes converts between int8 and uint8; other pairs of types have their own kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tflm_memopt.model.graph import Tensor
from tflm_memopt.ops import lookup, quant
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.kinds import KINDS, Kind
from tflm_memopt.ops.rowop import RowOp

Types = tuple[str, str]
"""Names of an element's types before and after the conversion."""

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
DEQUANTIZES: Mapping[Types, Kind] = {
    ("INT8", "FLOAT32"): Kind.DEQUANTIZE,
    ("INT16", "FLOAT32"): Kind.DEQUANTIZE_S16,
}
"""Conversions of TFLM's DEQUANTIZE (micro/kernels/dequantize.cc) that run row by row."""
INTEGER_BITS = {"INT8": 9, "INT16": 16}
"""Bits of an integer minus its zero point, including the sign."""


def is_table(types: Types) -> bool:
    """Return whether a table of bytes can convert these types."""
    return QUANTIZES.get(types) is Kind.LOOKUP


def converted(context: OperatorContext) -> RowOp:
    """Parse QUANTIZE or DEQUANTIZE."""
    source, target = context.input(), context.output
    types, reads = (source.dtype, target.dtype), context.producer_rows()
    kind = QUANTIZES.get(types) or DEQUANTIZES[types]
    op = RowOp(
        kind=kind,
        name=context.op.type,
        sources=context.op.stands_for,
        inputs=(context.storage(),),
        output=target.id,
        reads=(reads,),
        writes=replace(reads, c=reads.c // KINDS[kind].reads * KINDS[kind].writes),
        input_zero_points=(0 if kind is Kind.LOOKUP else _zero_point(source),),
        output_zero_point=0 if kind is Kind.LOOKUP else _zero_point(target),
    )
    if kind is Kind.LOOKUP:
        return replace(op, weights=lookup.requantized(source, target))
    if "FLOAT32" in types:
        return replace(op, param=quant.bits(_scale(target if source.dtype == "FLOAT32" else source)))
    ratio = quant.rescale(_scale(source), _scale(target))
    return replace(op, multipliers=np.array([ratio.value], np.int32), shifts=np.array([ratio.shift], np.int8))


def _scale(tensor: Tensor) -> float:
    if tensor.quantization is None:
        raise ValueError(f"tensor {tensor.id} is not quantized")
    return tensor.quantization.scale[0]


def _zero_point(tensor: Tensor) -> int:
    q = tensor.quantization
    return 0 if q is None or tensor.dtype == "FLOAT32" else q.zero_point[0]
