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


def test_smaller_ones_would_make_a_lower_layout() -> None:
    """If one buffer of each chain shrinks by a byte, the buffers above it move down."""
    without = placed(*(b for b in FIGURE if b[0] not in (1, 8, 9)))
    assert {b.key for b in critical(without)} == {2, 3, 4, 5, 6, 7}
