"""One operator as a program of its own: every tensor whole and by itself. The plainest way to run an operator, to
compare others with.
"""

from __future__ import annotations

from tflm_memopt.lower.program import Program, ProgramBlock, ProgramOp, ProgramTensor, pack
from tflm_memopt.model.rowop import RowOp, Rows


def reference_program(op: RowOp) -> bytes:
    """The packed program of `op`: io are its inputs, in the order of op.inputs, then its output; the workspace is its
    counter.
    """
    n = len(op.inputs)
    lone = ProgramOp(
        kind=op.kind,
        inputs=tuple(range(n)),
        producers=(None,) * n,
        output=n,
        input_zero_points=op.input_zero_points,
        output_zero_point=op.output_zero_point,
        window=op.window,
        activation=op.activation,
        sink=True,
        param=op.param,
        weights=op.weights,
        bias=op.bias,
        multipliers=op.multipliers,
        shifts=op.shifts,
        access=op.access,
        moves=op.moves,
    )
    tensors = tuple(_whole(rows, base) for base, rows in enumerate((*op.reads, op.writes), start=1))
    return pack(Program(n, 1, COUNTER_BYTES, op.writes.h, tensors, (lone,), (ProgramBlock(0, 1, 0),)))


COUNTER_BYTES = 2
"""uint16 for the one operator: firings done."""


def _whole(rows: Rows, base: int) -> ProgramTensor:
    return ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, base)
