"""Two valid programs, and functions that damage a program."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tflm_memopt.lower.program import (
    HEADER,
    TENSOR,
    ColumnWindowRecord,
    NestRecord,
    Program,
    ProgramGroup,
    ProgramOp,
    ProgramTensor,
)
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Window
from tflm_memopt.plan.loops import Iteration, Loops, Repeat

Change = Callable[[Program], Program]

IN, OUT = 8 * 6 * 2, 1 * 1 * 3
FIRST_OP = HEADER.itemsize + 4 * TENSOR.itemsize
TILED_OP = HEADER.itemsize + 5 * TENSOR.itemsize


def _looped(*items: int | tuple[int, str]) -> Loops:
    """Each argument is an operator's index, or a tuple with the number of repetitions and the operators to repeat."""
    return tuple(
        Iteration(item) if isinstance(item, int) else Repeat(item[0], tuple(Iteration(int(c)) for c in item[1]))
        for item in items
    )


GOOD_LOOPS = _looped((8, "012"))
TILED_LOOPS: Loops = (
    Repeat(2, _looped((7, "0"), (3, "120"), (5, "12"))),
    *_looped((8, "23")),
    Repeat(2, _looped((8, "0"), (2, "120"), (6, "12"))),
    *_looped((8, "23")),
)


def good() -> Program:
    """Return a program of three operators: a convolution 3x3, an ADD, and a convolution that adds up all rows."""
    scale = {"multipliers": np.full(3, 1 << 30, np.int32), "shifts": np.full(3, -7, np.int8)}
    conv = ProgramOp(
        kind=Kind.CONV,
        inputs=(0,),
        output=1,
        input_zero_points=(0,),
        output_zero_point=0,
        window=Window(3, 3, 1, 1, 1, 1, 1, 1),
        weights=np.ones((3, 3, 3, 2), np.int8),
        bias=np.zeros(3, np.int32),
        **scale,
    )
    add = dataclasses.replace(
        conv, kind=Kind.ADD, inputs=(1, 1), output=2, input_zero_points=(0, 0), param=20,
        window=Window(), weights=None, bias=None,
    )  # fmt: skip
    whole = dataclasses.replace(
        conv, inputs=(2,), output=3, window=Window(kernel_h=8, kernel_w=6), iterative=True,
        accumulator=104, weights=np.ones((3, 8, 6, 3), np.int8),
    )  # fmt: skip
    tensors = (
        ProgramTensor(0, 8, 6, 2, 8, base=1),
        ProgramTensor(8, 8, 6, 3, 2),
        ProgramTensor(44, 8, 6, 3, 3),
        ProgramTensor(0, 1, 1, 3, 1, base=2),
    )
    return Program(1, 1, 116, 24, tensors, (conv, add, whole), (ProgramGroup(0, 3, 0, GOOD_LOOPS),))


def tiled() -> Program:
    """Return a bottleneck and a convolution that run in two stripes, two tiles and two groups of channels."""
    conv, _, whole = good().ops
    expand = dataclasses.replace(
        conv, window=Window(), tile=4, channel_groups=2, group_channels=2,
        weights=np.ones((4, 1, 1, 2), np.int8), bias=None,
        multipliers=np.full(1, 1 << 30, np.int32), shifts=np.full(1, -7, np.int8),
    )  # fmt: skip
    depthwise = dataclasses.replace(
        expand, kind=Kind.DEPTHWISE, inputs=(1,), output=2, window=conv.window,
        weights=np.ones((3, 3, 4), np.int8),
    )  # fmt: skip
    project = dataclasses.replace(
        expand, inputs=(2,), output=3, weights=np.ones((3, 1, 1, 4), np.int8), accumulator=32, sums=True,
    )  # fmt: skip
    whole = dataclasses.replace(whole, inputs=(3,), output=4, accumulator=320, tile=4)
    tensors = (
        ProgramTensor(0, 8, 6, 2, 8, base=1),
        ProgramTensor(
            0, 8, 6, 4, 8, 0, (ColumnWindowRecord(332, 12, 2), ColumnWindowRecord(356, 24, 4)), NestRecord(4, 5, 6)
        ),
        ProgramTensor(0, 8, 6, 4, 8, 0, (ColumnWindowRecord(404, 24, 4),), NestRecord(4, 4, 4)),
        ProgramTensor(0, 8, 6, 3, 8, 0, (ColumnWindowRecord(452, 24, 4),), NestRecord(4, 4, 4)),
        ProgramTensor(0, 1, 1, 3, 1, 2, (), NestRecord(1, 0, 1)),
    )
    ops = (expand, depthwise, project, whole)
    return Program(1, 1, 524, 40 + 32 + 48 + 16, tensors, ops, (ProgramGroup(0, 4, 0, TILED_LOOPS, 2),))


def tensor(i: int, **changes: Any) -> Change:
    def change(p: Program) -> Program:
        return dataclasses.replace(
            p, tensors=(*p.tensors[:i], dataclasses.replace(p.tensors[i], **changes), *p.tensors[i + 1 :])
        )

    return change


def op(i: int, **changes: Any) -> Change:
    def change(p: Program) -> Program:
        return dataclasses.replace(p, ops=(*p.ops[:i], dataclasses.replace(p.ops[i], **changes), *p.ops[i + 1 :]))

    return change


def window(i: int, **changes: int) -> Change:
    return lambda p: op(i, window=dataclasses.replace(p.ops[i].window, **changes))(p)


def whole(**changes: Any) -> Change:
    return lambda p: dataclasses.replace(p, **changes)


def softmax(**changes: Any) -> Change:
    return op(1, kind=Kind.SOFTMAX, inputs=(1,), input_zero_points=(0,), **changes)


def column_window(i: int, **changes: int) -> Change:
    return lambda p: tensor(
        i,
        column_windows=(
            dataclasses.replace(p.tensors[i].column_windows[0], **changes),
            *p.tensors[i].column_windows[1:],
        ),
    )(p)


def nest(i: int, **changes: int) -> Change:
    return lambda p: tensor(i, nest=dataclasses.replace(p.tensors[i].nest or NestRecord(0, 0, 0), **changes))(p)


def stripes(n: int) -> Change:
    return whole(groups=(ProgramGroup(0, 4, 0, TILED_LOOPS, n),))


def grouped(channel_groups: int, channels: int) -> Change:
    return both(*(op(i, channel_groups=channel_groups, group_channels=channels) for i in range(3)))


def both(*changes: Change) -> Change:
    return lambda p: functools.reduce(lambda q, change: change(q), changes, p)


def patched(layout: np.dtype[np.void], at: int, program: Program | None = None, **values: int) -> bytes:
    image = bytearray(pack(program or good()))
    record = np.frombuffer(image, layout, 1, at)
    for name, value in values.items():
        record[name] = value
    return bytes(image)
