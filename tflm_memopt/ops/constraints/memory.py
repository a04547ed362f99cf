"""Constraints on SVDF and LSTM, which have their own variables."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import Tensor
from tflm_memopt.ops.constraints.base import QUANTIZE, hint, name, quantization, scale_fault, shapes
from tflm_memopt.ops.context import VARIABLES, OperatorContext

INPUT_WEIGHTS, HIDDEN_WEIGHTS, BIASES = (2, 1, 3, 4), (6, 5, 7, 8), (13, 12, 14, 15)
"""Indices of an LSTM's operands for its forget, input, cell and output gates (micro/kernels/lstm_shared.h)."""
HIDDEN, CELLS = 18, 19
LSTM_OPERANDS = 24
CURVE_POWER = 12
"""The activation curve of an LSTM reads the cells in units of 2^-12."""
LEAST_SHIFT, MOST_SHIFT = -15, 14
"""Limits of the shift by which the executor converts an LSTM's cell values to the units of the activation curve."""
BIAS_TOLERANCE = 1e-5
"""Tolerance of TFLM for the bias scale of an SVDF (PrepareSvdf, micro/kernels/svdf_common.cc)."""


@dataclass(frozen=True, slots=True)
class SvdfSizes:
    inputs: int
    units: int
    rank: int
    memory: int
    """Number of time steps from which an SVDF computes an output, including the current time step."""

    @property
    def filters(self) -> int:
        return self.units * self.rank


def svdf_sizes(context: OperatorContext) -> SvdfSizes:
    (filters, inputs), (_, memory) = context.input(1).shape, context.input(2).shape
    rank = int(context.op.options["rank"])
    return SvdfSizes(inputs, filters // rank, rank, memory)


@hint("use the variable in one operator only, and not as an input or output of the model")
def own_variables(context: OperatorContext) -> str | None:
    """The variables of an SVDF or LSTM must be used by no other operator, and hold one batch"""
    graph = context.graph
    for k in VARIABLES[context.op.type]:
        t = context.input(k)
        users = [op.index for op in graph.ops for used in (*op.inputs, *op.outputs) if used == t.id]
        if not t.variable or t.constant:
            return f"{name(t)} is not a variable"
        if len(users) != 1 or t.id in (*graph.inputs, *graph.outputs):
            return f"{name(t)} is also used elsewhere"
    return None


@hint("use fewer model inputs and outputs, so that one operator can have them all")
def one_region(context: OperatorContext) -> str | None:
    """All readers and writers of an SVDF's or LSTM's variables must run in one region"""
    known = {state.tensor for state in context.graph.states}
    return None if all(context.op.inputs[k] in known for k in VARIABLES[context.op.type]) else ""


def _types(context: OperatorContext, wanted: dict[int, str]) -> Iterator[str]:
    for k, dtype in wanted.items():
        t = context.input(k)
        if t.dtype != dtype:
            yield f"{name(t)} is {t.dtype}, not {dtype}"


def _constants(context: OperatorContext, wanted: tuple[int, ...]) -> Iterator[str]:
    for t in (context.input(k) for k in wanted):
        if t.data is None or t.data.shape != t.shape:
            yield f"{name(t)} is not a constant"


def _scales(tensors: Iterator[Tensor]) -> Iterator[str]:
    yield from (fault for t in tensors if (fault := scale_fault(t)))


@hint(QUANTIZE)
def int8_svdf(context: OperatorContext) -> str | None:
    """An SVDF must have int8 weights and an int8 state with one scale each, state zero point 0, and an int32 bias"""
    dtypes = {1: "INT8", 2: "INT8", 3: "INT32", 4: "INT8"}
    faults = (*_types(context, dtypes), *_constants(context, (1, 2, 3)), *_scales(context.input(k) for k in (1, 2, 4)))
    if faults:
        return faults[0]
    state = context.input(4)  # TFLM's versions differ in their results if the state's zero point is not 0
    shift = quantization(state).zero_point[0]
    return f"{name(state)} has zero point {shift}" if shift else None


def svdf_shapes(context: OperatorContext) -> str | None:
    """The operands of an SVDF must have shapes for one batch, and the SVDF must remember more than one time step"""
    x, features, time, bias, state = (context.input(k) for k in range(5))
    if any(len(t.shape) != 2 for t in (x, features, time, state, context.output)):
        return " and ".join(f"{name(t)} has shape {list(t.shape)}" for t in (x, features, time, state, context.output))
    rank = int(context.op.options["rank"])
    if rank < 1 or features.shape[0] % rank:
        return f"{features.shape[0]} filters of rank {rank}"
    size = svdf_sizes(context)
    wanted = (
        (x, (1, size.inputs)),
        (time, (size.filters, size.memory)),
        (bias, (size.units,)),
        (state, (1, size.filters * size.memory)),
        (context.output, (1, size.units)),
    )
    wrong = shapes(t for t, shape in wanted if t.shape != shape)
    if wrong is None and not 2 <= size.memory <= MAX_KERNEL_H:
        return f"it remembers {size.memory} steps, outside 2 to {MAX_KERNEL_H}"
    return wrong


@hint(QUANTIZE)
def svdf_bias_scale(context: OperatorContext) -> str | None:
    """The scale of an SVDF's bias must equal the scale of its sums, as TFLM requires"""
    bias, time, state = (context.input(k) for k in (3, 2, 4))
    stated = bias.quantization.scale[0] if bias.quantization and bias.quantization.scale else 0.0
    sums = float(np.float32(quantization(state).scale[0]) * np.float32(quantization(time).scale[0]))
    return None if abs(stated - sums) < BIAS_TOLERANCE else f"{name(bias)} has scale {stated:g}, the sums {sums:g}"


@hint("use a plain LSTM with input, forget, cell and output gate")
def lstm_operands(context: OperatorContext) -> str | None:
    """An LSTM must have all four gates, and no peepholes, no projection and no layer normalization"""
    needed = {0, *INPUT_WEIGHTS, *HIDDEN_WEIGHTS, *BIASES, HIDDEN, CELLS}
    given = {k for k in range(len(context.op.inputs)) if context.tensor(k) is not None}
    if len(context.op.inputs) == LSTM_OPERANDS and given == needed and len(context.op.outputs) == 1:
        return None
    if lacking := sorted(needed - given):
        return f"operand {lacking[0]} is missing"
    return f"{len(given)} inputs, {len(context.op.outputs)} outputs"


@hint(QUANTIZE)
def int8_lstm(context: OperatorContext) -> str | None:
    """An LSTM's weights must be int8 with one scale and zero point 0, its biases int32, its cells int16"""
    weights = (*INPUT_WEIGHTS, *HIDDEN_WEIGHTS)
    dtypes = dict.fromkeys(weights, "INT8") | dict.fromkeys(BIASES, "INT32") | {HIDDEN: "INT8", CELLS: "INT16"}
    faults = (
        *_types(context, dtypes),
        *_constants(context, (*weights, *BIASES)),
        *_scales(context.input(k) for k in (*weights, HIDDEN, CELLS)),
    )
    if faults:
        return faults[0]
    shifted = (t for k in (*weights, CELLS) if quantization(t := context.input(k)).zero_point[0])
    return next((f"{name(t)} has zero point {quantization(t).zero_point[0]}" for t in shifted), None)


def cell_scale(context: OperatorContext) -> str | None:
    """The scale of an LSTM's cells must be a power of two in the range of the LSTM's activation curve"""
    fraction, power = math.frexp(quantization(context.input(CELLS)).scale[0])
    if fraction == 0.5 and LEAST_SHIFT <= power - 1 + CURVE_POWER <= MOST_SHIFT:
        return None
    return f"{name(context.input(CELLS))} has scale {quantization(context.input(CELLS)).scale[0]:g}"


@hint("use tanh, Keras's default")
def cell_activation(context: OperatorContext) -> str | None:
    """An LSTM's cell activation must be TANH"""
    activation = context.op.options["fusedActivationFunction"]
    return None if activation == "TANH" else f"it is {activation}"


@hint("convert with batch size 1")
def lstm_shapes(context: OperatorContext) -> str | None:
    """An LSTM's operands must have shapes for a batch size of 1"""
    x, hidden, cells = (context.input(k) for k in (0, HIDDEN, CELLS))
    if len(x.shape) != 3 or x.shape[1 if context.op.options["timeMajor"] else 0] != 1:
        return shapes([x])
    units = hidden.elements
    wanted = (
        (context.output, (*x.shape[:2], units)),
        *((context.input(k), (units, x.shape[2])) for k in INPUT_WEIGHTS),
        *((context.input(k), (units, units)) for k in HIDDEN_WEIGHTS),
        *((context.input(k), (units,)) for k in BIASES),
    )
    return shapes([*(t for t, shape in wanted if t.shape != shape), *([cells] if cells.elements != units else [])])
