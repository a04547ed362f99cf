"""For small random graphs, the chosen order of operators needs the least memory of all orders."""

import random
from collections.abc import Iterator, Sequence

from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from tflm_memopt.plan.operator_order import OrderProblem, Task, contiguous, lower_bound, peak, schedule

SEEDS = st.integers(0, 1 << 32)
SECONDS = 2.0


def all_orders(problem: OrderProblem) -> Iterator[tuple[int, ...]]:
    def extended(order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(order) == len(problem.tasks):
            yield order
        missing = {t for i in set(range(len(problem.tasks))) - {*order} for t in problem.tasks[i].outputs}
        for i, task in enumerate(problem.tasks):
            first = {a for a, b in problem.after if b == i}
            if i not in order and not missing.intersection(task.inputs) and first <= {*order}:
                yield from extended((*order, i))

    return extended(())


def bytes_at_worst(problem: OrderProblem, order: Sequence[int]) -> int:
    made = {t: n for n, i in enumerate(order) for t in problem.tasks[i].outputs}
    last = {t: n for n, i in enumerate(order) for t in (*problem.tasks[i].outputs, *problem.tasks[i].inputs)}
    last |= {t: n for n, i in enumerate(order) for t in problem.tasks[i].inputs}
    last |= {t: len(order) for t in problem.outputs if t in last}
    steps = range(len(order))
    return problem.across + max(sum(problem.nbytes[t] for t in last if made.get(t, -1) <= n <= last[t]) for n in steps)


def random_dag(seed: int) -> OrderProblem:
    rng = random.Random(seed)
    count = rng.randint(1, 7)
    tasks, tensors = [], 1
    for _ in range(count):
        inputs = tuple(rng.randrange(max(0, tensors - 4), tensors) for _ in range(rng.choice([1, 1, 2, 3])))
        outputs = tuple(range(tensors, tensors + rng.choice([1, 1, 1, 2])))
        tensors += len(outputs)
        tasks.append(Task(inputs, outputs))
    wanted = frozenset(t for t in range(tensors) if rng.random() < 0.2)
    pairs = tuple((a, b) for b in range(count) for a in range(b) if rng.random() < 0.05)
    return OrderProblem({t: rng.randint(1, 9) for t in range(tensors)}, tuple(tasks), wanted, pairs, rng.choice([0, 5]))


def random_flow(seed: int) -> OrderProblem:
    rng = random.Random(seed)
    tasks: list[Task] = []
    free: list[int] = []
    tensors = 0
    for _ in range(rng.randint(1, 7)):
        rng.shuffle(free)
        taken = rng.randint(0, min(2, len(free)))
        inputs, free = tuple(free[:taken]), free[taken:]
        outputs = tuple(range(tensors, tensors + rng.choice([1, 1, 2])))
        tensors += len(outputs)
        free += outputs
        tasks.append(Task(inputs, outputs))
    wanted = frozenset(t for t in free if rng.random() < 0.5)
    return OrderProblem({t: rng.randint(1, 9) for t in range(tensors)}, tuple(tasks), wanted)


@settings(max_examples=examples(50))
@given(SEEDS, st.sampled_from([random_dag, random_flow]))
def test_the_best_of_all_orders(seed: int, draw: type) -> None:
    problem: OrderProblem = draw(seed)
    orders = list(all_orders(problem))
    least = min(bytes_at_worst(problem, order) for order in orders)
    found = schedule(problem, seconds=SECONDS)
    assert found in orders
    assert bytes_at_worst(problem, found) == peak(problem, found) == least >= lower_bound(problem)
    assert contiguous(problem) in orders
