"""Repeats TFLM's arithmetic of QUANTIZE and DEQUANTIZE between float32, uint8 and int8.

The option `--int8-io` removes QUANTIZE and DEQUANTIZE from a model, so `verify` computes the removed operators.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import InterfaceError, UsageError
from tflm_memopt.model.graph import short_name
from tflm_memopt.model.interface import Change, Format
from tflm_memopt.ops.fixed import rescale
from tflm_memopt.ops.quant import quantize_multiplier
from tflm_memopt.runtime.stimuli import Array

Int8 = NDArray[np.int8]
Conversion = Callable[[Array], Array]


def quantize(values: NDArray[np.float32], form: Format) -> Array:
    """Convert float32 to the format `form`: `round(v / scale) + zero point`, clamped. Raises UsageError for NaN.

    The division is in float32, and halves are rounded away from zero (AffineQuantize,
    kernels/internal/reference/quantize.h).
    """
    scale, zero_point = _affine(form)
    if np.isnan(values).any():
        raise UsageError("the values contain NaN", code="bad_data", hint="replace each NaN by a number")
    ratio = values.astype(np.float32) / np.float32(scale)
    rounded = np.trunc(ratio + np.copysign(np.float64(0.5), ratio))  # In float32, the sum could be rounded up.
    return _clamp(rounded + zero_point, form)


def dequantize(values: Array, form: Format) -> NDArray[np.float32]:
    """Convert quantized values to float32 by `scale * (q - zero point)`, computed in float64
    (kernels/internal/reference/dequantize.h).
    """
    scale, zero_point = _affine(form)
    real: NDArray[np.float64] = np.float64(scale) * (values.astype(np.int32) - zero_point)
    return real.astype(np.float32)


def requantize(values: Array, source: Format, target: Format) -> Array:
    """Convert 8-bit values from the format `source` to `target` (Requantize, kernels/internal/reference/requantize.h).

    As in TFLM, values are multiplied by the ratio of the scales, which is a Q31 multiplier and a shift. The product is
    rounded twice (MultiplyByQuantizedMultiplier, without TFLITE_SINGLE_ROUNDING). The conversion is exact if the scales
    are equal.
    """
    (scale, zero), (target_scale, target_zero) = _affine(source), _affine(target)
    multiplier, shift = quantize_multiplier(scale / target_scale)
    return _clamp(rescale(values.astype(np.int64) - zero, multiplier, shift) + target_zero, target)


def preimage(change: Change) -> Callable[[Int8], Array]:
    """Return a function that converts int8 inputs of the rewritten model to inputs of the original model.

    The QUANTIZE of the original model must turn the converted inputs back into the int8 values. All 256 values are
    checked with TFLM's arithmetic, and InterfaceError names the first value that fails.
    """
    before, after = change.before, change.after
    where = f"input {change.index} '{short_name(change.name)}'"
    if before.dtype not in ("FLOAT32", "UINT8"):
        what, hint = f"cannot convert {after} back to {before}", "optimize the original again, and verify these two"
        raise InterfaceError(what, where=where, hint=hint)
    scale, zero_point = _affine(after)

    def inverse(q: Int8) -> Array:
        steps = (q.astype(np.int32) - zero_point).astype(np.float32)
        values: Array = steps * np.float32(scale) if before.dtype == "FLOAT32" else q.view(np.uint8) ^ 0x80
        return values

    every = np.arange(-128, 128).astype(np.int8)
    back = between(before, after)(inverse(every))
    if not np.array_equal(back, every):
        value = int(every[back != every][0])
        raise InterfaceError(
            f"TFLM's QUANTIZE does not give back {value}: {before} -> {after} turns it into {int(back[value + 128])}",
            where=where,
            hint="verify a rewrite that keeps the original's inputs",
        )
    return inverse


def between(source: Format, target: Format) -> Conversion:
    if source.dtype == "FLOAT32":
        return partial(quantize, form=target)
    return (
        partial(dequantize, form=source)
        if target.dtype == "FLOAT32"
        else partial(requantize, source=source, target=target)
    )


def forward(change: Change) -> Conversion:
    return between(change.before, change.after)


def backward(change: Change) -> Conversion:
    return between(change.after, change.before)


def _clamp(values: Array, form: Format) -> Array:
    limits = np.iinfo(form.dtype.lower())
    clamped: Array = np.clip(values, limits.min, limits.max)
    return clamped.astype(limits.dtype)


def _affine(form: Format) -> tuple[float, int]:
    if form.scale is None or form.zero_point is None:
        raise InterfaceError(
            f"{form.dtype} without scale and zero point cannot be converted",
            where=f"metadata: {form}",
            hint="optimize the original again, and verify these two",
        )
    return form.scale, form.zero_point
