"""Test tmo_check() on programs that compute in tiles."""

import numpy as np
import pytest

from kernels.samples import (
    IN,
    OUT,
    TILED_LOOPS,
    Change,
    both,
    column_window,
    grouped,
    nest,
    op,
    stripes,
    tensor,
    tiled,
    whole,
    window,
)
from tflm_memopt.lower.program import ColumnWindowRecord, ProgramGroup
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Window
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status

REFUSED_TILED = [
    ("whole rows from column windows", op(1, tile=0, channel_groups=0)),
    ("whole rows into column windows", op(0, tile=0)),
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


@pytest.mark.parametrize("damage", [pytest.param(d, id=name) for name, d in REFUSED_TILED])
def test_damage_of_tiles_is_refused(damage: Change) -> None:
    status = host.check(pack(damage(tiled())), [IN], [OUT])
    assert status in (Status.OP, Status.TABLE)
