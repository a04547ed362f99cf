"""Operators that have variables of their own, as rows: one step of time is one row.

SVDF (micro/kernels/svdf_common.cc) is a dense layer whose outputs of the last steps a filter along time sums up: a
CONV, and a DEPTHWISE over the rows that are kept of it. Of filters of rank r, r at a time make an output: they are r
pixels of a row, over which the window goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Tensor
from tflm_memopt.ops import quant
from tflm_memopt.ops.constraints.base import quantization
from tflm_memopt.ops.constraints.memory import svdf_sizes
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.ops.site import Site


def svdf_features(site: Site) -> RowOp:
    """SVDF's dense layer, a step: int8 of the state's scale, [1, rank, units]. Factors are taken in float32."""
    size, (x, features, state) = svdf_sizes(site), (site.input(k) for k in (0, 1, 4))
    weights = _values(site, 1).reshape(size.units, size.rank, size.inputs).transpose(1, 0, 2)
    scale = _scale(x) * _scale(features) / _scale(state)
    return RowOp(
        kind=Kind.CONV,
        name=site.op.type,
        sources=site.op.stands_for,
        inputs=(site.storage(),),
        output=site.output.id,
        reads=(Rows(1, 1, size.inputs),),
        writes=Rows(1, 1, size.filters),
        input_zero_points=(_zero_point(x),),
        output_zero_point=_zero_point(state),
        weights=np.ascontiguousarray(weights).reshape(size.filters, 1, 1, size.inputs),
        macs=size.filters * size.inputs,
        **_scaled(float(scale)),
    )


def svdf_time(site: Site) -> RowOp:
    """SVDF's sums along time: of this step's features and, in the state, of those before."""
    size, (time, state) = svdf_sizes(site), (site.input(k) for k in (2, 4))
    weights = _values(site, 2).reshape(size.units, size.rank, size.memory).transpose(2, 1, 0)
    scale = _scale(state) * _scale(time) / _scale(site.output)
    return RowOp(
        kind=Kind.DEPTHWISE,
        name=site.op.type,
        sources=site.op.stands_for,
        inputs=(site.storage(),),
        output=site.output.id,
        reads=(Rows(1, size.rank, size.units),),
        writes=Rows(1, 1, size.units),
        input_zero_points=(_zero_point(state),),
        output_zero_point=_zero_point(site.output),
        window=Window(size.memory, size.rank, pad_top=size.memory - 1),
        weights=np.ascontiguousarray(weights),
        bias=_values(site, 3).astype(np.int32),
        macs=size.filters * size.memory,
        older=state.id,
        **_scaled(float(scale)),
    )


def _scaled(factor: float) -> dict[str, Any]:
    """One multiplier."""
    value, shift = quant.quantize_multiplier(factor)
    return {"multipliers": np.array([value], np.int32), "shifts": np.array([min(shift, 127)], np.int8)}


def _values(site: Site, k: int) -> NDArray[Any]:
    data = site.input(k).data
    if data is None:
        raise ValueError(f"operand {k} of {site.op.type} is no constant")
    return data


def _scale(tensor: Tensor) -> Any:
    return np.float32(quantization(tensor).scale[0])


def _zero_point(tensor: Tensor) -> int:
    return quantization(tensor).zero_point[0]
