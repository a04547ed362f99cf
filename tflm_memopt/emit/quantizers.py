"""Writes C and C++ functions that convert between real and quantized values."""

import math
from collections.abc import Iterator, Mapping

from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.interface import format_of

C_TYPES: Mapping[str, str] = {
    "INT8": "int8_t", "UINT8": "uint8_t", "INT16": "int16_t", "UINT16": "uint16_t", "INT32": "int32_t",
    "UINT32": "uint32_t", "INT64": "int64_t", "UINT64": "uint64_t", "FLOAT32": "float", "FLOAT64": "double",
    "FLOAT16": "uint16_t", "BOOL": "uint8_t",
}  # fmt: skip
"""C types by element type of the tensor; a FLOAT16 element is a 16-bit integer, because C11 has no half-precision
type.
"""
LIMITS = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767)}


def quantizer(name: str, tensor: Tensor) -> Iterator[str]:
    if not (found := _scale(tensor)):
        return
    scale, zero = found
    low, high = LIMITS[tensor.dtype]
    kind = C_TYPES[tensor.dtype]
    lowest = f"({kind})({low})" if low < 0 else low
    yield "/* Converts a real value, as used in training, to an element of the input. */"
    yield f"static inline {kind} {name}_quantize(float real) {{"
    yield f"  const float x = real / {scale};"
    yield f"  if (!(x > {low - zero}.0f)) return {lowest};"
    yield f"  if (x >= {high - zero}.0f) return {high};"
    yield f"  return ({kind})((int)(x < 0 ? x - 0.5f : x + 0.5f) + {zero});"
    yield "}"


def dequantizer(name: str, tensor: Tensor) -> Iterator[str]:
    if not (found := _scale(tensor)):
        return
    scale, zero = found
    kind = C_TYPES[tensor.dtype]
    yield "/* Converts an element of the output to its real value. */"
    yield f"static inline float {name}_real({kind} value) {{ return {scale} * (float)(value - {zero}); }}"


def literal(value: float) -> str:
    """Return a number as a float constant of C.

    >>> literal(1.0), literal(0.00390625), literal(1e-12)
    ('1.0f', '0.00390625f', '1e-12f')
    """
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _scale(tensor: Tensor) -> tuple[str, int] | None:
    form = format_of(tensor)
    if tensor.dtype not in LIMITS or form.scale is None or form.zero_point is None:
        return None
    if not math.isfinite(form.scale) or form.scale <= 0:
        return None
    return literal(form.scale), form.zero_point
