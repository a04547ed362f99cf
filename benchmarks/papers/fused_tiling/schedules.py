"""Search for the operator order with the least peak memory in irregular graphs.

Some graphs are random as in RandWire (Watts-Strogatz), and all their tensors have the same size. SwiftNet's graph is
not public. Random graphs of 62 operators stand for SwiftNet, with cells of 21, 19 and 22 operators or with one cell.
The seconds in the table are processor time.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence

import networkx as nx
from tables import markdown

from tflm_memopt.plan.schedule.least_peak import schedule
from tflm_memopt.plan.schedule.problem import OrderProblem, Task, peak

LIMIT = 20.0
UNIT = 4
CELLS = (21, 19, 22)
PUBLISHED: Mapping[str, str] = {"SwiftNet": "37 s; Serenity 37.9 s"}
"""Seconds that the thesis' program (Stahl, section 4.4.1, Ryzen 9 3900X) and Serenity take for SwiftNet."""

COLUMNS = ("graph", "operators", "own order", "peak", "s", "published")


def random_wired(count: int, neighbours: int, probability: float, seed: int) -> OrderProblem:
    graph = nx.connected_watts_strogatz_graph(count, neighbours, probability, seed=seed)
    tasks = [Task(tuple(u + 1 for u in sorted(graph[v]) if u < v) or (0,), (v + 1,)) for v in range(count)]
    ends = tuple(v + 1 for v in range(count) if all(u < v for u in graph[v]))
    tasks.append(Task(ends, (count + 1,)))
    return OrderProblem(dict.fromkeys(range(count + 2), UNIT), tuple(tasks), frozenset({count + 1}))


def cells(sizes: Sequence[int], seed: int) -> OrderProblem:
    rng = random.Random(seed)
    nbytes, tasks = {0: 64}, list[Task]()
    for number, size in enumerate(sizes):
        first = len(tasks)
        for _ in range(size - 1):
            known = range(first, len(tasks) + 1)
            tasks.append(Task(tuple(rng.sample(known, min(len(known), rng.randint(1, 3)))), (len(tasks) + 1,)))
            nbytes[len(tasks)] = rng.randint(8, 64) >> number
        read_here = {t for task in tasks for t in task.inputs}
        tasks.append(Task(tuple(t for t in range(first, len(tasks) + 1) if t not in read_here), (len(tasks) + 1,)))
        nbytes[len(tasks)] = 64 >> number
    return OrderProblem(nbytes, tuple(tasks), frozenset({len(tasks)}))


def series_parallel(seed: int, depth: int = 2) -> OrderProblem:
    rng, nbytes, tasks = random.Random(seed), {0: 32}, list[Task]()

    def run(inputs: tuple[int, ...]) -> int:
        tasks.append(Task(inputs, (len(tasks) + 1,)))
        nbytes[len(tasks)] = rng.randint(1, 64)
        return len(tasks)

    def chain(x: int, deep: int) -> int:
        for _ in range(rng.randint(1, 3)):
            x = run((x,))
            if deep:
                x = run(tuple(chain(x, deep - 1) for _ in range(3)))
        return x

    last = chain(0, depth)
    return OrderProblem(nbytes, tuple(tasks), frozenset({last}))


def graphs() -> Iterator[tuple[str, OrderProblem]]:
    for count, probability, seed in ((32, 0.75, 0), (32, 0.75, 1), (62, 0.5, 3), (62, 0.75, 1), (80, 0.5, 0)):
        yield f"RandWire-{count} ({probability}, {seed})", random_wired(count, 4, probability, seed)
    for seed in (0, 1):
        yield f"SwiftNet-like ({seed})", cells(CELLS, seed)
        yield f"SwiftNet-like, one cell ({seed})", cells((sum(CELLS),), seed)
    yield "series-parallel (0)", series_parallel(0)


def row(graph: str, problem: OrderProblem) -> list[str]:
    before = time.process_time()
    order = schedule(problem, seconds=LIMIT)
    seconds = time.process_time() - before
    own = peak(problem, range(len(problem.tasks)))
    published = next((times for name, times in PUBLISHED.items() if graph.startswith(name)), "")
    return [graph, *(f"{n:,}" for n in (len(problem.tasks), own, peak(problem, order))), f"{seconds:.2f}", published]


def table() -> str:
    return markdown(COLUMNS, (row(*one) for one in graphs()))
