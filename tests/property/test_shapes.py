"""Networks with batches, free dimensions and contradictory shapes give TFLM's bytes or stay unchanged."""

from __future__ import annotations

import random

import pytest
from conftest import thinned
from property.shapes import WRONG, examine, network, with_wrong_shapes

import tflm_memopt

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


@pytest.mark.parametrize("seeds", thinned([range(5), range(5, 15)], 1), ids=str)
def test_shapes_that_do_not_follow_change_no_byte(seeds: range) -> None:
    for seed in seeds:
        examine(seed)


@pytest.mark.slow
def test_consistent_networks_are_rewritten_and_others_are_not() -> None:
    """Without both kinds of networks (changed and unchanged ones), the comparison would prove nothing."""
    rewritten = refused = 0
    for seed in range(8):
        data = network(seed)
        rewritten += tflm_memopt.optimize(data, effort=0.05, seconds=0.02).report.changed
        wrong = with_wrong_shapes(data, random.Random(seed))
        refused += WRONG in tflm_memopt.optimize(wrong, effort=0.05, seconds=0.02).report.why_unchanged
    assert rewritten > 1 and refused > 1
