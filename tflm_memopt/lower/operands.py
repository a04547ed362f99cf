"""Makes the record of an operator from the operator in row form."""

import itertools
from collections.abc import Sequence

from tflm_memopt.format.limits import PROGRAM_BASE
from tflm_memopt.lower.program import CopyRecord, MoveRecord, ProgramOp, ProgramTensor
from tflm_memopt.ops.rowop import Access, Moves, RowOp


def constant(op: RowOp) -> ProgramTensor | None:
    if op.constant is None:
        return None
    rows = op.constant.rows
    return ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, PROGRAM_BASE, constant=op.constant.values.tobytes())


def program_op(op: RowOp, inputs: Sequence[int], output: int, constant: int = 0) -> ProgramOp:
    """Return the record of an operator without packed weights. `inputs`, `output` and `constant` are indices of tensors
    in the program. An operator without a constant operand ignores `constant`.
    """
    at = op.constant.position if op.constant else len(inputs)
    access = (Access(),) if op.scatters else op.access
    return ProgramOp(
        kind=op.kind,
        inputs=(*inputs[:at], *([constant] if op.constant else []), *inputs[at:]),
        output=output,
        input_zero_points=op.input_zero_points,
        output_zero_point=op.output_zero_point,
        window=op.window,
        activation=op.activation,
        param=op.param,
        weights=op.weights,
        message=op.message,
        copy=None if op.moves is None else _copy(op.moves, access),
        bias=op.bias,
        multipliers=op.multipliers,
        shifts=op.shifts,
        access=access,
    )


def _copy(copied: Moves, access: Sequence[Access]) -> CopyRecord:
    first = [*itertools.accumulate((a.extent for a in access), initial=0)]
    moves = tuple(
        MoveRecord(
            first[m.operand] + m.tap, m.count, m.nbytes, m.source, m.source_step, m.phase_step, m.target,
            m.target_step, m.period, m.shift,
        ) for m in copied.moves
    )  # fmt: skip
    return CopyRecord(moves, copied.fill is not None, copied.fill or 0)
