"""Random networks with states, sliding windows or wrong shapes give the same bytes before and after rewriting."""

import pytest
from conftest import seeds, thinned
from property import sequences, shapes, sliding

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

FOUND = (116, 141)


@pytest.mark.slow
def test_every_step_gives_the_original_outputs() -> None:
    for seed in (21, 22, *seeds(8)):
        sequences.examine(seed)


@pytest.mark.slow
def test_every_window_gives_the_original_outputs() -> None:
    for seed in (*FOUND, *seeds(4)):
        sliding.examine(seed)


@pytest.mark.parametrize("chosen", thinned([range(5), range(5, 15)], 1), ids=str)
def test_shapes_that_do_not_follow_change_no_byte(chosen: range) -> None:
    for seed in chosen:
        shapes.examine(seed)
