"""Test tmo_check() on tiled groups: stripes, column windows, channel groups, sums."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from kernels.loops import times
from kernels.samples import (
    IN,
    OUT,
    TILED_LOOPS,
    TILED_OP,
    Change,
    both,
    column_window,
    good,
    grouped,
    nest,
    op,
    patched,
    stripes,
    tensor,
    tiled,
    whole,
    window,
)

from tflm_memopt.format.codes import Flags
from tflm_memopt.lower.program import (
    HEADER,
    OP,
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
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status

REFUSED_TILED = [
    ("no tile", op(1, tile=0)),
    ("counters outside of the workspace", whole(groups=(ProgramGroup(0, 4, 494, TILED_LOOPS, 2),))),
    ("no stripes", stripes(0)),
    ("no stripes for a tensor", nest(2, advance=0)),
    ("stripes of less than they advance", nest(2, advance=5)),
    ("stripes beyond all rows", both(stripes(0xFFFF), nest(4, advance=0x4000, rows=0x4000))),
    ("column windows of fewer rows than a stripe", column_window(1, rows=1)),
    ("column windows of more rows than a stripe", column_window(1, rows=3)),
    ("empty column window", column_window(1, depth=0)),
    ("column window outside of the workspace", column_window(3, offset=453)),
    ("column window that is too deep", column_window(3, depth=25)),
    ("column window that is too deep, counted in 64 bits", column_window(3, depth=0x55555556)),
    ("column windows of what comes from outside", tensor(0, column_windows=(ColumnWindowRecord(0, 1, 1),))),
    ("more taps than are gathered", window(1, kernel_h=5, kernel_w=13)),
    ("iterative over what is computed again", both(nest(3, rows=5), column_window(3, rows=5))),
    ("sums of a group outside of the workspace", op(2, accumulator=524 - 287)),
    ("misaligned sums of a group", op(2, accumulator=34)),
    ("too few channels in groups", grouped(2, 1)),
    ("an empty group", grouped(3, 2)),
    ("no channels in a group", grouped(2, 0)),
    ("a reader of groups of another size", op(1, group_channels=3)),
    ("a reader of all groups at once", op(1, channel_groups=1)),
    ("groups in an iterative operator", op(3, channel_groups=2, group_channels=2)),
    ("SOFTMAX in groups", op(1, kind=Kind.SOFTMAX, window=Window(), param=0)),
    ("groups of more channels than are read", both(op(1, weights=np.ones((3, 3, 8), np.int8)), tensor(2, channels=8))),
]  # fmt: skip


def test_the_tiled_one_is_accepted_and_runs() -> None:
    program = pack(tiled())
    assert host.check(program, [IN], [OUT]) is Status.OK
    assert len(host.run(program, [np.zeros(IN, np.int8)], [OUT])[0]) == OUT


def test_one_record_for_what_is_made_in_groups_and_then_whole() -> None:
    """The last operator that makes a tensor defines its layout: two layouts may share a place."""
    program = tiled()
    *front, whole = program.ops
    again = dataclasses.replace(
        front[2],
        inputs=(3,),
        output=2,
        channel_groups=0,
        group_channels=0,
        sums=False,
        weights=np.ones((4, 1, 1, 3), np.int8),
    )
    column_windows = tuple(
        dataclasses.replace(rolling_buffer, offset=476) for rolling_buffer in program.tensors[2].column_windows
    )
    shared = dataclasses.replace(program.tensors[2], column_windows=column_windows)
    ops = (
        *front,
        again,
        dataclasses.replace(whole, inputs=(2,), weights=np.ones((3, 8, 6, 4), np.int8), accumulator=320),
    )
    image = pack(
        dataclasses.replace(
            program, ops=ops, tensors=(*program.tensors[:2], shared, *program.tensors[3:]), workspace=700,
            groups=(ProgramGroup(0, 5, 0, TILED_LOOPS, 2),),
        )
    )  # fmt: skip
    assert host.check(image, [IN], [OUT]) is Status.OK


@pytest.mark.parametrize("damage", [pytest.param(d, id=name) for name, d in REFUSED_TILED])
def test_damage_of_tiles_is_refused(damage: Change) -> None:
    status = host.check(pack(damage(tiled())), [IN], [OUT])
    assert status in (Status.OP, Status.TABLE)


@pytest.mark.parametrize(("width", "status"), [(4, Status.OK), (1 << 15, Status.OP)])
def test_sums_are_counted_beyond_32_bits(width: int, status: Status) -> None:
    """A rolling buffer of one pixel stays small for any row width, but an iterative operator's sums cover all
    pixels.
    """
    channels = 1 << 17
    scale = {"multipliers": np.full(1, 1 << 30, np.int32), "shifts": np.zeros(1, np.int8)}
    weights = np.ones((channels, 1, 1, 1), np.int8)
    conv = ProgramOp(Kind.CONV, (0,), 1, (0,), 0, weights=weights, tile=1, **scale)
    pool = ProgramOp(Kind.AVERAGE_POOL, (1,), 2, (0,), 0, tile=1, iterative=True, accumulator=16 + 2 * channels)
    column_windows, nest = ((ColumnWindowRecord(16 + at, 1, 1),) for at in (0, channels)), NestRecord(1, 1, 1)
    tensors = (
        ProgramTensor(0, 1, width, 1, 1, base=1),
        *(
            ProgramTensor(0, 1, width, channels, 1, column_windows=column_window, nest=nest)
            for column_window in column_windows
        ),
    )
    groups = (ProgramGroup(0, 2, 0, (*times(width), *times(width, stage=1)), 1),)
    image = pack(Program(1, 0, 16 + 18 * channels, 2 * width, tensors, (conv, pool), groups))
    assert host.check(image, [width], []) is status


@pytest.mark.parametrize(
    "damage",
    [
        tensor(1, column_windows=(ColumnWindowRecord(0, 1, 1),)),
        op(0, tile=1),
        op(0, channel_groups=2, group_channels=2),
    ],
    ids=["column_windows", "tile", "channel_groups"],
)
def test_a_row_group_has_no_tiles(damage: Change) -> None:
    assert host.check(pack(damage(good())), [IN], [OUT]) is Status.OP


@pytest.mark.parametrize(
    "image",
    [
        patched(OP, TILED_OP + OP.itemsize, tiled(), flags=Flags.SUMS),
        patched(OP, TILED_OP, grouped(0, 0)(tiled()), flags=Flags.SUMS),
        patched(TENSOR, HEADER.itemsize + TENSOR.itemsize, tiled(), column_windows=1 << 20),
        patched(TENSOR, HEADER.itemsize + TENSOR.itemsize, tiled(), column_windows=2),
        patched(TENSOR, HEADER.itemsize + TENSOR.itemsize, tiled(), n_column_windows=0xFFFF),
    ],
    ids=[
        "sums of a DEPTHWISE",
        "sums without groups",
        "column windows outside",
        "misaligned column windows",
        "too many column windows",
    ],
)
def test_damaged_bytes_of_tiles_are_refused(image: bytes) -> None:
    assert host.check(image, [IN], [OUT]) is Status.OP
