"""Test operators of the kind COPY."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tflm_memopt.lower.lowering import copy_record
from tflm_memopt.lower.program import CopyRecord, MoveRecord, Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.moves import by_rows, numbered, scattered
from tflm_memopt.ops.rowop import Access, Rows
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


def _joined(axis: int, *widths: int) -> NDArray[np.int32]:
    shape = [4, 6, 5]
    parts = numbered([(*shape[:axis], n, *shape[axis + 1 :]) for n in widths])
    return np.concatenate(parts, axis=axis)


def _packed(axis: int, operands: int) -> NDArray[np.int32]:
    return np.stack(numbered([(3, 6, 7)] * operands), axis)


def _in_blocks(h: int, w: int, c: int) -> NDArray[np.int32]:
    """Return the element numbers that DEPTH_TO_SPACE copies, for blocks of 2 x 2 pixels."""
    (x,) = numbered([(h, w, 2, 2, c)])
    return x.transpose(0, 2, 1, 3, 4).reshape(2 * h, 2 * w, c)


def _enlarged(h: int, w: int, c: int, times: int) -> NDArray[np.int32]:
    (x,) = numbered([(h, w, c)])
    return np.repeat(np.repeat(x, times, axis=0), times, axis=1)


CASES = [
    (_joined(0, 2, 5, 1), [Rows(2, 6, 5), Rows(5, 6, 5), Rows(1, 6, 5)], Rows(8, 6, 5)),
    (_joined(1, 3, 4), [Rows(4, 3, 5), Rows(4, 4, 5)], Rows(4, 7, 5)),
    (_joined(1, 2, 9), [Rows(4, 2, 5), Rows(4, 9, 5)], Rows(4, 11, 5)),
    (_joined(2, 1, 16, 3, 17), [Rows(4, 6, 1), Rows(4, 6, 16), Rows(4, 6, 3), Rows(4, 6, 17)], Rows(4, 6, 37)),
    (_packed(0, 3), [Rows(3, 6, 7)] * 3, Rows(9, 6, 7)),
    (_packed(1, 2), [Rows(3, 6, 7)] * 2, Rows(3, 12, 7)),
    (_packed(2, 4), [Rows(3, 6, 7)] * 4, Rows(18, 4, 7)),
    (_joined(0, 4)[:3], [Rows(4, 6, 5)], Rows(3, 6, 5)),
    (_in_blocks(3, 4, 5), [Rows(3, 4, 20)], Rows(6, 8, 5)),
    (_in_blocks(3, 1, 40), [Rows(3, 1, 160)], Rows(6, 2, 40)),
    (_enlarged(3, 2, 9, 3), [Rows(3, 2, 9)], Rows(9, 6, 9)),
    (_enlarged(4, 1, 21, 2)[1:7], [Rows(4, 1, 21)], Rows(6, 2, 21)),
]


def _program(reads: Sequence[Rows], writes: Rows, copy: ProgramOp, iterations: int, *, whole: bool) -> bytes:
    """Return a program with one operator, whose inputs and output are tensors of the caller."""
    inputs = [ProgramTensor(0, r.h, r.w, r.c, r.h, base=1 + k) for k, r in enumerate(reads)]
    output = ProgramTensor(0, writes.h, writes.w, writes.c, writes.h, base=1 + len(reads))
    loops = (Repeat(iterations, (Iteration(0),)),)
    group = ProgramGroup(0, 1, 0, loops, whole=whole)
    return pack(Program(len(reads), 1, 16, iterations, (*inputs, output), (copy,), (group,)))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_every_output_byte_comes_from_its_place(case: int, *, whole: bool) -> None:
    index, reads, writes = CASES[case]
    access, moves = by_rows(index, reads, writes)
    n = len(reads)
    copy = ProgramOp(
        kind=Kind.COPY, inputs=tuple(range(n)), output=n, input_zero_points=(0,) * n, output_zero_point=0,
        access=access, copy=copy_record(moves, access),
    )  # fmt: skip
    values = np.random.default_rng(case).integers(-128, 128, sum(r.nbytes for r in reads)).astype(np.int8)
    given = np.split(values, np.cumsum([r.nbytes for r in reads])[:-1])
    (found,) = host.run(_program(reads, writes, copy, writes.h, whole=whole), given, [writes.nbytes])
    np.testing.assert_array_equal(found, values[index.ravel()])


def test_rows_that_no_output_row_needs() -> None:
    """The last operand of a concatenation has more rows than the output."""
    index, reads = _joined(0, 2, 4), [Rows(2, 6, 5), Rows(4, 6, 5)]
    access, moves = by_rows(index, reads, Rows(6, 6, 5))
    copy = ProgramOp(
        kind=Kind.COPY, inputs=(0, 1), output=2, input_zero_points=(0, 0), output_zero_point=0, access=access,
        copy=copy_record(moves, access),
    )  # fmt: skip
    values = np.arange(180, dtype=np.uint8).view(np.int8)
    program = _program(reads, Rows(5, 6, 5), copy, 5, whole=True)
    (found,) = host.run(program, np.split(values, [60]), [150])
    np.testing.assert_array_equal(found, values[:150])


@pytest.mark.parametrize("bytes_", [1, 6])
def test_input_rows_are_scattered(bytes_: int) -> None:
    """Each iteration moves the pixels of an input row to places in the only output row."""
    (x,) = numbered([(3, 4, bytes_)])
    index, reads = x.transpose(1, 0, 2), Rows(3, 4, bytes_)
    moves = scattered(np.ascontiguousarray(index), reads)
    access = (Access(),)
    copy = ProgramOp(
        kind=Kind.COPY, inputs=(0,), output=1, input_zero_points=(0,), output_zero_point=0, access=access,
        copy=copy_record(moves, access), iterative=True,
    )  # fmt: skip
    values = np.arange(reads.nbytes, dtype=np.int8)
    (found,) = host.run(_program([reads], Rows(1, 12, bytes_), copy, 3, whole=False), [values], [reads.nbytes])
    np.testing.assert_array_equal(found, values[index.ravel()])
