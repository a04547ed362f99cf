"""Where the firings of a block repeat themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from tflm_memopt.lower.order import MOST_BYTES, MOST_OPS, WORTH, Order, repeated


def units(ops: Sequence[int]) -> list[int]:
    """Of operators that leave nothing out."""
    made: Counter[int] = Counter()
    result = []
    for op in ops:
        result.append(made[op])
        made[op] += 1
    return result


def found(ops: Sequence[int], numbers: Sequence[int] | None = None, before: int = 0) -> Order | None:
    return repeated(np.array(ops), np.array(units(ops) if numbers is None else numbers), before)


def told(order: Order, n: int) -> list[int]:
    """What it says of the first n firings; -1 where it says nothing."""
    inside = range(order.start, order.start + order.count)
    return [order.ops[(i - order.start) % len(order.ops)] if i in inside else -1 for i in range(n)]


@pytest.mark.parametrize("seed", range(20))
def test_what_it_says_is_so_and_strips_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    strip = rng.integers(0, 4, int(rng.integers(1, 30))).tolist()
    ops = [*rng.integers(0, 4, 9).tolist(), *strip * 12, *rng.integers(0, 4, 9).tolist()]
    order = found(ops)
    assert order is not None
    assert all(says in (-1, op) for says, op in zip(told(order, len(ops)), ops, strict=True))
    assert order.count - WORTH * len(order.ops) >= (12 - WORTH) * len(strip)


def test_the_first_firing_of_a_block_is_searched_for() -> None:
    assert found([0] * 20) == Order(1, 19, (0,))
    assert found([0] * 20, before=7) == Order(8, 19, (0,))


def test_where_units_are_left_out_nobody_is_told() -> None:
    skipping = [*range(30), *range(40, 60)]
    assert found([0] * 50, skipping) == Order(1, 29, (0,))
    assert found([0] * 50, range(5, 55)) == Order(1, 49, (0,))  # it began in a later strip: the first was searched for


@pytest.mark.parametrize(
    "ops",
    [
        [0],
        [0, 1, 2, 3, 4, 5],
        [0, 1] * WORTH,  # not worth its bytes
        [*range(MOST_BYTES + 1)] * 6,
        [MOST_OPS] * 20,
    ],
    ids=["one", "nothing twice", "too little", "too long", "too many operators"],
)
def test_nothing_is_worth_it(ops: list[int]) -> None:
    assert found(ops) is None
