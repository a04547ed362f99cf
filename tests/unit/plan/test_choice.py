"""The chosen plans for several models are the best of all combinations of plans."""

import random
from collections.abc import Collection, Sequence
from itertools import permutations, product

import pytest

from tflm_memopt.plan.layout.choice import ALL_THE_TIME, Choices, Cores, Point
from tflm_memopt.plan.pareto import undominated

ONCE = 100


def frontier(rng: random.Random, points: int, busy: int = 0) -> list[Point]:
    head, load, found = rng.randint(1_000, 50_000), rng.randint(1_000, 1_000_000), []
    for _ in range(points):
        found.append(Point(head, rng.choice((340, 404)), load, busy and rng.randint(0, busy)))
        head, load = int(head * rng.uniform(0.5, 0.95)), int(load * rng.uniform(1.01, 2))
    return found


def top(heads: Sequence[int], pairs: Collection[tuple[int, int]]) -> int:
    units, best = [-(-head // 16) for head in heads], 1 << 60
    for order in permutations(range(len(heads))):
        start: dict[int, int] = {}
        for i in order:
            low = 0
            for at, end in sorted((start[j], start[j] + units[j]) for j in start if {(i, j), (j, i)} & set(pairs)):
                if low + units[i] <= at:
                    break
                low = max(low, end)
            start[i] = low
        best = min(best, max(start[i] + units[i] for i in order))
    return 16 * best


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_no_choice_is_better(seed: int, count: int) -> None:
    rng = random.Random(seed)
    models = [frontier(rng, 3, busy=600_000) for _ in range(3)]
    pairs = {(0, 1)} if seed % 2 else {(0, 1), (1, 2)}
    every = []
    for points in product(range(3), repeat=3):
        taken = [each[p] for each, p in zip(models, points, strict=True)]
        sets = [sum(p.busy for p in taken)] if count == 1 else [taken[0].busy, taken[1].busy + taken[2].busy]
        if max(sets) <= ALL_THE_TIME:
            ram = top([p.head for p in taken], pairs) + sum(p.tail for p in taken) - ONCE
            every.append((sum(p.load for p in taken), ram))
    kept = sorted({pair for pair in every if not any(o != pair and o[0] <= pair[0] and o[1] <= pair[1] for o in every)})
    choices = Choices(models, pairs, ONCE, cores=Cores(count, [[0], [1, 2]] if count == 2 else ()))
    found = list(choices.frontier())
    assert [(one.load, one.ram) for one in found] == kept
    assert all(one.proven for one in found)
    least = choices.choose()
    assert least and (least.load, least.ram) == kept[-1]
    within = choices.choose(ram=kept[0][1], least_ram=False)
    assert within and (within.load, within.ram) == kept[0]
    assert choices.choose(ram=kept[-1][1] - 1) is None


def test_the_busiest_core_has_the_least_to_do() -> None:
    cores = Cores(2, [[0, 3], [1], [2]])
    assert cores.loads([300_000, 500_000, 100_000, 200_000]) in ((0.5, 0.6), (0.6, 0.5))
    at = cores.spread([300_000, 500_000, 100_000, 200_000])
    assert at[0] == at[3] != at[1]


def test_the_front_keeps_what_is_best_in_something() -> None:
    costs = [(10, 5), (8, 7), (8, 6), (12, 5), (9, 6), (20, 1)]
    assert undominated(costs, lambda pair: pair) == [(8, 6), (10, 5), (20, 1)]
    assert undominated(costs, lambda pair: pair, grain=1) == [(8, 6), (20, 1)]
