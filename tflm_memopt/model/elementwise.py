"""Operators of two operands, element by element, one of them repeated or constant: their geometry and their scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tflm_memopt.model import quant
from tflm_memopt.model.constraints.base import quantization
from tflm_memopt.model.quant import Multiplier
from tflm_memopt.model.rowop import Constant, Kind, RowOp, Rows
from tflm_memopt.model.site import Site, broadcast_rows

Factors = tuple[Multiplier, ...]


class Arithmetic(NamedTuple):
    """How an operator computes, as the executor wants it."""

    kind: Kind
    factors: Callable[[float, float, float], Factors]
    """Of the scales of operand 0, operand 1 and output."""
    left_shift: int = 0


def _none(a: float, b: float, out: float) -> Factors:
    return ()


def _product(a: float, b: float, out: float) -> Factors:
    """CalculateOpDataMul, micro/kernels/mul_common.cc."""
    return (quant.quantize_multiplier(a * b / out),)


def _prelu(a: float, b: float, out: float) -> Factors:
    """CalculatePreluParams, micro/kernels/prelu_common.cc."""
    return quant.rescale(a, out), quant.quantize_multiplier(a * b / out)


ARITHMETIC: Mapping[str, Arithmetic] = {
    "ADD": Arithmetic(Kind.ADD, quant.add, quant.ADD_LEFT_SHIFT),
    "SUB": Arithmetic(Kind.SUB, quant.add, quant.ADD_LEFT_SHIFT),
    "MUL": Arithmetic(Kind.MUL, _product),
    "MAXIMUM": Arithmetic(Kind.MAXIMUM, _none),
    "MINIMUM": Arithmetic(Kind.MINIMUM, _none),
    "SQUARED_DIFFERENCE": Arithmetic(
        Kind.SQUARED_DIFFERENCE, quant.squared_difference, quant.SQUARED_DIFFERENCE_LEFT_SHIFT
    ),
    "PRELU": Arithmetic(Kind.PRELU, _prelu),
}
"""By TFLite's operator names."""


def binary(site: Site) -> RowOp:
    """An operator of ARITHMETIC."""
    if site.output.dtype == "INT16":
        return _add_int16(site)
    kind, factors, left_shift = ARITHMETIC[site.op.type]
    reads, writes = _rows(site)
    read = [k for k in range(2) if not site.input(k).constant]
    a, b, out = (quantization(t) for t in (site.input(0), site.input(1), site.output))
    multipliers = factors(a.scale[0], b.scale[0], out.scale[0])
    activation = site.op.options.get("fusedActivationFunction", "NONE")
    return RowOp(
        kind=kind,
        name=site.op.type,
        sources=site.op.stands_for,
        inputs=tuple(site.storage(k) for k in read),
        output=site.output.id,
        reads=tuple(reads[k] for k in read),
        writes=writes,
        input_zero_points=(a.zero_point[0], b.zero_point[0]),
        output_zero_point=out.zero_point[0],
        activation=quant.activation_range(activation, out.scale[0], out.zero_point[0]),
        multipliers=np.array([m.value for m in multipliers], np.int32) if multipliers else None,
        shifts=np.array([min(m.shift, 127) for m in multipliers], np.int8) if multipliers else None,
        param=left_shift,
        constant=next((_constant(site, k, reads[k]) for k in range(2) if k not in read), None),
    )


def _add_int16(site: Site) -> RowOp:
    """ADD of two tensors of one shape."""
    a, b, out = (quantization(t).scale[0] for t in (site.input(0), site.input(1), site.output))
    rows, factors = site.producer_rows(), quant.add(a, b, out, quant.INT16_ADD_LEFT_SHIFT)
    return RowOp(
        kind=Kind.ADD_S16,
        name=site.op.type,
        sources=site.op.stands_for,
        inputs=(site.storage(0), site.storage(1)),
        output=site.output.id,
        reads=(rows, rows),
        writes=rows,
        input_zero_points=(0, 0),
        output_zero_point=0,
        multipliers=np.array([m.value for m in factors], np.int32),
        shifts=np.array([m.shift for m in factors], np.int8),
        param=quant.int16_activation(site.op.options["fusedActivationFunction"], out),
    )


def _rows(site: Site) -> tuple[tuple[Rows, Rows], Rows]:
    """Operands of one shape lie in memory as the first one's producer writes it; else shapes decide."""
    shapes = [site.input(k).shape for k in range(2)]
    if shapes[0] == shapes[1]:
        rows = site.producer_rows(next(k for k in range(2) if not site.input(k).constant))
        return (rows, rows), rows
    out = site.output.shape
    a, b = (broadcast_rows(shape, out) for shape in shapes)
    return (a, b), broadcast_rows(out, out)


def _constant(site: Site, k: int, rows: Rows) -> Constant:
    data = site.input(k).data
    if data is None:
        raise ValueError(f"tensor {site.input(k).id} is no constant")
    return Constant(k, rows, np.ascontiguousarray(data, np.int8).reshape(rows.h, rows.w, rows.c))
