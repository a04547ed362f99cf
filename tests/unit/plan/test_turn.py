"""Blocks that fire from the last row to the first: what their buffers hold."""

from __future__ import annotations

import numpy as np

from tflm_memopt.plan.firing.liveness import Content
from tflm_memopt.plan.firing.turned import in_units, mirrored
from tflm_memopt.plan.plan import Role


def content(role: Role, nbytes: int, top: list[int]) -> Content:
    return Content(role, 1, nbytes, np.zeros(len(top), np.int64), np.array(top), np.array(top))


def test_of_a_whole_tensor_whole_rows_are_written() -> None:
    (found,) = in_units([content(Role.TENSOR, 40, [0, 3, 17, 40])], {1: 10})
    assert found.top.tolist() == found.before.tolist() == [0, 10, 20, 40]


def test_a_scratch_is_taken_whole() -> None:
    """A firing that wants less of it takes its first bytes: they would lie on its last ones in a mirrored arena."""
    (found,) = in_units([content(Role.SCRATCH, 336, [0, 240, 336, 0])], {})
    assert found.top.tolist() == found.before.tolist() == [0, 336, 336, 0]


def test_separations_from_whole_tensors_are_mirrored() -> None:
    """What must lie 30 bytes above lies so much below the end, 20 bytes longer."""
    buffers = [content(Role.TENSOR, 50, [50]), content(Role.TENSOR, 70, [70]), content(Role.RING, 9, [9])]
    distances = {(0, 1): 30, (1, 0): 70, (2, 2): 9}
    assert mirrored(buffers, distances) == {(0, 1): 70 + 50 - 70, (1, 0): 30 + 70 - 50, (2, 2): 9}
