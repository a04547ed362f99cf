"""Selects the best options if each option has two costs (the Pareto front)."""

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def undominated(options: Iterable[T], costs: Callable[[T], tuple[Any, ...]], grain: float = 0) -> list[T]:
    """Return the options for which no other option is better in both costs.

    The argument `costs` returns both costs of an option, and may return more numbers to order options of equal cost.
    The result is sorted by the first cost. The second cost falls by more than `grain` from each option to the next.

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
