"""Test kinds of operators."""

from __future__ import annotations

from dataclasses import replace

from tflm_memopt.ops.kinds import KINDS, WIDE, Constants


def test_kinds_of_int16_differ_from_their_twins_in_bytes_alone() -> None:
    for narrow, wide in WIDE.items():
        a, b = KINDS[narrow], KINDS[wide]
        assert (b.reads, b.writes) == (2, 2)
        assert b == replace(a, reads=2, writes=2)


def test_kernel_axes_are_those_of_the_windows_rows_and_columns() -> None:
    assert Constants.FILTER.kernel_axes == (1, 2)
    assert Constants.DEPTHWISE_FILTER.kernel_axes == (0, 1)
    assert Constants.BYTES.kernel_axes == ()
