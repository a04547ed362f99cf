"""Where the firings of a block repeat themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from tflm_memopt.plan.firing.order import (
    LEAST_LISTED,
    MOST_BYTES,
    MOST_LISTED,
    MOST_LOOKS,
    MOST_OPS,
    ORDER,
    WORTH,
    Order,
    orders_of,
)


def units(ops: Sequence[int]) -> list[int]:
    """Of operators that leave nothing out."""
    made: Counter[int] = Counter()
    result = []
    for op in ops:
        result.append(made[op])
        made[op] += 1
    return result


def found(ops: Sequence[int], numbers: Sequence[int] | None = None, before: int = 0) -> tuple[Order, ...]:
    return orders_of(np.array(ops), np.array(units(ops) if numbers is None else numbers), before)


def told(orders: Sequence[Order], n: int) -> list[int]:
    """What they say of the first n firings; -1 where they say nothing."""
    result = [-1] * n
    for order in orders:
        for i in range(order.count):
            assert result[order.start + i] == -1
            result[order.start + i] = order.ops[i % len(order.ops)]
    return result


def apart(orders: Sequence[Order]) -> tuple[list[Order], list[Order]]:
    """Those that repeat themselves, and those that are listed in full."""
    return [o for o in orders if o.count > len(o.ops)], [o for o in orders if o.count == len(o.ops)]


@pytest.mark.parametrize("seed", range(20))
def test_what_they_say_is_so_and_strips_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    strip, other = (rng.integers(0, 4, int(rng.integers(1, 30))).tolist() for _ in range(2))
    ops = [*rng.integers(0, 4, 9).tolist(), *strip * 12, *other * 9, *rng.integers(0, 4, 9).tolist()]
    orders = found(ops)
    assert all(says in (-1, op) for says, op in zip(told(orders, len(ops)), ops, strict=True))
    assert [*orders] == sorted(orders, key=lambda order: order.start)
    repeating, listed = apart(orders)
    assert all(order.count >= LEAST_LISTED for order in listed)
    saved = [order.count - WORTH * (len(order.ops) + ORDER.itemsize) for order in repeating]
    assert all(some > 0 for some in saved)
    assert sum(saved) >= max((12 - WORTH) * len(strip), (9 - WORTH) * len(other)) - WORTH * ORDER.itemsize


def test_borders_have_their_own() -> None:
    first, steady, last = [0, 1] * 30, [0, 1, 2] * 90, [1, 2] * 40
    assert [(o.start, o.count, o.ops) for o in found([0, *first, *steady, *last])] == [
        (1, 60, (0, 1)),
        (61, 270, (0, 1, 2)),
        (331, 80, (1, 2)),
    ]


def test_the_first_firing_of_a_block_is_searched_for() -> None:
    assert found([0] * 60) == (Order(1, 59, (0,)),)
    assert found([0] * 60, before=7) == (Order(8, 59, (0,)),)


def test_where_units_are_left_out_nobody_is_told() -> None:
    skipping = [*range(60), *range(70, 100)]
    assert found([0] * 90, skipping) == (Order(1, 59, (0,)), Order(61, 29, (0,) * 29))
    assert found([0] * 60, range(5, 65)) == (Order(1, 59, (0,)),)  # it began in a later strip


@pytest.mark.parametrize(
    "ops",
    [
        [],
        [0],
        [0, 1, 2, 3, 4, 5],
        [0] * LEAST_LISTED,  # not worth its bytes
        [*range(MOST_BYTES + 1)] * 6,
        [MOST_OPS] * 60,
    ],
    ids=["none", "one", "nothing twice", "too little", "too long", "too many operators"],
)
def test_nothing_is_worth_it(ops: list[int]) -> None:
    assert found(ops) == ()


@pytest.mark.slow
def test_after_so_many_looks_it_is_enough() -> None:
    ops = [op for op in range(2 * MOST_LOOKS) for _ in range(40 + op)]
    orders = found(ops)
    assert len(apart(orders)[0]) == MOST_LOOKS
    assert all(says in (-1, op) for says, op in zip(told(orders, len(ops)), ops, strict=True))


def test_what_repeats_itself_nowhere_is_listed_while_it_is_short() -> None:
    ops = np.random.default_rng(0).integers(0, 4, 2 * MOST_LISTED).tolist()
    assert found(ops) == (Order(1, MOST_LISTED, tuple(ops[1 : MOST_LISTED + 1])),)
    other = [0, *ops[1:40], *[0, 1] * 60, *ops[40:100]]
    repeating, listed = apart(found(other))
    assert len(repeating) == 1
    assert sum(order.count for order in (*repeating, *listed)) == len(other) - 1


def test_a_pattern_is_told_once_though_that_saves_little() -> None:
    """Twenty operators in turn: the record and one period take more than half of the firings."""
    ops, units = np.tile(np.arange(20), 5)[:90], np.arange(90) // 20
    assert [(order.start, order.count, len(order.ops)) for order in orders_of(ops, units)] == [(1, 89, 20)]
