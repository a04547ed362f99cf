"""Pack programs of the other modules. Every operator uses a target's kernel if one supports it."""

from __future__ import annotations

import dataclasses

from kernels.programs import Lowered
from tflm_memopt.lower.pack import pack
from tflm_memopt.lower.program import Program, ProgramOp, ProgramTensor
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.ops.packings import packing
from tflm_memopt.ops.rowop import RowOp, Rows


def row_op(op: ProgramOp, tensors: tuple[ProgramTensor, ...]) -> RowOp:
    """Convert an operator of a program to the converter's form."""

    def rows(t: int) -> Rows:
        return Rows(tensors[t].height, tensors[t].width, tensors[t].channels)

    return RowOp(
        kind=op.kind,
        name=op.kind.name,
        sources=(),
        inputs=op.inputs,
        output=op.output,
        reads=tuple(rows(t) for t in op.inputs),
        writes=rows(op.output),
        input_zero_points=op.input_zero_points,
        output_zero_point=op.output_zero_point,
        window=op.window,
        activation=op.activation,
        weights=op.weights,
        bias=op.bias,
        multipliers=op.multipliers,
        shifts=op.shifts,
        param=op.param,
    )


def packed(lowered: Lowered, family: Family) -> Lowered:
    """Return the same program for a family of cores. All kernels share scratch at the end of the workspace, so inputs
    and outputs move up in the arena.
    """
    program = lowered.program
    start = -(-program.workspace // 4) * 4
    ops, most = [], 0
    for op in program.ops:
        done, scratch = _packed(op, program.tensors, family, start)
        ops.append(done)
        most = max(most, scratch)
    extra = start + most - program.workspace
    arena = dataclasses.replace(
        lowered.arena,
        nbytes=lowered.arena.nbytes + extra,
        inputs=tuple(i + extra for i in lowered.arena.inputs),
        outputs=tuple(i + extra for i in lowered.arena.outputs),
    )
    program = dataclasses.replace(program, ops=tuple(ops), workspace=start + most, target=family)
    return dataclasses.replace(lowered, program=program, arena=arena)


def _packed(op: ProgramOp, tensors: tuple[ProgramTensor, ...], family: Family, scratch: int) -> tuple[ProgramOp, int]:
    if op.iterative or op.channel_groups > 1 or op.kind not in (Kind.CONV, Kind.DEPTHWISE, Kind.ADD):
        return op, 0
    seen = row_op(op, tensors)
    seen = dataclasses.replace(seen, packing=packing(seen, family))
    if seen.packing is Packing.NONE:
        return op, 0
    if seen.packing is Packing.DSP_CONV:
        seen = dataclasses.replace(seen, param=op.output % 2)  # every second convolution has a wide tile
    constants = dict.fromkeys(("bias", "multipliers", "shifts"), None) | dataclasses.asdict(pack(seen))
    done = dataclasses.replace(op, **constants, accumulator=scratch, param=seen.param)
    return done, seen.scratch_bytes(op.tile or seen.writes.w)


def count(program: Program) -> int:
    """Number of packed operators."""
    return sum(op.packing is not Packing.NONE for op in program.ops)
