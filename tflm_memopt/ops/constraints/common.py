"""Constraints on operands, options, types, shapes and quantization, for all families of operators."""

from tflm_memopt.model.graph import ABSENT
from tflm_memopt.ops import quant
from tflm_memopt.ops.constraints.base import (
    FREEZE,
    QUANTIZE,
    RECONVERT,
    Constraint,
    activations,
    hint,
    name,
    quantization,
    scale_fault,
    shapes,
    two_scales,
)
from tflm_memopt.ops.context import EVERY_OPERAND, VARIABLES, OperatorContext, natural_rows
from tflm_memopt.ops.custom import CUSTOM_OPERATORS


def operands(*, least: int, most: int) -> Constraint:
    def count_of_operands(context: OperatorContext) -> str | None:
        """An operator must have as many operands as its kernel expects"""
        stated = len(context.op.inputs)
        needed = max(least, stated if context.op.type in EVERY_OPERAND else 0)
        given = [k for k in range(stated) if context.tensor(k) is not None]
        complete = given[:needed] == list(range(needed)) and stated <= most and len(context.op.outputs) == 1
        return None if complete else f"{len(given)} inputs, {len(context.op.outputs)} outputs"

    return count_of_operands


@hint("describe that form as well")
def own_operands(context: OperatorContext) -> str | None:
    """A custom operator must have exactly the operands that its description reads"""
    least = CUSTOM_OPERATORS[context.op.type].operands
    given, outputs = sum(context.tensor(k) is not None for k in range(least)), len(context.op.outputs)
    return None if given == least and outputs == 1 else f"{given} inputs, {outputs} outputs"


def options(*names: str) -> Constraint:
    def complete_options(context: OperatorContext) -> str | None:
        """An operator must have the options of its type"""
        missing = [n for n in names if n not in context.op.options]
        return f"{', '.join(missing)} not given" if missing else None

    return complete_options


@hint(FREEZE)
def static_shapes(context: OperatorContext) -> str | None:
    """Shapes must be known before run time"""
    return shapes(t for t in activations(context) if t.dynamic or min(t.shape, default=0) < 1)


def only(dtype: str, code: str, what_to_do: str = QUANTIZE) -> Constraint:
    """Return a constraint named `code`, which requires the type `dtype` for all inputs and outputs of an operator."""

    def one_type(context: OperatorContext) -> str | None:
        return next((f"{name(t)} is {t.dtype}" for t in activations(context) if t.dtype != dtype), None)

    one_type.__name__, one_type.__doc__ = code, f"Inputs and outputs must be {dtype.lower()}"
    return hint(what_to_do)(one_type)


int8_activations = only("INT8", "int8_activations")
int32_activations = only("INT32", "int32_activations")
float_activations = only("FLOAT32", "float_activations")
bools = only("BOOL", "bools", RECONVERT)


@hint(QUANTIZE)
def int8_or_int16(context: OperatorContext) -> str | None:
    """Inputs and outputs must be int8, or int16 with zero point 0"""
    types = {t.dtype for t in activations(context)}
    if types != {"INT16"}:
        return int8_activations(context)
    shifted = (t for t in activations(context) if t.quantization and t.quantization.zero_point[0] != 0)
    return next((f"{name(t)} has zero point {quantization(t).zero_point[0]}" for t in shifted), None)


@hint(QUANTIZE)
def moved_types(context: OperatorContext) -> str | None:
    """Inputs and outputs must be int8, float32, int32 or bool, or int16 with zero point 0"""
    types = {t.dtype for t in activations(context)}
    return None if len(types) == 1 and types <= {"FLOAT32", "INT32", "BOOL"} else int8_or_int16(context)


@hint(QUANTIZE)
def byte_or_float(context: OperatorContext) -> str | None:
    """Inputs and outputs must be int8 or float32"""
    types = {t.dtype for t in activations(context)}
    return None if types == {"FLOAT32"} else int8_activations(context)


@hint(QUANTIZE)
def quantized(context: OperatorContext) -> str | None:
    """Inputs and outputs must have one positive scale and a zero point in [-128, 127]"""
    return next((fault for t in activations(context) if (fault := scale_fault(t))), None)


@hint("evaluate the operator before the conversion")
def runtime_values(context: OperatorContext) -> str | None:
    """Inputs must not be constants"""
    return next((f"{name(t)} is a constant" for t in activations(context) if t.constant), None)


@hint("pass the state in and out as an input and an output of the model")
def stateless(context: OperatorContext) -> str | None:
    """Tensors must not keep state between inferences"""
    own = {context.op.inputs[k] for k in VARIABLES.get(context.op.type, ())}
    tensors = (
        context.graph.tensors[t] for t in (*context.op.inputs, *context.op.outputs) if t != ABSENT and t not in own
    )
    return next((f"{name(t)} is a variable" for t in tensors if t.variable), None)


@hint("convert with batch size 1")
def batch_one(context: OperatorContext) -> str | None:
    """The batch size must be 1"""
    return shapes(t for t in activations(context) if natural_rows(t.shape) is None)


@hint("convert with batch size 1, from two-dimensional layers (Conv2D, not Conv3D)")
def rank_four(context: OperatorContext) -> str | None:
    """Input and output must have four dimensions, the first of them 1"""
    return shapes(t for t in activations(context) if len(t.shape) != 4 or t.shape[0] != 1)


def same_shape(context: OperatorContext) -> str | None:
    """Inputs and output must have the same shape"""
    found = [t.shape for t in activations(context)]
    return None if all(s == found[0] for s in found) else " and ".join(str(list(s)) for s in found)


@hint(QUANTIZE)
def same_quantization(context: OperatorContext) -> str | None:
    """Input and output must have the same scale and zero point"""
    a, b = quantization(context.input()), quantization(context.output)
    same = (a.scale[0], a.zero_point[0]) == (b.scale[0], b.zero_point[0])
    return None if same else two_scales(context)


@hint("use NONE, RELU, RELU6 or RELU_N1_TO_1")
def fused_activation(context: OperatorContext) -> str | None:
    """The fused activation must be NONE, RELU, RELU6 or RELU_N1_TO_1"""
    activation = str(context.op.options.get("fusedActivationFunction"))
    is_float = context.output.dtype == "FLOAT32"
    if activation not in (quant.FLOAT_RANGES if is_float else quant.BOUNDS):
        return f"it is {activation}"
    if is_float:
        return None
    scale = quantization(context.output).scale[0]
    if quant.bounds_fit(activation, scale):
        return None
    return f"scale {scale:g} of {name(context.output)} is too small"


@hint("use NONE")
def no_activation(context: OperatorContext) -> str | None:
    """An operator of int32 must have no fused activation"""
    activation = context.op.options.get("fusedActivationFunction")
    return None if activation == "NONE" else f"it is {activation}"
