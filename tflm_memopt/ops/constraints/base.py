"""What a constraint is: a function whose docstring is the message that users read.

It returns None when it holds, else the detail: which tensor or field, and its value. Those of a row of opset.OPSET are
asked in order, so each may rely on the ones before it.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable

from tflm_memopt.model.graph import Quantization, Tensor
from tflm_memopt.ops import quant
from tflm_memopt.ops.context import OperatorContext

Constraint = Callable[[OperatorContext], str | None]

QUANTIZE = "full-integer quantization: tf.lite.Optimize.DEFAULT, a representative_dataset and TFLITE_BUILTINS_INT8"
RECONVERT = "convert again with a current TensorFlow Lite converter"
FREEZE = "fix the input shape and freeze the weights before the conversion"

HINTS: dict[Constraint, str] = {}
"""What a user can do about it."""


def hint(text: str) -> Callable[[Constraint], Constraint]:
    def register(constraint: Constraint) -> Constraint:
        HINTS[constraint] = text
        return constraint

    return register


def message(constraint: Callable[..., str | None]) -> str:
    """The docstring of a constraint. `python -OO` drops docstrings: then it is read from the source file."""
    if constraint.__doc__ is None:
        function = ast.parse(textwrap.dedent(inspect.getsource(constraint))).body[0]
        return ast.get_docstring(function) or "" if isinstance(function, ast.FunctionDef) else ""
    return constraint.__doc__


def name(tensor: Tensor) -> str:
    return f"tensor {tensor.id} '{tensor.label}'"


def activations(context: OperatorContext) -> tuple[Tensor, ...]:
    """What is read and written at run time."""
    return (*context.activations, context.output)


def quantization(tensor: Tensor) -> Quantization:
    """The tensor's quantization, which `quantized` has proved to be there."""
    if tensor.quantization is None:
        raise ValueError(f"{name(tensor)} is not quantized")
    return tensor.quantization


def scale_fault(tensor: Tensor) -> str | None:
    q = tensor.quantization
    if q is None:
        return f"{name(tensor)} has no scale"
    if len(q.scale) != 1:
        return f"{name(tensor)} has {len(q.scale)} scales"
    least, most = (0, 255) if tensor.dtype == "UINT8" else (quant.INT8_MIN, quant.INT8_MAX)
    if not is_scale(q.scale[0]) or not least <= q.zero_point[0] <= most:
        return f"{name(tensor)} has scale {q.scale[0]:g}, zero point {q.zero_point[0]}"
    return None


def two_scales(context: OperatorContext) -> str:
    """Scales and zero points of input and output, for people."""
    a, b = quantization(context.input()), quantization(context.output)
    return f"scales {a.scale[0]:g} and {b.scale[0]:g}, zero points {a.zero_point[0]} and {b.zero_point[0]}"


def is_scale(value: float) -> bool:
    return math.isfinite(value) and value > 0
