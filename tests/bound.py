"""Binds the kernel description of each operator to a RowOp: its extents, numbers and arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.kernels.descriptions.activations import lookup, softmax
from tflm_memopt.kernels.descriptions.curves import curve_s16, softmax_s16
from tflm_memopt.kernels.descriptions.elementwise import add, dequantize, quantize
from tflm_memopt.kernels.descriptions.rows import batch_matmul, batch_matmul_s16, gather
from tflm_memopt.kernels.descriptions.windows import (
    average_pool,
    average_pool_s16,
    conv,
    depthwise,
    max_pool,
    max_pool_s16,
    mean,
    mean_s16,
    transpose_conv,
)
from tflm_memopt.kernels.language import KernelProgram
from tflm_memopt.ops.rowop import RowOp

KernelArguments: TypeAlias = tuple[dict[str, int], dict[str, NDArray[Any]]]
"""Extents and parameters, and the arrays in the description's own layout."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A description, and the function that turns an operator's numbers into its arguments."""

    kernel: KernelProgram
    inputs: tuple[str, ...]
    """Names of the tensors that hold the whole operands, in NHWC."""
    give: Callable[[RowOp], KernelArguments]


def _window(op: RowOp) -> dict[str, int]:
    read, written, w = op.reads[0], op.writes, op.window
    wide = op.element_bytes == 2
    low, high = (np.array([op.param], "<i4").view("<i2").tolist()) if wide else op.activation
    return {
        "height": read.h, "width": read.w, "channels": read.c // op.element_bytes,
        "out_h": written.h, "out_w": written.w,
        "kernel_h": w.kernel_h, "kernel_w": w.kernel_w, "stride_h": w.stride_h, "stride_w": w.stride_w,
        "pad_top": w.pad_top, "pad_left": w.pad_left, "dilation_h": w.dilation_h, "dilation_w": w.dilation_w,
        "low": low, "high": high,
    }  # fmt: skip


def _weighted(op: RowOp) -> KernelArguments:
    multipliers, shifts = _scales(op)
    values = _window(op) | {
        "filters": op.writes.c, "zero_in": op.input_zero_points[0], "zero_out": op.output_zero_point,
        "scale_step": int(len(multipliers) > 1),
    }  # fmt: skip
    bias = np.zeros(op.writes.c, np.int32) if op.bias is None else op.bias
    weights = np.zeros(0, np.int8) if op.weights is None else op.weights
    return values, {"w": weights, "bias": bias, "multipliers": multipliers, "shifts": shifts}


def _mean(op: RowOp) -> KernelArguments:
    multipliers, shifts = _scales(op)
    values = {"zero_in": op.input_zero_points[0], "zero_out": op.output_zero_point}
    return _window(op) | values | {"multiplier": int(multipliers[0]), "shift": int(shifts[0])}, {}


def _add(op: RowOp) -> KernelArguments:
    multipliers, shifts = _scales(op)
    names = ("a", "b", "out")
    zeros = (*op.input_zero_points, op.output_zero_point)
    values = {"n": op.writes.h * op.writes.w * op.writes.c, "low": op.activation[0], "high": op.activation[1]}
    for name, zero, multiplier, shift in zip(names, zeros, multipliers, shifts, strict=True):
        values |= {f"zero_{name}": zero, f"scale_{name}": int(multiplier), f"right_{name}": -int(shift)}
    return values, {}


def _scales(op: RowOp) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    none = np.zeros(0, np.int32), np.zeros(0, np.int8)
    return none if op.multipliers is None or op.shifts is None else (op.multipliers, op.shifts)


def _softmax(op: RowOp) -> KernelArguments:
    multipliers, shifts = _scales(op)
    rows, channels = op.writes.h * op.writes.w, op.writes.c // op.element_bytes
    numbers = {"multiplier": int(multipliers[0]), "shift": int(shifts[0]), "diff_min": op.param}
    return {"rows": rows, "channels": channels, **numbers}, {}


def _lookup(op: RowOp) -> KernelArguments:
    return {"n": op.writes.h * op.writes.w * op.writes.c}, _table(op)


def _table(op: RowOp) -> dict[str, NDArray[Any]]:
    return {"table": np.zeros(0, np.int8) if op.weights is None else op.weights}


def _gather(op: RowOp) -> KernelArguments:
    return {"pixels": op.writes.h * op.writes.w, "rows": op.param, "channels": op.writes.c}, _table(op)


def _converted(op: RowOp) -> KernelArguments:
    zeros = {"zero_x": op.input_zero_points[0], "zero_out": op.output_zero_point}
    return {"n": op.reads[0].nbytes // op.traits.reads, "scale": op.param} | zeros, {}


def _curve(op: RowOp) -> KernelArguments:
    multipliers, shifts = _scales(op)
    bits, right, centre = (8, 8, 0) if op.param else (9, 10, 1 << 24)
    scale = {"multiplier": int(multipliers[0]), "shift": int(shifts[0])}
    return {"n": op.writes.nbytes // 2, "bits": bits, "right": right, "centre": centre} | scale, {}


def _batch_matmul(op: RowOp) -> KernelArguments:
    """Return the arguments for the product of two matrices."""
    multipliers, shifts = _scales(op)
    zeros = dict(zip(("zero_left", "zero_right"), op.input_zero_points, strict=True))
    return {
        "rows": op.writes.h, "depth": op.reads[0].c // op.element_bytes, "columns": op.writes.c // op.element_bytes,
        "down": 1 - op.param, "across": op.param,
        "zero_out": op.output_zero_point, "multiplier": int(multipliers[0]), "shift": int(shifts[0]),
    } | zeros, {}  # fmt: skip


BOUND = (
    Bound(conv, ("x",), _weighted),
    Bound(depthwise, ("x",), _weighted),
    Bound(max_pool, ("x",), lambda op: (_window(op), {})),
    Bound(average_pool, ("x",), lambda op: (_window(op), {})),
    Bound(mean, ("x",), _mean),
    Bound(max_pool_s16, ("x",), lambda op: (_window(op), {})),
    Bound(average_pool_s16, ("x",), lambda op: (_window(op), {})),
    Bound(mean_s16, ("x",), _mean),
    Bound(softmax, ("x",), _softmax),
    Bound(softmax_s16, ("x",), _softmax),
    Bound(curve_s16, ("x",), _curve),
    Bound(lookup, ("x",), _lookup),
    Bound(add, ("x", "other"), _add),
    Bound(transpose_conv, ("x",), _weighted),
    Bound(batch_matmul, ("left", "right"), _batch_matmul),
    Bound(batch_matmul_s16, ("left", "right"), _batch_matmul),
    Bound(gather, ("index",), _gather),
    Bound(quantize, ("x",), _converted),
    Bound(dequantize, ("x",), _converted),
)
"""Descriptions by the names of their kinds. They require that depthwise layers have as many output as input channels,
that both operands of ADD have the same shape, and that each operand of BATCH_MATMUL is one matrix.
"""


def bound_of(op: RowOp) -> Bound | None:
    """Return the description of an operator's kind, or None."""
    return next((bound for bound in BOUND if bound.kernel.name == op.kind.name.lower()), None)
