"""Stores an operator's operands in the order in which an iteration requests their rows, constants last."""

import itertools
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import PROGRAM_BASE
from tflm_memopt.lower.program import CopyRecord, MoveRecord, ProgramOp, ProgramTensor
from tflm_memopt.ops.kinds import OPERAND_SCALES, Kind
from tflm_memopt.ops.partial import in_order as sums_in_order
from tflm_memopt.ops.rowop import Access, Moves, RowOp
from tflm_memopt.ops.select import in_order as select_in_order

Scalar = TypeVar("Scalar", bound=np.generic)


def constant(op: RowOp) -> ProgramTensor | None:
    if op.constant is None:
        return None
    rows = op.constant.rows
    return ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, PROGRAM_BASE, constant=op.constant.values.tobytes())


def program_op(op: RowOp, demanded: Sequence[int], inputs: tuple[int, ...], output: int) -> ProgramOp:
    """Return the record of an operator without packed weights. `demanded` has the indices of the operator's inputs in
    the program's order. `inputs` and `output` are indices of the program's tensors.
    """
    order = _order(op, demanded)
    return ProgramOp(
        kind=op.kind,
        inputs=inputs,
        output=output,
        input_zero_points=tuple(op.input_zero_points[k] for k in order),
        output_zero_point=op.output_zero_point,
        window=op.window,
        activation=op.activation,
        swapped=order == (1, 0),
        param=_param(op, order),
        weights=op.weights,
        message=op.message,
        copy=None if op.moves is None else _copy(op.moves, _access(op, order), order),
        bias=op.bias,
        multipliers=_scales(op, op.multipliers, order),
        shifts=_scales(op, op.shifts, order),
        access=_access(op, order),
    )


def _order(op: RowOp, demanded: Sequence[int]) -> tuple[int, ...]:
    if op.constant is None:
        return (*demanded,)
    at = op.constant.position
    return (*(k + (k >= at) for k in demanded), at)


def _scales(op: RowOp, values: NDArray[Scalar] | None, order: Sequence[int]) -> NDArray[Scalar] | None:
    return values[[*order, len(order)]] if values is not None and op.traits.scales == OPERAND_SCALES else values


def _param(op: RowOp, order: Sequence[int]) -> int:
    if op.kind is Kind.ADD_SUMS:
        return sums_in_order(op.param, order)
    if op.kind is Kind.SELECT:
        extents = [a.extent for a in op.access]
        first = dict(zip(order, itertools.accumulate((extents[k] for k in order), initial=0), strict=False))
        rows = [first[k] + n for k, extent in enumerate(extents) for n in range(extent)]
        return select_in_order(op.param, rows)
    return op.param


def _access(op: RowOp, order: Sequence[int]) -> tuple[Access, ...]:
    if op.scatters:
        return (Access(),)
    return tuple(op.access[k] for k in order) if op.access else ()


def _copy(copied: Moves, access: Sequence[Access], order: Sequence[int]) -> CopyRecord:
    """Operand k of the record is operand `order[k]` of the model and reads the rows `access[k]`."""
    first = dict(zip(order, itertools.accumulate((a.extent for a in access), initial=0), strict=False))
    moves = tuple(
        MoveRecord(
            first[m.operand] + m.tap, m.count, m.nbytes, m.source, m.source_step, m.phase_step, m.target,
            m.target_step, m.period, m.shift,
        ) for m in copied.moves
    )  # fmt: skip
    return CopyRecord(moves, copied.fill is not None, copied.fill or 0)
