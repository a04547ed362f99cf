"""tmo_check() refuses each kind of damage, with the status that says which."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tflm_memopt.errors import ModelError
from tflm_memopt.lower.program import HEADER, OP, Program, ProgramBlock, ProgramOp, ProgramTensor, pack
from tflm_memopt.model.rowop import Kind, Window
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status

IN, OUT = 8 * 6 * 2, 1 * 1 * 3


def good() -> Program:
    """CONV 3x3 into a ring, ADD of the ring with itself, iterative MEAN-like convolution over all that."""
    scale = {"multipliers": np.full(3, 1 << 30, np.int32), "shifts": np.full(3, -7, np.int8)}
    conv = ProgramOp(
        kind=Kind.CONV,
        inputs=(0,),
        producers=(None,),
        output=1,
        input_zero_points=(0,),
        output_zero_point=0,
        window=Window(3, 3, 1, 1, 1, 1, 1, 1),
        weights=np.ones((3, 3, 3, 2), np.int8),
        bias=np.zeros(3, np.int32),
        **scale,
    )
    add = dataclasses.replace(
        conv, kind=Kind.ADD, inputs=(1, 1), producers=(0, 0), output=2, input_zero_points=(0, 0), param=20,
        window=Window(), weights=None, bias=None,
    )  # fmt: skip
    whole = dataclasses.replace(
        conv, inputs=(2,), producers=(1,), output=3, window=Window(kernel_h=8, kernel_w=6), iterative=True, sink=True,
        accumulator=104, weights=np.ones((3, 8, 6, 3), np.int8),
    )  # fmt: skip
    tensors = (
        ProgramTensor(0, 8, 6, 2, 8, base=1),
        ProgramTensor(8, 8, 6, 3, 2),
        ProgramTensor(44, 8, 6, 3, 3),
        ProgramTensor(0, 1, 1, 3, 1, base=2),
    )
    return Program(1, 1, 116, 24, tensors, (conv, add, whole), (ProgramBlock(0, 3, 0),))


def tensor(i: int, **changes: Any) -> Callable[[Program], Program]:
    def change(p: Program) -> Program:
        return dataclasses.replace(
            p, tensors=(*p.tensors[:i], dataclasses.replace(p.tensors[i], **changes), *p.tensors[i + 1 :])
        )

    return change


def op(i: int, **changes: Any) -> Callable[[Program], Program]:
    def change(p: Program) -> Program:
        return dataclasses.replace(p, ops=(*p.ops[:i], dataclasses.replace(p.ops[i], **changes), *p.ops[i + 1 :]))

    return change


def window(i: int, **changes: int) -> Callable[[Program], Program]:
    return lambda p: op(i, window=dataclasses.replace(p.ops[i].window, **changes))(p)


def whole(**changes: Any) -> Callable[[Program], Program]:
    return lambda p: dataclasses.replace(p, **changes)


def softmax(**changes: Any) -> Callable[[Program], Program]:
    return op(1, kind=Kind.SOFTMAX, inputs=(1,), producers=(0,), input_zero_points=(0,), **changes)


REFUSED: list[tuple[str, Callable[[Program], Program], Status]] = [
    ("tensor outside of the workspace", tensor(1, offset=116 - 35), Status.TABLE),
    ("offset and size that overflow 32 bits", tensor(1, offset=0xFFFFFFFF), Status.TABLE),
    ("size of 64 bits", tensor(1, channels=0xFFFFFFFF, width=0xFFFF, height=0xFFFF, depth=0xFFFF), Status.TABLE),
    ("input larger than given", tensor(0, offset=1), Status.IO),
    ("output larger than given", tensor(3, channels=4), Status.IO),
    ("no such base", tensor(1, base=3), Status.TABLE),
    ("no rows", tensor(1, height=0), Status.TABLE),
    ("ring without rows", tensor(1, depth=0), Status.TABLE),
    ("ring deeper than the tensor", tensor(3, depth=2), Status.TABLE),
    ("no columns", tensor(1, width=0), Status.TABLE),
    ("no channels", tensor(1, channels=0), Status.TABLE),
    ("no such tensor", op(0, output=4), Status.OP),
    ("no such operand", op(0, inputs=(4,)), Status.OP),
    ("producer that comes later", op(1, producers=(0, 2)), Status.OP),
    ("its own producer", op(1, producers=(1, 0)), Status.OP),
    ("producer of another tensor", op(2, producers=(0,)), Status.OP),
    ("ring without a producer", op(1, producers=(0, None)), Status.OP),
    ("ADD of one operand", op(1, inputs=(1,), producers=(0,), input_zero_points=(0,)), Status.OP),
    ("CONV of two operands", op(0, inputs=(0, 0), producers=(None, None), input_zero_points=(0, 0)), Status.OP),
    ("empty activation range", op(0, activation=(1, 0)), Status.OP),
    ("no kernel", window(0, kernel_h=0), Status.OP),
    ("no stride", window(0, stride_w=0), Status.OP),
    ("no dilation", window(0, dilation_h=0), Status.OP),
    ("window in the padding only", window(0, pad_left=3), Status.OP),
    ("last window below the input", window(0, stride_h=2), Status.OP),
    ("last window beside the input", window(0, stride_w=2), Status.OP),
    ("window taller than the kernel takes", window(0, kernel_h=65, dilation_h=1), Status.OP),
    ("window that overflows", window(0, kernel_w=0xFFFF, dilation_w=0xFFFF), Status.OP),
    ("iterative, but not over all rows", window(2, kernel_h=7), Status.OP),
    ("iterative with padding", window(2, pad_top=1), Status.OP),
    ("iterative ADD", op(1, iterative=True), Status.OP),
    ("sums outside of the workspace", op(2, accumulator=108), Status.OP),
    ("misaligned sums", op(2, accumulator=102), Status.OP),
    ("no weights", op(0, weights=None), Status.OP),
    ("no multipliers", op(0, multipliers=None), Status.OP),
    ("no shifts", op(0, shifts=None), Status.OP),
    ("shift too far left", op(0, shifts=np.full(3, 31, np.int8)), Status.OP),
    ("shift too far right", op(0, shifts=np.full(3, -32, np.int8)), Status.OP),
    ("weights too short", window(2, kernel_w=200), Status.OP),
    ("ADD with a window", window(1, kernel_h=2), Status.OP),
    ("ADD with too large a shift", op(1, param=23), Status.OP),
    ("SOFTMAX that counts nothing", softmax(param=1), Status.OP),
    ("depth multiplier 3/2", op(0, kind=Kind.DEPTHWISE), Status.OP),
    ("pool of other channels", op(0, kind=Kind.MAX_POOL), Status.OP),
    ("dilated pool", op(0, kind=Kind.MAX_POOL, output=0, window=Window(3, 3, 1, 1, 2, 1, 1, 1)), Status.OP),
    ("block that starts elsewhere", whole(blocks=(ProgramBlock(1, 2, 0),)), Status.TABLE),
    ("block without operators", whole(blocks=(ProgramBlock(0, 0, 0), ProgramBlock(0, 3, 0))), Status.TABLE),
    ("block beyond the table", whole(blocks=(ProgramBlock(0, 4, 0),)), Status.TABLE),
    ("operators in no block", whole(blocks=(ProgramBlock(0, 2, 0),)), Status.TABLE),
    ("counters outside of the workspace", whole(blocks=(ProgramBlock(0, 3, 112),)), Status.TABLE),
    ("misaligned counters", whole(blocks=(ProgramBlock(0, 3, 1),)), Status.TABLE),
    ("no firings", whole(firings=0), Status.FIRINGS),
    ("another core", whole(target=7), Status.TARGET),
    ("another number of inputs", whole(n_inputs=0, n_outputs=2), Status.IO),
]  # fmt: skip


def test_the_good_one_is_accepted_and_runs() -> None:
    program = pack(good())
    assert host.check(program, [IN], [OUT]) is Status.OK
    assert len(host.run(program, [np.zeros(IN, np.int8)], [OUT])[0]) == OUT


@pytest.mark.parametrize(("damage", "status"), [pytest.param(d, s, id=name) for name, d, s in REFUSED])
def test_damage_is_refused(damage: Callable[[Program], Program], status: Status) -> None:
    assert host.check(pack(damage(good())), [IN], [OUT]) is status


def patched(layout: np.dtype[np.void], at: int, **values: int) -> bytes:
    image = bytearray(pack(good()))
    record = np.frombuffer(image, layout, 1, at)
    for name, value in values.items():
        record[name] = value
    return bytes(image)


@pytest.mark.parametrize(
    ("image", "status"),
    [
        (patched(HEADER, 0, magic=1), Status.MAGIC),
        (patched(HEADER, 0, version=2), Status.VERSION),
        (patched(HEADER, 0, size=1 << 20), Status.TRUNCATED),
        (patched(HEADER, 0, size=8), Status.TABLE),
        (patched(HEADER, 0, ops=1 << 20), Status.TABLE),
        (patched(HEADER, 0, ops=58), Status.TABLE),
        (patched(HEADER, 0, n_tensors=0xFFFF), Status.TABLE),
        (patched(OP, 56 + 4 * 16, kind=9), Status.OP),
        (patched(OP, 56 + 4 * 16, kind=0), Status.OP),
        (patched(OP, 56 + 4 * 16, flags=8), Status.OP),
        (patched(OP, 56 + 4 * 16, multipliers=58), Status.OP),
        (patched(OP, 56 + 4 * 16, bias=1 << 20), Status.OP),
        (pack(good())[:40], Status.TRUNCATED),
        (pack(good())[:-1], Status.TRUNCATED),
        (b"", Status.TRUNCATED),
    ],
)
def test_damaged_bytes_are_refused(image: bytes, status: Status) -> None:
    assert host.check(image, [IN], [OUT]) is status


def test_too_small_a_workspace_is_refused() -> None:
    assert host.check(pack(good()), [IN], [OUT], workspace=115) is Status.IO


def test_every_status_has_its_own_text() -> None:
    texts = {status.text for status in Status}
    assert len(texts) == len(Status)
    assert "unknown status" not in texts


def test_run_says_why_a_program_is_refused() -> None:
    with pytest.raises(ModelError, match=r"refuses the program: .* copy the whole model"):
        host.run(pack(good())[:-1], [np.zeros(IN, np.int8)], [OUT])
