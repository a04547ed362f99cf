"""Constraints of operators of every family: operands, options, types, shapes, quantization."""

from __future__ import annotations

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
    two_scales,
)
from tflm_memopt.ops.described import DESCRIBED
from tflm_memopt.ops.site import EVERY_OPERAND, VARIABLES, Site, natural_rows


def operands(*, least: int, most: int) -> Constraint:
    def count_of_operands(site: Site) -> str | None:
        """It must have as many operands as its kernel expects"""
        stated = len(site.op.inputs)
        needed = max(least, stated if site.op.type in EVERY_OPERAND else 0)
        given = [k for k in range(stated) if site.tensor(k) is not None]
        complete = given[:needed] == list(range(needed)) and stated <= most and len(site.op.outputs) == 1
        return None if complete else f"{len(given)} inputs, {len(site.op.outputs)} outputs"

    return hint(RECONVERT)(count_of_operands)


@hint("describe that form, too")
def own_operands(site: Site) -> str | None:
    """It must have as many operands as its own description reads"""
    least = DESCRIBED[site.op.type].operands
    given = sum(site.tensor(k) is not None for k in range(least))
    return None if given == least and len(site.op.outputs) == 1 else f"{given} inputs, {len(site.op.outputs)} outputs"


def options(*names: str) -> Constraint:
    def complete_options(site: Site) -> str | None:
        """It must have the options of its operator"""
        missing = [n for n in names if n not in site.op.options]
        return f"{', '.join(missing)} not given" if missing else None

    return hint(RECONVERT)(complete_options)


@hint(FREEZE)
def static_shapes(site: Site) -> str | None:
    """Shapes must be known before run time"""
    for t in activations(site):
        if t.dynamic or not t.shape or not all(d >= 1 for d in t.shape):
            return f"{name(t)} has shape {list(t.shape)}"
    return None


@hint(QUANTIZE)
def int8_activations(site: Site) -> str | None:
    """Inputs and outputs must be int8"""
    return next((f"{name(t)} is {t.dtype}" for t in activations(site) if t.dtype != "INT8"), None)


@hint(QUANTIZE)
def int8_or_int16(site: Site) -> str | None:
    """Inputs and outputs must be int8, or int16 with zero point 0"""
    types = {t.dtype for t in activations(site)}
    if types != {"INT16"}:
        return int8_activations(site)
    shifted = (t for t in activations(site) if t.quantization and t.quantization.zero_point[0] != 0)
    return next((f"{name(t)} has zero point {quantization(t).zero_point[0]}" for t in shifted), None)


@hint(QUANTIZE)
def quantized(site: Site) -> str | None:
    """Inputs and outputs must have one positive scale and a zero point in [-128, 127]"""
    return next((fault for t in activations(site) if (fault := scale_fault(t))), None)


@hint("compute with the constant before the conversion")
def runtime_values(site: Site) -> str | None:
    """Inputs must be computed at run time, not constants"""
    return next((f"{name(t)} is a constant" for t in activations(site) if t.constant), None)


@hint("pass the state in and out as an input and an output of the model")
def stateless(site: Site) -> str | None:
    """Tensors must not keep state between inferences"""
    own = {site.op.inputs[k] for k in VARIABLES.get(site.op.type, ())}
    tensors = (site.graph.tensors[t] for t in (*site.op.inputs, *site.op.outputs) if t != ABSENT and t not in own)
    return next((f"{name(t)} is a variable" for t in tensors if t.variable), None)


@hint("convert with batch size 1")
def batch_one(site: Site) -> str | None:
    """The batch size must be 1"""
    for t in activations(site):
        if natural_rows(t.shape) is None:
            return f"{name(t)} has shape {list(t.shape)}"
    return None


@hint("convert with batch size 1, from two-dimensional layers (Conv2D, not Conv3D)")
def rank_four(site: Site) -> str | None:
    """Input and output must have four dimensions, the first of them 1"""
    for t in activations(site):
        if len(t.shape) != 4 or t.shape[0] != 1:
            return f"{name(t)} has shape {list(t.shape)}"
    return None


@hint(RECONVERT)
def same_shape(site: Site) -> str | None:
    """Inputs and output must have the same shape"""
    shapes = [t.shape for t in activations(site)]
    return None if all(s == shapes[0] for s in shapes) else " and ".join(str(list(s)) for s in shapes)


@hint(QUANTIZE)
def same_quantization(site: Site) -> str | None:
    """Input and output must have the same scale and zero point"""
    a, b = quantization(site.input()), quantization(site.output)
    same = (a.scale[0], a.zero_point[0]) == (b.scale[0], b.zero_point[0])
    return None if same else two_scales(site)


@hint("use NONE, RELU, RELU6 or RELU_N1_TO_1")
def fused_activation(site: Site) -> str | None:
    """The fused activation must be NONE, RELU, RELU6 or RELU_N1_TO_1"""
    activation = site.op.options.get("fusedActivationFunction")
    if activation not in quant.ACTIVATIONS:
        return f"it is {activation}"
    scale = quantization(site.output).scale[0]
    if quant.bounds_fit(scale):
        return None
    return f"scale {scale:g} of {name(site.output)} is too small"
