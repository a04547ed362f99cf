"""Lowers one operator to a program with separate, whole tensors: the simplest way to run it, used for comparisons."""

from __future__ import annotations

from tflm_memopt.lower import operands
from tflm_memopt.lower.program import Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.plan.loops import Iteration, Repeat


def reference_program(op: RowOp) -> bytes:
    """Return the packed program of `op`. Its io are the inputs and the output, and its workspace is a counter."""
    n, constant = len(op.inputs), operands.constant(op)
    inputs = (*range(n),) if constant is None else (*range(n), n + 1)
    lone = ProgramOp(
        kind=op.kind,
        inputs=inputs,
        output=n,
        output_zero_point=op.output_zero_point,
        window=op.window,
        activation=op.activation,
        weights=op.weights,
        bias=op.bias,
        iterative=op.scatters,
        **operands.in_order(op, range(n)),
    )
    count = op.reads[0].h if op.scatters else op.writes.h
    loops = (Repeat(count, (Iteration(0),)),)
    tensors = tuple(_whole(rows, base) for base, rows in enumerate((*op.reads, op.writes), start=1))
    tensors += () if constant is None else (constant,)
    return pack(Program(n, 1, COUNTER_BYTES, count, tensors, (lone,), (ProgramGroup(0, 1, 0, loops),)))


COUNTER_BYTES = 2
"""Bytes of the operator's counter of iterations, a uint16."""


def _whole(rows: Rows, base: int) -> ProgramTensor:
    return ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, base)
