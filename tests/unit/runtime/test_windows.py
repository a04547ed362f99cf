"""Test sliding windows as verify feeds them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tflm_memopt.model.graph import Graph, Tensor
from tflm_memopt.runtime.stimuli import Steps
from tflm_memopt.runtime.windows import Slide, whole, windows

WINDOW = Tensor(0, "window", (1, 7, 1, 2), "INT8")
GRAPH = Graph({0: WINDOW}, (), (0,), ())


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_windows_are_those_of_one_sequence(rows: int) -> None:
    runs = windows(GRAPH, WINDOW, 2 * rows, Steps(9, 4), seed=1)
    assert [run.label for run in runs] == [f"step {step}" for step in range(9)]
    assert [run.reset for run in runs] == [step in (0, 4, 8) for step in range(9)]
    for before, after in pairwise(runs):
        assert after.values[0].shape == WINDOW.shape
        assert (before.values[0][0, rows:] == after.values[0][0, :-rows]).all()


def test_a_window_brings_what_the_one_before_lacks() -> None:
    slide, sequence = Slide(4), np.arange(40, dtype=np.int8)
    first = sequence[:14].reshape(1, 7, 1, 2)
    rows, filling = slide.steps_to(first)
    assert filling and rows.tolist() == whole(first, 4).tolist()
    assert rows.tolist() == [[0, 0, 0, 1], [2, 3, 4, 5], [6, 7, 8, 9], [10, 11, 12, 13]]
    rows, filling = slide.steps_to(sequence[4:18])
    assert not filling and rows.tolist() == [[14, 15, 16, 17]]
    rows, filling = slide.steps_to(sequence[20:34])
    assert not filling and len(rows) == 4
    slide.forget()
    rows, filling = slide.steps_to(sequence[24:38])
    assert filling and len(rows) == 4
