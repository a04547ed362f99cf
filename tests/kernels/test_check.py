"""tmo_check() refuses each kind of damage to a program with the right status."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from models import Net

from kernels.samples import (
    FIRST_OP,
    GOOD_LOOPS,
    IN,
    OUT,
    TILED_OP,
    Change,
    good,
    grouped,
    op,
    patched,
    softmax,
    tensor,
    tiled,
    whole,
    window,
)
from tflm_memopt import optimize
from tflm_memopt.format.codes import Flags, InputPlace, RowLayout
from tflm_memopt.lower.program import HEADER, OP, TENSOR, ColumnWindowRecord, Program, ProgramGroup
from tflm_memopt.lower.serialise import pack
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Window
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status
from tflm_memopt.runtime.regions import regions

SECOND_TENSOR = HEADER.itemsize + TENSOR.itemsize
REFUSED: list[tuple[str, Change, Status]] = [
    ("tensor outside of the workspace", tensor(1, offset=116 - 35), Status.TABLE),
    ("offset and size that overflow 32 bits", tensor(1, offset=0xFFFFFFFF), Status.TABLE),
    ("size of 64 bits", tensor(1, channels=0xFFFFFFFF, width=0xFFFF, height=0xFFFF, depth=0xFFFF), Status.TABLE),
    ("rows of 2**32 bytes", tensor(1, channels=1 << 28, width=16), Status.TABLE),
    ("input larger than given", tensor(0, offset=1), Status.IO),
    ("output larger than given", tensor(3, channels=4), Status.IO),
    ("no such base", tensor(1, base=3), Status.TABLE),
    ("no rows", tensor(1, height=0), Status.TABLE),
    ("rolling buffer without rows", tensor(1, depth=0), Status.TABLE),
    ("rolling buffer deeper than the tensor", tensor(3, depth=2), Status.TABLE),
    ("no columns", tensor(1, width=0), Status.TABLE),
    ("no channels", tensor(1, channels=0), Status.TABLE),
    ("nothing to do", whole(ops=(), groups=()), Status.TABLE),
    ("no such tensor", op(0, output=4), Status.OP),
    ("no such operand", op(0, inputs=(4,)), Status.OP),
    ("ADD of one operand", op(1, inputs=(1,), input_zero_points=(0,)), Status.OP),
    ("CONV of two operands", op(0, inputs=(0, 0), input_zero_points=(0, 0)), Status.OP),
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
    ("group that starts elsewhere", whole(groups=(ProgramGroup(1, 2, 0, GOOD_LOOPS),)), Status.TABLE),
    ("group without operators", whole(groups=(ProgramGroup(0, 0, 0, ()), ProgramGroup(0, 3, 0, ()))), Status.TABLE),
    ("group beyond the table", whole(groups=(ProgramGroup(0, 4, 0, GOOD_LOOPS),)), Status.TABLE),
    ("operators in no group", whole(groups=(ProgramGroup(0, 2, 0, GOOD_LOOPS),)), Status.TABLE),
    ("counters outside of the workspace", whole(groups=(ProgramGroup(0, 3, 112, GOOD_LOOPS),)), Status.TABLE),
    ("misaligned counters", whole(groups=(ProgramGroup(0, 3, 1, GOOD_LOOPS),)), Status.TABLE),
    ("several operators in one call", whole(groups=(ProgramGroup(0, 3, 0, GOOD_LOOPS, whole=1),)), Status.TABLE),
    ("no iterations", whole(iterations=0), Status.ITERATIONS),
    ("column windows in rows", tensor(1, column_windows=(ColumnWindowRecord(0, 1, 1),)), Status.OP),
    ("tiles in rows", op(0, tile=1), Status.OP),
    ("groups of channels in rows", op(0, channel_groups=2, group_channels=2), Status.OP),
    ("another core", whole(target=7), Status.TARGET),
    ("another number of inputs", whole(n_inputs=0, n_outputs=2), Status.IO),
]  # fmt: skip


@pytest.mark.parametrize("program", [good, tiled])
def test_a_good_program_is_accepted_and_runs(program: Callable[[], Program]) -> None:
    image = pack(program())
    assert host.check(image, [IN], [OUT]) is Status.OK
    assert len(host.run(image, [np.zeros(IN, np.int8)], [OUT])[0]) == OUT


@pytest.mark.parametrize(("damage", "status"), [pytest.param(d, s, id=name) for name, d, s in REFUSED])
def test_damage_is_refused(damage: Change, status: Status) -> None:
    assert host.check(pack(damage(good())), [IN], [OUT]) is status


def test_tensors_are_inside_the_declared_slow_memory() -> None:
    program = dataclasses.replace(tensor(1, base=3, offset=16)(good()), slow=16 + 2 * 6 * 3)
    assert host.check(pack(program), [IN], [OUT]) is Status.OK
    small = dataclasses.replace(program, slow=program.slow - 1)
    assert host.check(pack(small), [IN], [OUT]) is Status.IO
    assert host.check(pack(small), [IN], [OUT], slow=0xFFFFFFFF) is Status.IO


@pytest.mark.parametrize(
    ("program", "number", "layout", "status"),
    [
        (good, 0, RowLayout.ROWS_REVERSED, Status.OK),
        (good, 0, RowLayout.PIXELS_REVERSED, Status.OP),
        (good, 0, RowLayout.PIXELS_REVERSED + 1, Status.TABLE),
        (good, 1, RowLayout.ROWS_REVERSED, Status.TABLE),
        (tiled, 0, RowLayout.PIXELS_REVERSED, Status.OK),
        (tiled, 1, RowLayout.PIXELS_REVERSED, Status.TABLE),
    ],
)
def test_only_what_is_whole_is_reversed(
    program: Callable[[], Program], number: int, layout: int, status: Status
) -> None:
    assert host.check(pack(tensor(number, layout=layout)(program())), [IN], [OUT]) is status


@pytest.mark.parametrize(
    ("image", "status"),
    [
        (patched(HEADER, 0, magic=1), Status.MAGIC),
        (patched(HEADER, 0, version=1), Status.VERSION),
        (patched(HEADER, 0, version=9), Status.VERSION),
        (patched(HEADER, 0, size=1 << 20), Status.TRUNCATED),
        (patched(HEADER, 0, size=8), Status.TABLE),
        (patched(HEADER, 0, ops=1 << 20), Status.TABLE),
        (patched(HEADER, 0, ops=58), Status.TABLE),
        (patched(HEADER, 0, n_tensors=0xFFFF), Status.TABLE),
        (patched(OP, FIRST_OP, kind=9), Status.OP),
        (patched(OP, FIRST_OP, kind=0), Status.KERNEL),
        (patched(OP, FIRST_OP, flags=32), Status.OP),
        (patched(OP, FIRST_OP, multipliers=58), Status.OP),
        (patched(OP, FIRST_OP, bias=1 << 20), Status.OP),
        (patched(OP, TILED_OP + OP.itemsize, tiled(), flags=Flags.SUMS), Status.OP),
        (patched(OP, TILED_OP, grouped(0, 0)(tiled()), flags=Flags.SUMS), Status.OP),
        (patched(TENSOR, SECOND_TENSOR, tiled(), column_windows=1 << 20), Status.OP),
        (patched(TENSOR, SECOND_TENSOR, tiled(), column_windows=2), Status.OP),
        (patched(TENSOR, SECOND_TENSOR, tiled(), n_column_windows=0xFFFF), Status.OP),
        (pack(good())[:40], Status.TRUNCATED),
        (pack(good())[:-1], Status.TRUNCATED),
        (b"", Status.TRUNCATED),
    ],
)
def test_damaged_bytes_are_refused(image: bytes, status: Status) -> None:
    assert host.check(image, [IN], [OUT]) is status


@pytest.mark.parametrize(("mode", "status"), [(InputPlace.ARENA, Status.OK), (InputPlace.EXTERNAL, Status.TABLE)])
def test_a_source_has_no_older_rows(mode: int, status: Status) -> None:
    """An external input keeps no rows of earlier inferences, because operators read it in the caller's buffer."""
    net = Net(0)
    data = net.model(net.conv2d(net.input((1, 8, 4, 2)), 4, kernel=(3, 1), padding="VALID"))
    (region,) = regions(read(optimize(data, input="sliding:1").model))
    image = bytearray(region.program)
    header = np.frombuffer(image, HEADER, 1)
    header["input"] = mode
    tensors = np.frombuffer(image, TENSOR, header["n_tensors"][0], header["tensors"][0])
    (kept,) = {*tensors["layout"].tolist()} - {0}
    tensors["layout"][tensors["base"] == 1] = kept
    assert host.check(bytes(image), [4 * 2], [6 * 4 * 4]) is status
