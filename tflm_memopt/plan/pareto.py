"""Selects the best of several options that have two costs (the Pareto front)."""

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def undominated(options: Iterable[T], costs: Callable[[T], tuple[Any, ...]], grain: float = 0) -> list[T]:
    """Return the options that no other option beats in both costs.

    `costs` is the function that returns both costs of an option, and then figures that decide between options of equal
    cost. `grain` is the amount by which the second cost must be lower than that of the last option kept.

    >>> undominated([(1, 9), (2, 9), (3, 7)], lambda costs: costs)
    [(1, 9), (3, 7)]
    """
    kept, least = list[T](), math.inf
    ranked = list(options)
    if len(ranked) < 2:
        return ranked
    for option in sorted(ranked, key=costs):
        second = costs(option)[1]
        if second < least - grain:
            kept.append(option)
            least = second
    return kept
