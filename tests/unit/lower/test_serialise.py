"""A program that is written to bytes and read again is unchanged."""

import dataclasses

import numpy as np
import pytest

from tflm_memopt.errors import ModelError, PlanError
from tflm_memopt.lower.program import ColumnWindowRecord, NestRecord, Program, ProgramGroup, ProgramOp, ProgramTensor
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import UNIT, Window
from tflm_memopt.plan.loops import Iteration, Loops, Repeat

ARRAYS = ("weights", "bias", "multipliers", "shifts")
LOOPS: Loops = (Repeat(2, (Iteration(0), Iteration(0), Iteration(1))),)


def example() -> Program:
    rng = np.random.default_rng(1)
    scaling = {"multipliers": np.full(4, 1 << 30, np.int32), "shifts": np.full(4, -7, np.int8)}
    conv = ProgramOp(
        kind=Kind.CONV,
        inputs=(0,),
        output=1,
        input_zero_points=(-3,),
        output_zero_point=5,
        window=Window(3, 3, 2, 2, 1, 1, 1, 1),
        activation=(5, 127),
        weights=rng.integers(-127, 128, (4, 3, 3, 2), dtype=np.int8),
        bias=rng.integers(-1000, 1000, 4, dtype=np.int32),
        **scaling,
    )
    depthwise = dataclasses.replace(
        conv, kind=Kind.DEPTHWISE, inputs=(1,), output=2, weights=np.ones((3, 3, 4), np.int8)
    )
    tensors = (
        ProgramTensor(0, 8, 6, 2, 8, base=1),
        ProgramTensor(16, 4, 3, 4, 3),
        ProgramTensor(0, 2, 2, 4, 2, base=2),
    )
    return Program(1, 1, 64, 6, tensors, (conv, depthwise), (ProgramGroup(0, 2, 0, LOOPS),))


def grouped() -> Program:
    program = example()
    conv, depthwise = (dataclasses.replace(op, tile=3, channel_groups=2, group_channels=3) for op in program.ops)
    total = dataclasses.replace(
        conv, inputs=(2,), output=3, window=UNIT, weights=np.ones((4, 1, 1, 4), np.int8),
        accumulator=16, sums=True,
    )  # fmt: skip
    source, first, second = program.tensors
    tensors = (
        source,
        dataclasses.replace(
            first, column_windows=(ColumnWindowRecord(64, 9, 2), ColumnWindowRecord(91, 3, 1)), nest=NestRecord(2, 2, 3)
        ),
        dataclasses.replace(second, base=0, column_windows=(ColumnWindowRecord(100, 2, 1),), nest=NestRecord(1, 1, 1)),
        dataclasses.replace(second, nest=NestRecord(1, -1, 1)),
    )
    return Program(1, 1, 128, 6, tensors, (conv, depthwise, total), (ProgramGroup(0, 3, 0, LOOPS, stripes=2),))


def looped(loops: Loops) -> Program:
    program = example()
    return dataclasses.replace(program, groups=(dataclasses.replace(program.groups[0], loops=loops),))


@pytest.mark.parametrize(
    "program",
    [
        example(), grouped(), looped((Iteration(0xFB), Iteration(0xFC))),
        looped((Iteration(1, 300), Iteration(0x102))), looped((Repeat(3, LOOPS), *LOOPS)),
    ],
)  # fmt: skip
def test_round_trip(program: Program) -> None:
    again = unpack(pack(program))
    assert again == program
    for before, after in zip(program.ops, again.ops, strict=True):
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(before, name), getattr(after, name), err_msg=name)


@pytest.mark.parametrize("item", [Repeat(1 << 16, LOOPS), Iteration(1 << 16), Iteration(0, 1 << 16)])
def test_a_loop_beyond_its_field_is_refused(item: Iteration | Repeat) -> None:
    with pytest.raises(PlanError, match=r"a program can only hold 0 to 65535"):
        pack(looped((item,)))


def test_what_does_not_fit_its_field_is_refused() -> None:
    program = example()
    wide = dataclasses.replace(program.tensors[0], width=70000)
    with pytest.raises(PlanError, match=r"width is 70000, but a program can only hold 0 to 65535\n  at tensor 0"):
        pack(dataclasses.replace(program, tensors=(wide, *program.tensors[1:])))


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:20], lambda b: b"TMO9" + b[4:], lambda b: b""])
def test_damaged_bytes_are_no_program(damage: object) -> None:
    with pytest.raises(ModelError, match="program"):
        unpack(damage(pack(example())))  # type: ignore[operator]
