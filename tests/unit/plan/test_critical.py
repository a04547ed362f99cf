"""Test which buffers bind a layout."""

from __future__ import annotations

from tflm_memopt.plan.layout.critical import Placed, critical
from tflm_memopt.plan.plan import Buffer, Role


def placed(*buffers: tuple[int, int, int, tuple[int, int]], align: int = 1) -> Placed:
    """Build a layout from (name, offset, end, steps)."""
    return [(Buffer(Role.TENSOR, key, end - at, *steps, align), at) for key, at, end, steps in buffers]


FIGURE = (
    (1, 40, 100, (3, 4)), (2, 0, 10, (1, 2)), (3, 10, 50, (1, 2)), (4, 50, 70, (1, 3)), (5, 70, 100, (1, 3)),
    (6, 30, 50, (2, 3)), (7, 0, 30, (2, 4)), (8, 80, 100, (0, 1)), (9, 0, 80, (0, 1)),
)  # fmt: skip
"""Figure 4.10 of the thesis: B1 also ends at the top, but rests on nothing."""


def test_the_thesis_example() -> None:
    assert [b.key for b in critical(placed(*FIGURE))] == [9, 3, 5, 7, 4, 6, 8, 2]


def test_smaller_ones_would_make_a_lower_layout() -> None:
    """If one buffer of each chain shrinks by a byte, the buffers above it move down."""
    without = placed(*(b for b in FIGURE if b[0] not in (1, 8, 9)))
    assert {b.key for b in critical(without)} == {2, 3, 4, 5, 6, 7}


def test_buffers_that_are_never_alive_together_do_not_carry_each_other() -> None:
    assert [b.key for b in critical(placed((1, 0, 50, (0, 1)), (2, 50, 100, (1, 2)), (3, 0, 100, (2, 3))))] == [3]


def test_alignment_is_no_gap_and_shared_bytes_are_none_either() -> None:
    layout = placed((1, 0, 30, (0, 1)), (2, 32, 64, (0, 1)), (3, 48, 90, (0, 1)), (4, 0, 70, (1, 2)), align=16)
    assert {b.key for b in critical(layout)} == {1, 2, 3}
    assert [b.key for b in critical(placed((1, 0, 30, (0, 1)), (2, 32, 64, (0, 1))))] == []


def test_nothing_placed() -> None:
    assert critical([]) == []
