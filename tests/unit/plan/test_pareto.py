"""A frontier keeps the points that are best in some way."""

from __future__ import annotations

from tflm_memopt.plan.pareto import undominated


def test_the_front_keeps_what_is_best_in_something() -> None:
    costs = [(10, 5), (8, 7), (8, 6), (12, 5), (9, 6), (20, 1)]
    assert undominated(costs, lambda pair: pair) == [(8, 6), (10, 5), (20, 1)]
    assert undominated(costs, lambda pair: pair, grain=1) == [(8, 6), (20, 1)]
