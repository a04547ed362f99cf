"""Networks with batches, free dimensions and contradictory shapes give TFLM's bytes or stay unchanged."""

from __future__ import annotations

import pytest
from conftest import thinned
from property.shapes import examine

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


@pytest.mark.parametrize("seeds", thinned([range(5), range(5, 15)], 1), ids=str)
def test_shapes_that_do_not_follow_change_no_byte(seeds: range) -> None:
    for seed in seeds:
        examine(seed)
