"""Kinds of operators: one row in Python, one in C, and both say the same."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tflm_memopt.ops.kinds import KINDS, WIDE, Channels, Constants, Kind

TABLE = Path(__file__).parents[3] / "custom_ops/include/tmo/kinds.def"
ACCESSED = {"copy", "resize", "transpose_conv", "batch_matmul", "lstm", "sliding_sum", "add_sums"}
ELEMENTWISE = {"binary", "lookup", "mapped", "convert"}


def rows() -> dict[str, list[str]]:
    """The columns of each row of the C table."""
    found = re.findall(r"^  KIND\((.*?)\)", TABLE.read_text(), re.MULTILINE)
    return {name: columns for name, *columns in (re.split(r",\s*", row) for row in found)}


def test_every_kind_has_a_row_in_both_languages() -> None:
    assert set(rows()) == {kind.name for kind in Kind} == {kind.name for kind in KINDS}


@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name)
def test_the_rows_say_the_same(kind: Kind) -> None:
    value, reads, writes, operands, scales, family, channels, *_ = rows()[kind.name]
    traits = KINDS[kind]
    assert (int(value), int(reads), int(writes)) == (kind, traits.reads, traits.writes)
    assert (None if operands == "TMO_ANY_NUMBER" else int(operands)) == traits.operands
    assert (None if scales == "TMO_PER_CHANNEL" else int(scales)) == traits.scales
    assert Channels[channels] is traits.channels
    assert (family in ACCESSED) == traits.has_access
    assert (family in ELEMENTWISE) == traits.elementwise
    assert (family == "pool") == traits.pools
    assert (family == "sliding_sum") == traits.runs_along
    assert (family in {"filter", "transpose_conv", "add_sums"}) == traits.biased == (traits.scales is None)


def test_kinds_of_int16_differ_from_their_twins_in_bytes_alone() -> None:
    for narrow, wide in WIDE.items():
        a, b = KINDS[narrow], KINDS[wide]
        assert (b.reads, b.writes) == (2, 2)
        assert b == replace(a, reads=2, writes=2)


def test_kernel_axes_are_those_of_the_windows_rows_and_columns() -> None:
    assert Constants.FILTER.kernel_axes == (1, 2)
    assert Constants.DEPTHWISE_FILTER.kernel_axes == (0, 1)
    assert Constants.BYTES.kernel_axes == ()
