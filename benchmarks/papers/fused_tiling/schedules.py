"""Orders of least peak on irregular graphs, beside the thesis' program for them in CP-SAT.

    python benchmarks/papers/fused_tiling/schedules.py [--json] [--update docs/order-and-layout.md]

The graphs are RandWire's (Watts-Strogatz, tensors of 4 units), and networks like SwiftNet: 62 operators in cells of 21,
19 and 22, with edges drawn from seeds: the network itself is not at hand. "one cell" has as many operators without a
place to cut. The last are random networks of this repository. Seconds are processor time, all steps counted; the
program (Stahl, Eq. 4.1-4.9, as intervals) has a limit, and is given each piece alone where a graph can be cut.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx

sys.path.insert(0, str(Path(__file__).parents[2]))
import random_networks
from tables import markdown, page_parser, publish

from tflm_memopt.model.reader import read
from tflm_memopt.plan import cp_sat
from tflm_memopt.plan.schedule.least_peak import Schedule, schedule
from tflm_memopt.plan.schedule.problem import OrderProblem, Task, bits, peak

LIMIT = 20.0
"""Effort for an order (effort.py)."""
PROGRAM_LIMIT = 3.0
"""Limit of the program in CP-SAT's deterministic time."""
UNIT = 4
CELLS = (21, 19, 22)
NETWORKS = (171, 222, 297)
"""Seeds of random networks whose own order is not the best."""
PUBLISHED: Mapping[str, str] = {"SwiftNet": "37 s; Serenity 37.9 s"}
"""Times of SwiftNet that the thesis states, section 4.4.1: of its program on a Ryzen 9 3900X, and of Serenity."""


@dataclass(frozen=True, slots=True)
class Row:
    """One graph."""

    graph: str
    operators: int
    own: int
    """Peak of the graph's own order."""
    peak: int
    lower_bound: int
    seconds: float
    program_peak: int
    """Peak that the program found within its limit, and its bound."""
    program_bound: int
    program_seconds: float
    published: str = ""
    """Time of the program that a paper states for such a graph."""


COLUMNS = (
    "graph", "operators", "own order", "peak", "proven", "s", "program", "proven", "s", "published",
)  # fmt: skip


def random_wired(count: int, neighbours: int, probability: float, seed: int) -> OrderProblem:
    """Return a RandWire graph whose operators have one output each. A last one reads all outputs left over."""
    graph = nx.connected_watts_strogatz_graph(count, neighbours, probability, seed=seed)
    tasks = [Task(tuple(u + 1 for u in sorted(graph[v]) if u < v) or (0,), (v + 1,)) for v in range(count)]
    ends = tuple(v + 1 for v in range(count) if all(u < v for u in graph[v]))
    tasks.append(Task(ends, (count + 1,)))
    return OrderProblem(dict.fromkeys(range(count + 2), UNIT), tuple(tasks), frozenset({count + 1}))


def cells(sizes: Sequence[int], seed: int) -> OrderProblem:
    """Return cells in series. In each cell, operators read one to three of the tensors before them, and the last
    operator reads all unread tensors.
    """
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
    """Return nested chains that fork and join, which result from tiling a chain."""
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


def whole_model(data: bytes) -> OrderProblem:
    """Return a model's operators and whole tensors."""
    graph = read(data).graph
    moving = {tensor.id: tensor.nbytes for tensor in graph.tensors.values() if tensor.data is None}
    tasks = tuple(Task(tuple(t for t in op.inputs if t in moving), op.outputs) for op in graph.ops)
    return OrderProblem(moving, tasks, frozenset(graph.outputs))


def graphs() -> Iterator[tuple[str, OrderProblem]]:
    for count, probability, seed in ((32, 0.75, 0), (32, 0.75, 1), (62, 0.5, 3), (62, 0.75, 1), (80, 0.5, 0)):
        yield f"RandWire-{count} ({probability}, {seed})", random_wired(count, 4, probability, seed)
    for seed in (0, 1):
        yield f"SwiftNet-like ({seed})", cells(CELLS, seed)
        yield f"SwiftNet-like, one cell ({seed})", cells((sum(CELLS),), seed)
    yield "series-parallel (0)", series_parallel(0)
    for seed in NETWORKS:
        kinds = random_networks.KIND_SETS[seed // 3 % len(random_networks.KIND_SETS)]
        yield f"random network {seed}", whole_model(random_networks.network(seed, 4 + seed % 25, kinds))


def by_program(problem: OrderProblem, hint: Sequence[int], bound: int, seconds: float) -> tuple[tuple[int, ...], int]:
    """Return the result of the thesis' program: CP-SAT's best order, at worst the hint, and its lower bound."""
    cp_sat.load()
    from ortools.sat.python import cp_model  # noqa: PLC0415 (see cp_sat.load)

    count, model = len(problem.tasks), cp_model.CpModel()
    followers = [sum(tasks >> i & 1 for tasks in problem.before) for i in range(count)]
    at = [model.new_int_var(problem.before[i].bit_count(), count - 1 - followers[i], "") for i in range(count)]
    model.add_all_different(at)
    for i, tasks in enumerate(problem.before):
        for j in range(count):
            if tasks >> j & 1:
                model.add(at[j] < at[i])
    top = model.new_int_var(bound, max(bound, peak(problem, hint)), "")
    alive, nbytes = [], []
    for t in (*problem.given, *problem.made):
        maker, readers = problem.made.get(t), problem.readers.get(t, ())
        start = model.new_constant(0) if maker is None else at[maker]
        end = model.new_int_var(1, count, "") if t not in problem.outputs else model.new_constant(count)
        if t not in problem.outputs:
            model.add_max_equality(end, [at[i] + 1 for i in readers or (maker,) if i is not None])
        alive.append(model.new_interval_var(start, model.new_int_var(1, count, ""), end, ""))
        nbytes.append(problem.nbytes[t])
    model.add_cumulative(alive, nbytes, top - problem.across)
    model.minimize(top)
    for position, i in enumerate(hint):
        model.add_hint(at[i], position)
    solver = cp_sat.solver(seconds, 1)
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return tuple(hint), bound
    return tuple(sorted(range(count), key=lambda i: int(solver.value(at[i])))), int(solver.best_objective_bound)


def program(problem: OrderProblem) -> tuple[int, int]:
    """Return peak and bound with the program instead of the product's search."""
    parts = list(pieces(problem))
    quick = [schedule(part, seconds=0) for part in parts]
    peaks, bound = [s.peak for s in quick], max(s.lower_bound for s in quick)
    for i, part in enumerate(parts):
        if quick[i].peak > max(s.lower_bound for s in quick):
            order, proven = by_program(part, quick[i].order, bound, PROGRAM_LIMIT)
            peaks[i], bound = peak(part, order), max(bound, proven)
    return max(peaks), bound


def pieces(problem: OrderProblem) -> Iterator[OrderProblem]:
    """Yield the problems of sets of tasks that must run one after the other."""
    either: nx.Graph[int] = nx.Graph()
    either.add_nodes_from(range(len(problem.tasks)))
    for i, before in enumerate(problem.before):
        either.add_edges_from((i, j) for j in bits((1 << i) - 1 & ~before))
    there = {*problem.given}
    for tasks in map(sorted, nx.connected_components(either)):
        own = [problem.tasks[i] for i in tasks]
        later = {t for task in problem.tasks[tasks[-1] + 1 :] for t in task.inputs} | problem.outputs
        touched = {t for task in own for t in (*task.inputs, *task.outputs)}
        through = problem.across + sum(problem.nbytes[t] for t in there - touched)
        yield OrderProblem(problem.nbytes, tuple(own), frozenset(touched & later), across=through)
        there = (there | {t for task in own for t in task.outputs}) & later


def row(graph: str, problem: OrderProblem) -> Row:
    before = time.process_time()
    found = schedule(problem, seconds=LIMIT)
    after = time.process_time()
    program_peak, program_bound = program(problem)
    return Row(
        graph=graph,
        operators=len(problem.tasks),
        own=peak(problem, range(len(problem.tasks))),
        peak=found.peak,
        lower_bound=found.lower_bound,
        seconds=round(after - before, 3),
        program_peak=program_peak,
        program_bound=program_bound,
        program_seconds=round(time.process_time() - after, 3),
        published=next((times for name, times in PUBLISHED.items() if graph.startswith(name)), ""),
    )


def table(rows: Sequence[Row]) -> str:
    return markdown(COLUMNS, (_cells(row) for row in rows))


def _cells(row: Row) -> Iterator[str]:
    yield row.graph
    yield from (f"{n:,}" for n in (row.operators, row.own, row.peak))
    yield "yes" if row.peak == row.lower_bound else f"from {row.lower_bound:,}"
    yield f"{row.seconds:.2f}"
    yield f"{row.program_peak:,}"
    yield "yes" if row.program_peak == row.program_bound else f"from {row.program_bound:,}"
    yield f"{row.program_seconds:.2f}"
    yield row.published


def orders() -> Iterator[Schedule]:
    """Return the contents of the table without seconds."""
    yield from (schedule(problem, seconds=LIMIT) for _, problem in graphs())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = page_parser(__doc__)
    args = parser.parse_args(arguments)
    cp_sat.load()  # not measured
    publish(args.update, "schedules", table([row(graph, problem) for graph, problem in graphs()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
