"""Test operators of the kind COPY."""

import numpy as np

from tflm_memopt.lower.program import CopyRecord, MoveRecord, Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Access
from tflm_memopt.plan.loops import Iteration, Repeat
from tflm_memopt.runtime import host

ROWS, SKIPPED = 5, 2


def _turned(moves: int) -> bytes:
    """Return a program that reverses the first ROWS pixels of the only input row. Each pixel becomes an output row."""
    move = MoveRecord(0, 1, 1, ROWS + SKIPPED - 1, 0, -1, 0, 0, ROWS + SKIPPED, SKIPPED)
    copy = ProgramOp(
        kind=Kind.COPY,
        inputs=(0,),
        output=1,
        input_zero_points=(0,),
        output_zero_point=0,
        access=(Access(mul=0),),
        copy=CopyRecord((move,) * moves, fills=False, fill=0),
    )
    tensors = ProgramTensor(0, 1, ROWS + SKIPPED, 1, 1, base=1), ProgramTensor(0, ROWS, 1, 1, ROWS, base=2)
    loops = (Repeat(ROWS, (Iteration(0),)),)
    return pack(Program(1, 1, 16, ROWS, tensors, (copy,), (ProgramGroup(0, 1, 0, loops),)))


def test_phases_that_go_backwards() -> None:
    """A negative offset of a phase is stored modulo 2^32, but an address on a PC has 64 bits."""
    pixels = np.arange(ROWS + SKIPPED, dtype=np.int8)
    for moves in (1, 2):
        (found,) = host.run(_turned(moves), [pixels], [ROWS])
        np.testing.assert_array_equal(found, pixels[:ROWS][::-1])
