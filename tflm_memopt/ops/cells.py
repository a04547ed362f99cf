"""Parses SVDF and LSTM, whose variables no other operator uses. A row of a tensor is one time step.

An SVDF (micro/kernels/svdf_common.cc) is a dense layer followed by a filter along time over the layer's last outputs.
An SVDF becomes a CONV, and a DEPTHWISE that reads a state of rows. In an SVDF of rank r, each output is the sum of r
filter results. Each row of the DEPTHWISE's input has r pixels, one for each filter. An LSTM (micro/kernels/lstm_eval.h)
is one operator, each iteration of which rewrites its two states.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Tensor
from tflm_memopt.ops import quant
from tflm_memopt.ops.constraints import memory
from tflm_memopt.ops.constraints.base import quantization, values, zero_point
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.quant import Multiplier
from tflm_memopt.ops.rowop import Access, RowOp, Rows, StateRollingBuffer, Window

GATE_SCALE, CURVE_SCALE = 2.0**-12, 2.0**-15
ONE_MORE = (
    4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45, 46, 49,
    50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
)  # fmt: skip
"""Indices at which an entry of TFLM's sigmoid table is one greater than the correctly rounded value."""
SIGMOID = tuple(round(65536 / (1 + math.exp(-i / 24))) + (i in ONE_MORE) for i in range(256))
"""TFLM's table of the sigmoid function. The step between two entries is 1 / 24, and an entry of 65536 means 1."""


def svdf_features(context: OperatorContext) -> RowOp:
    """Parse the dense layer of an SVDF, whose output has the scale of the SVDF's state. The output channels of one rank
    are adjacent.
    """
    size, (x, features, state) = memory.svdf_sizes(context), (context.input(k) for k in (0, 1, 4))
    weights = values(context.input(1)).reshape(size.units, size.rank, size.inputs).transpose(1, 0, 2)
    scale = _scale(x) * _scale(features) / _scale(state)
    return context.row_op(
        Kind.CONV,
        reads=(Rows(1, 1, size.inputs),),
        writes=Rows(1, 1, size.filters),
        input_zero_points=(zero_point(x),),
        output_zero_point=zero_point(state),
        weights=np.ascontiguousarray(weights).reshape(size.filters, 1, 1, size.inputs),
        macs=size.filters * size.inputs,
        **quant.scaling([quant.quantize_multiplier(float(scale))]),
    )


def svdf_time(context: OperatorContext) -> RowOp:
    """Parse the time filters of an SVDF, which read the features of the current and of earlier time steps."""
    size, (time, state) = memory.svdf_sizes(context), (context.input(k) for k in (2, 4))
    weights = values(context.input(2)).reshape(size.units, size.rank, size.memory).transpose(2, 1, 0)
    scale = _scale(state) * _scale(time) / _scale(context.output)
    return context.row_op(
        Kind.DEPTHWISE,
        reads=(Rows(1, size.rank, size.units),),
        writes=Rows(1, 1, size.units),
        input_zero_points=(zero_point(state),),
        output_zero_point=zero_point(context.output),
        window=Window(size.memory, size.rank, pad_top=size.memory - 1),
        weights=np.ascontiguousarray(weights),
        bias=values(context.input(3)).astype(np.int32),
        macs=size.filters * size.memory,
        older=state.id,
        **quant.scaling([quant.quantize_multiplier(float(scale))]),
    )


def lstm(context: OperatorContext) -> RowOp:
    """Parse UNIDIRECTIONAL_SEQUENCE_LSTM to a RowOp whose `bias` begins with a table of the sigmoid function."""
    x, hidden, cells = (context.input(k) for k in (0, memory.HIDDEN, memory.CELLS))
    steps, units = math.prod(x.shape[:2]), hidden.elements
    zero_points = zero_point(x), zero_point(hidden)
    weights, biases = _gates(context, *zero_points)
    return context.row_op(
        Kind.LSTM,
        operands=(0, memory.HIDDEN, memory.CELLS),
        reads=(Rows(steps, 1, x.shape[-1]), Rows(1, 1, units), Rows(1, 1, 2 * units)),
        writes=Rows(steps, 1, units),
        input_zero_points=(*zero_points, 0),
        output_zero_point=zero_points[1],
        weights=weights,
        bias=np.concatenate([np.array(SIGMOID, "<u2").view(np.int32), biases.reshape(-1)]),
        **quant.scaling(_gate_scales(context)),
        param=_cell_range(context, float(_scale(cells))),
        access=(Access(), Access(mul=0), Access(mul=0)),
        macs=steps * weights.size,
        recalls=True,
        updates=(
            StateRollingBuffer(hidden.id, Rows(1, 1, units), zero_points[1]),
            StateRollingBuffer(cells.id, Rows(1, 1, 2 * units), 0),
        ),
    )


def _gates(context: OperatorContext, x_zero: int, hidden_zero: int) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Return an LSTM's weights [out][gate][in], and biases [out][gate][2] for the input and the hidden state."""
    of_input = np.stack([values(context.input(k)) for k in memory.INPUT_WEIGHTS], 1)
    of_hidden = np.stack([values(context.input(k)) for k in memory.HIDDEN_WEIGHTS], 1)
    biases = np.stack([values(context.input(k)) for k in memory.BIASES], 1).astype(np.int64)
    sums = biases - x_zero * of_input.sum(-1, np.int64), -hidden_zero * of_hidden.sum(-1, np.int64)
    wrapped = np.stack(sums, -1).astype(np.uint32).view(np.int32)
    return np.ascontiguousarray(np.concatenate([of_input, of_hidden], -1)), wrapped


def _gate_scales(context: OperatorContext) -> list[Multiplier]:
    """Return the multipliers of an LSTM's gates (PrepareGateParametersInteger, micro/kernels/lstm_eval_common.cc)."""
    x, hidden, cells = (float(_scale(context.input(k))) for k in (0, memory.HIDDEN, memory.CELLS))
    found: list[Multiplier] = []
    for of_input, of_hidden in zip(memory.INPUT_WEIGHTS, memory.HIDDEN_WEIGHTS, strict=True):
        for scale, weights in ((x, of_input), (hidden, of_hidden)):
            found += quant.weighted(scale, [float(_scale(context.input(weights)))], GATE_SCALE)
    made = CURVE_SCALE * cells / cells, CURVE_SCALE * CURVE_SCALE / cells, CURVE_SCALE * CURVE_SCALE / hidden
    shift = round(math.log2(cells)) + memory.CURVE_POWER
    curved = Multiplier(3 << max(shift, 0), max(-shift, 0))
    return [*found, *(quant.quantize_multiplier(factor) for factor in made), curved]


def _cell_range(context: OperatorContext, scale: float) -> int:
    """Return the field `param` of an LSTM: the least and greatest value of the LSTM's cells, in units of the cells'
    scale (CreateLstmCellStateInfo).
    """
    clip, most = float(context.op.options.get("cellClip", 0.0)), (1 << 15) - 1
    high = int(min(clip / scale, most)) if clip > 0 else most
    low = -high if clip > 0 else -high - 1
    return high << 16 | low & 0xFFFF


def _scale(tensor: Tensor) -> Any:
    return np.float32(quantization(tensor).scale[0])
