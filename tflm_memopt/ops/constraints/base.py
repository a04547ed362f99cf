"""A constraint on an operator is a function whose docstring is the message to users. A constraint returns None for an
operator that fulfils the constraint, and otherwise a text that names the wrong tensor or field and its value.
`opset.OPSET` lists the constraints of each operator type in the order of checking, so a constraint may rely on earlier
constraints. No constraint compares an output's shape with the inputs, because models with wrong shapes are not
rewritten (`tflm/shapes.py`).
"""

import ast
import inspect
import math
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import NDArray

from tflm_memopt.model.graph import Quantization, Tensor
from tflm_memopt.ops import quant
from tflm_memopt.ops.context import OperatorContext

Constraint = Callable[[OperatorContext], str | None]

QUANTIZE = "full-integer quantization: tf.lite.Optimize.DEFAULT, a representative_dataset and TFLITE_BUILTINS_INT8"
RECONVERT = "convert again with a current TensorFlow Lite converter"
FREEZE = "fix the input shape and freeze the weights before the conversion"

HINTS: defaultdict[Constraint, str] = defaultdict(lambda: RECONVERT)
"""Advice to the user for each constraint. The default advice is to convert the model again."""


def hint(text: str) -> Callable[[Constraint], Constraint]:
    def register(constraint: Constraint) -> Constraint:
        HINTS[constraint] = text
        return constraint

    return register


def message(constraint: Callable[..., str | None]) -> str:
    """Return a constraint's docstring, which is read from the source file under `python -OO`."""
    if constraint.__doc__ is None:
        function = ast.parse(textwrap.dedent(inspect.getsource(constraint))).body[0]
        text = ast.get_docstring(function) if isinstance(function, ast.FunctionDef) else ""
    else:
        text = constraint.__doc__
    return " ".join((text or "").split())


def name(tensor: Tensor) -> str:
    return f"tensor {tensor.id} '{tensor.label}'"


def shapes(tensors: Iterable[Tensor]) -> str | None:
    """Return the name and the shape of the first tensor as text, or None if there are no tensors."""
    return next((f"{name(t)} has shape {list(t.shape)}" for t in tensors), None)


def activations(context: OperatorContext) -> tuple[Tensor, ...]:
    """Return the tensors that the operator reads and writes at run time."""
    return (*context.activations, context.output)


def quantization(tensor: Tensor) -> Quantization:
    if tensor.quantization is None:
        raise ValueError(f"{name(tensor)} is not quantized")
    return tensor.quantization


def zero_point(tensor: Tensor) -> int:
    """Return the tensor's only zero point, or 0 for a float32 tensor."""
    return 0 if tensor.dtype == "FLOAT32" else quantization(tensor).zero_point[0]


def values(tensor: Tensor) -> NDArray[Any]:
    if tensor.data is None:
        raise ValueError(f"{name(tensor)} is not a constant")
    return tensor.data


def scale_fault(tensor: Tensor) -> str | None:
    q = tensor.quantization
    if q is None:
        return f"{name(tensor)} has no scale"
    if len(q.scale) != 1:
        return f"{name(tensor)} has {len(q.scale)} scales"
    least, most = {"UINT8": (0, 255), "INT16": (0, 0)}.get(tensor.dtype, (quant.INT8_MIN, quant.INT8_MAX))
    if not is_scale(q.scale[0]) or not least <= q.zero_point[0] <= most:
        return f"{name(tensor)} has scale {q.scale[0]:g}, zero point {q.zero_point[0]}"
    return None


def two_scales(context: OperatorContext) -> str:
    a, b = quantization(context.input()), quantization(context.output)
    return f"scales {a.scale[0]:g} and {b.scale[0]:g}, zero points {a.zero_point[0]} and {b.zero_point[0]}"


def is_scale(value: float) -> bool:
    return math.isfinite(value) and value > 0
