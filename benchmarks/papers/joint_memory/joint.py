"""Compute the memory that several CNNs share, as in chapter 6 of Minakova's thesis.

Sizes of the thesis' example are in tokens. Figure 6.1 is not available. The sizes in Table 6.1 imply that a feature map
of CNN 1 has 32 rows of 256 tokens. Convolutions are assumed to be 3 x 3 in CNN 1, and 5 x 5 without padding in CNN 2.
Offsets come from the layout solver of tflm-memopt.

The applications of Table 6.6 are planned as int8 models with random weights, each from an app.toml. As in the thesis,
the megabytes are those of float32 weights and activations.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, permutations, product
from pathlib import Path

from papers.joint_memory import classifiers

import tflm_memopt
from tflm_memopt.apps.reader import read_app
from tflm_memopt.model.reader import read
from tflm_memopt.plan.layout.offsets import LayoutProblem, place


@dataclass(frozen=True, slots=True)
class Edge:
    tokens: int
    producer: str
    consumer: str
    partition: int


Edges = Mapping[str, Edge]
Schedules = Mapping[int, Sequence[str]]
Chromosome = Sequence[int]
"""The value 1 stands for a layer that processes one row at a time, and 0 for a layer that needs its whole input."""

LAYERS = ("l1", "l2", "l3", "l4", "l5", "m1", "m2", "m3", "m4")
"""Layers l1 to l5 are those of CNN 1, and layers m1 to m4 are those of CNN 2."""
EDGES: Edges = {
    "e12_1": Edge(3072, "l1", "l2", 1), "e23_1": Edge(8192, "l2", "l3", 1), "e24_1": Edge(8192, "l2", "l4", 1),
    "e34_1": Edge(8192, "l3", "l4", 1), "e45_1": Edge(8192, "l4", "l5", 1), "e12_2": Edge(3072, "m1", "m2", 2),
    "e23_2(1)": Edge(6272, "m2", "m3", 2), "e23_2(2)": Edge(6272, "m2", "m3", 2), "e34_2": Edge(10, "m3", "m4", 3),
}  # fmt: skip
SCHEDULES: Schedules = {1: LAYERS[:5], 2: LAYERS[5:7], 3: LAYERS[7:]}
PARALLEL = (frozenset({2, 3}),)
ROWS, ROW, INPUT_ROW = 32, 256, 96
"""A feature map of CNN 1 has 32 rows of 256 tokens. A row of CNN 1's input has 96 tokens."""
FLOAT, SECONDS = 4, 5.0
PAPER = (0, 0, 1, 1, 1, 0, 0, 0, 0)
"""The solution that the genetic algorithm of the thesis finds for its example."""


def lifetime(edge: Edge, schedules: Schedules) -> tuple[int, int]:
    """Return the first and the last step in which a tensor needs memory. A tensor that another partition reads needs
    memory until the end.
    """
    steps = schedules[edge.partition]
    inside = edge.consumer in steps
    return steps.index(edge.producer), len(steps) - 1 - (steps[::-1].index(edge.consumer) if inside else 0)


def conflict(a: Edge, b: Edge, schedules: Schedules) -> bool:
    if a.partition != b.partition:
        return any({a.partition, b.partition} <= together for together in PARALLEL)
    (first_a, last_a), (first_b, last_b) = lifetime(a, schedules), lifetime(b, schedules)
    return max(first_a, first_b) <= min(last_a, last_b)


def reused(edges: Edges, schedules: Schedules) -> list[tuple[list[str], int]]:
    """Algorithm 8 of the thesis puts each tensor into the buffer that grows least."""
    found: list[tuple[list[str], int]] = []
    for name, edge in edges.items():
        fits = [
            k for k, (inside, _) in enumerate(found) if not any(conflict(edge, edges[z], schedules) for z in inside)
        ]
        if fits:
            k = min(fits, key=lambda k: max(edge.tokens - found[k][1], 0))
            found[k] = ([*found[k][0], name], max(found[k][1], edge.tokens))
        else:
            found.append(([name], edge.tokens))
    return found


def tokens(buffers: Sequence[tuple[list[str], int]]) -> int:
    return sum(size for _, size in buffers)


def most_alive(edges: Edges, schedules: Schedules) -> int:
    """Return the largest number of tokens that are needed at the same time, which is a lower bound of the memory."""
    worst = {
        partition: max(
            sum(e.tokens for e in edges.values() if e.partition == partition and _alive(e, step, schedules))
            for step in range(len(steps))
        )
        for partition, steps in schedules.items()
    }
    return max(*worst.values(), *(sum(worst[p] for p in together) for together in PARALLEL))


def _alive(edge: Edge, step: int, schedules: Schedules) -> bool:
    first, last = lifetime(edge, schedules)
    return first <= step <= last


def by_offsets(edges: Edges, schedules: Schedules) -> int:
    each = list(edges.values())
    sizes = tuple(edge.tokens for edge in each)
    apart = {
        (i, k): each[i].tokens for i, k in permutations(range(len(each)), 2) if conflict(each[i], each[k], schedules)
    }
    bound = max(most_alive(edges, schedules), *(sizes[i] + sizes[k] for i, k in apart))
    return place(LayoutProblem(sizes, (1,) * len(sizes), apart, bound), seconds=SECONDS).top


def schedules_by_parts(chromosome: Chromosome) -> Schedules:
    """Neighbouring layers that process single rows run in turn."""
    parted = {layer for layer, gene in zip(LAYERS, chromosome, strict=True) if gene}
    found = {}
    for partition, steps in SCHEDULES.items():
        order: list[str] = []
        run: list[str] = []
        for layer in (*steps, None):
            if layer in parted:
                run.append(str(layer))
                continue
            order += run * (ROWS if len(run) > 1 else 1)
            run = []
            order += [layer] if layer else []
        found[partition] = order
    return found


def edges_by_parts(chromosome: Chromosome) -> Edges:
    """Between two layers that process single rows, a buffer holds only as many rows as a window of the second layer."""
    gene = dict(zip(LAYERS, chromosome, strict=True))
    in_flight = {
        "e12_1": 3 * INPUT_ROW, "e23_1": 3 * ROW, "e34_1": ROW, "e45_1": ROW, "e12_2": 5 * INPUT_ROW,
        **({"e24_1": 2 * ROW} if gene["l3"] else {}),
    }  # fmt: skip
    parted = {n for n, e in EDGES.items() if n in in_flight and gene[e.producer] and gene[e.consumer]}
    return {n: replace(e, tokens=min(in_flight[n], e.tokens)) if n in parted else e for n, e in EDGES.items()}


def example() -> dict[str, int]:
    parts = edges_by_parts(PAPER), schedules_by_parts(PAPER)
    every = [(edges_by_parts(x), schedules_by_parts(x)) for x in product((0, 1), repeat=len(LAYERS))]
    best = min(every, key=lambda found: tokens(reused(*found)))
    return {
        "reused": tokens(reused(EDGES, SCHEDULES)),
        "by parts": tokens(reused(*parts)),
        "chromosomes": len(every),
        "search": tokens(reused(*best)),
        "its offsets": by_offsets(*best),
    }


@dataclass(frozen=True, slots=True)
class Application:
    networks: tuple[str, ...]
    partitions: int
    paper: float


APPLICATIONS: Mapping[int, Application] = {
    1: Application(("MobileNet V2 1.0",), 1, 14.90),
    2: Application(("EfficientNet B0",), 1, 27.30),
    3: Application(("MobileNet V2 1.0",), 2, 15.92),
    4: Application(("EfficientNet B0",), 2, 31.34),
    5: Application(("Inception V2", "MobileNet V1 0.25", "ResNet V1 50"), 1, 162),
    6: Application(("DenseNet 121", "MobileNet V1 1.0", "ResNet V1 50"), 1, 155),
}


def app_toml(folder: Path, number: int) -> Path:
    app, lines = APPLICATIONS[number], []
    for name in app.networks:
        file = name.replace(" ", "_").replace(".", "_").lower()
        (folder / f"{file}.tflite").write_bytes(classifiers.partitions(name)[0])
        lines += [f"[models.{file}]", f'file = "{file}.tflite"']
        if app.partitions > 1:
            parts = classifiers.partitions(name, app.partitions)[:-1]
            lines.append(f"pipeline = {[*accumulate(len(read(part).graph.ops) for part in parts)]}")
    path = folder / "app.toml"
    path.write_text("\n".join(lines))
    return path


def application(number: int) -> tuple[int, float]:
    with tempfile.TemporaryDirectory() as name:
        path = app_toml(Path(name), number)
        graphs = [read(file.read_bytes()).graph for file in sorted(path.parent.glob("*.tflite"))]
        head = tflm_memopt.optimize(read_app(path), effort="low").report.arena.head
    weights = sum(t.elements for graph in graphs for t in graph.tensors.values() if t.data is not None)
    return head, round(FLOAT * (weights + head) / 1e6, 2)
