"""Computes the joint memory of several CNNs (Minakova, chapter 6): every figure of its example, and offsets for the
same lifetimes.

python benchmarks/papers/joint_memory/joint.py [--example]

Sizes are tokens, as in the chapter. The available text lacks Figure 6.1. The sizes in Table 6.1 imply that CNN 1 has
feature maps of 32 rows of 256, that l4 adds two of them, and that l5 reads them row by row. If a search needs kernel
sizes, 3 x 3 is assumed (5 x 5 without padding in CNN 2). Offsets are those of the product's layout solver.

The applications of Table 6.6 are int8 models here, with random weights. Each is planned from an app.toml. As in the
paper, the megabytes count weights and activations in float32. On a microcontroller weights stay in flash, so the
activations are also given alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from papers import lifetimes
from papers.joint_memory import classifiers

import tflm_memopt
from tflm_memopt.apps.reader import read_app
from tflm_memopt.model.reader import read


@dataclass(frozen=True, slots=True)
class Edge:
    """Data from one layer to another. They belong to the producer's partition."""

    tokens: int
    producer: str
    consumer: str
    partition: int


Edges = Mapping[str, Edge]
Schedules = Mapping[int, Sequence[str]]
"""The layers of each partition in each step."""
Chromosome = Sequence[int]
"""For each layer, 1 if it processes its data by parts."""

LAYERS = ("l1", "l2", "l3", "l4", "l5", "m1", "m2", "m3", "m4")
"""Layers of CNN 1, then of CNN 2."""
EDGES: Edges = {
    "e12_1": Edge(3072, "l1", "l2", 1), "e23_1": Edge(8192, "l2", "l3", 1), "e24_1": Edge(8192, "l2", "l4", 1),
    "e34_1": Edge(8192, "l3", "l4", 1), "e45_1": Edge(8192, "l4", "l5", 1), "e12_2": Edge(3072, "m1", "m2", 2),
    "e23_2(1)": Edge(6272, "m2", "m3", 2), "e23_2(2)": Edge(6272, "m2", "m3", 2), "e34_2": Edge(10, "m3", "m4", 3),
}  # fmt: skip
"""Edges of Table 6.1 in the order in which the text visits them. A tensor between two partitions has two copies."""
SCHEDULES: Schedules = {1: LAYERS[:5], 2: LAYERS[5:7], 3: LAYERS[7:]}
PARALLEL = (frozenset({2, 3}),)
"""Partitions that run at the same time."""
ROWS, ROW, INPUT_ROW = 32, 256, 96
"""Rows of a feature map, which are a layer's phases by parts; tokens of a row of a feature map and of the input."""
PAPER = (0, 0, 1, 1, 1, 0, 0, 0, 0)
"""Chromosome of the example in the text."""


# ---- lifetimes ----


def lifetime(edge: Edge, schedules: Schedules) -> tuple[int, int]:
    """Return the first and the last step in which the tensor takes memory.

    It lives until its consumer's last step, or until the end of the schedule if its consumer is in another partition.
    """
    steps = schedules[edge.partition]
    inside = edge.consumer in steps
    return steps.index(edge.producer), len(steps) - 1 - (steps[::-1].index(edge.consumer) if inside else 0)


def conflict(a: Edge, b: Edge, schedules: Schedules) -> bool:
    """Return whether both may hold data at the same time."""
    if a.partition != b.partition:
        return any({a.partition, b.partition} <= together for together in PARALLEL)
    (first_a, last_a), (first_b, last_b) = lifetime(a, schedules), lifetime(b, schedules)
    return max(first_a, first_b) <= min(last_a, last_b)


# ---- the chapter's buffers, and offsets ----


def reused(edges: Edges, schedules: Schedules) -> list[tuple[list[str], int]]:
    """Return edges and tokens of the buffers by Algorithm 8. An edge goes to the first buffer that grows least."""
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
    """Return the most live tokens at any moment, a lower bound of any layout."""
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


def by_offsets(edges: Edges, schedules: Schedules) -> tuple[int, bool]:
    """Return the tokens of one arena for all edges, and whether no layout takes fewer."""
    sizes = list(edges.values())
    conflicts = [(i, k) for i, k in combinations(range(len(sizes)), 2) if conflict(sizes[i], sizes[k], schedules)]
    found = lifetimes.layout([e.tokens for e in sizes], conflicts, most_alive(edges, schedules))
    return found.top, found.proven


# ---- processing by parts ----


def phases(chromosome: Chromosome) -> list[int]:
    return [ROWS if gene else 1 for gene in chromosome]


def schedules_by_parts(chromosome: Chromosome) -> Schedules:
    """Return the schedules. Neighbouring layers that process by parts alternate, with one phase each."""
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
    """An edge between two layers that go by parts holds the rows in flight: those under a window, and for what l4 adds
    the row that waits while l3 reads one row ahead.
    """
    gene = dict(zip(LAYERS, chromosome, strict=True))
    in_flight = {
        "e12_1": 3 * INPUT_ROW, "e23_1": 3 * ROW, "e34_1": ROW, "e45_1": ROW, "e12_2": 5 * INPUT_ROW,
        **({"e24_1": 2 * ROW} if gene["l3"] else {}),
    }  # fmt: skip
    parted = {n for n, e in EDGES.items() if n in in_flight and gene[e.producer] and gene[e.consumer]}
    return {n: replace(e, tokens=min(in_flight[n], e.tokens)) if n in parted else e for n, e in EDGES.items()}


def chromosomes() -> Iterator[Chromosome]:
    return product((0, 1), repeat=len(LAYERS))


def named(chromosome: Chromosome) -> str:
    return "".join(map(str, chromosome))


def example() -> dict[str, Any]:
    """Print the figures of sections 6.4 and 6.5."""
    tables = {"6.2": reused(EDGES, SCHEDULES), "6.3": reused(edges_by_parts(PAPER), schedules_by_parts(PAPER))}
    every = [(edges_by_parts(x), schedules_by_parts(x), x) for x in chromosomes()]
    best = min(every, key=lambda found: (tokens(reused(*found[:2])), sum(found[2])))
    arenas = [(*by_offsets(edges, order), x) for edges, order, x in every]
    least, _, x = min(arenas, key=lambda found: (found[0], sum(found[2])))
    larger = {
        e34: by_offsets(
            {**edges_by_parts(PAPER)} | {"e34_1": replace(EDGES["e34_1"], tokens=e34)}, schedules_by_parts(PAPER)
        )[0]
        for e34 in (ROW, 3 * ROW, 3072 - ROW, 3072)
    }
    return {
        "naive": sum(edge.tokens for edge in EDGES.values()),
        "reused": {"tokens": tokens(tables["6.2"]), "buffers": tables["6.2"]},
        "by parts": {
            "chromosome": named(PAPER),
            "phases": phases(PAPER),
            "tokens": tokens(tables["6.3"]),
            "buffers": tables["6.3"],
        },
        "offsets": by_offsets(EDGES, SCHEDULES),
        "offsets by parts": by_offsets(edges_by_parts(PAPER), schedules_by_parts(PAPER)),
        "offsets by parts, by size of e34": larger,
        "search": {"of": len(every), "chromosome": named(best[2]), "tokens": tokens(reused(*best[:2]))},
        "its offsets": by_offsets(*best[:2]),
        "search by offsets": {
            "of": len(arenas), "chromosome": named(x), "tokens": least,
            "proven": all(proven for _, proven, _ in arenas),
        },
    }  # fmt: skip


# ---- Table 6.6 ----


@dataclass(frozen=True, slots=True)
class Application:
    """CNNs that run one after the other, or one in two partitions that run at the same time."""

    networks: tuple[str, ...]
    partitions: int
    paper: tuple[float, float]
    """MB without reduction, and the least of the methodology, weights included."""


APPLICATIONS: Mapping[int, Application] = {
    1: Application(("MobileNet V2 1.0",), 1, (58.63, 14.90)),
    2: Application(("EfficientNet B0",), 1, (161.33, 27.30)),
    3: Application(("MobileNet V2 1.0",), 2, (61.69, 15.92)),
    4: Application(("EfficientNet B0",), 2, (163.65, 31.34)),
    5: Application(("Inception V2", "MobileNet V1 0.25", "ResNet V1 50"), 1, (380, 162)),
    6: Application(("DenseNet 121", "MobileNet V1 1.0", "ResNet V1 50"), 1, (625, 155)),
}


def app_toml(folder: Path, number: int) -> Path:
    """Write an application of the table as models and an app.toml. Its networks run in turn."""
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


def application(number: int, effort: str | float = "low") -> dict[str, Any]:
    """Plan an application of Table 6.6 from its app.toml, as int8 models.

    The table counts weights and activations in float32. Each int8 element of the arena's head counts as one of those.
    """
    app = APPLICATIONS[number]
    with tempfile.TemporaryDirectory() as name:
        path = app_toml(Path(name), number)
        graphs = [read(file.read_bytes()).graph for file in sorted(path.parent.glob("*.tflite"))]
        report = tflm_memopt.optimize(read_app(path), effort=effort).report
    each = [tensor for graph in graphs for tensor in graph.tensors.values()]
    naive = sum(t.nbytes for t in each if t.data is None)
    weights = sum(t.elements for t in each if t.data is not None)
    before, after = app.paper
    return {
        "networks": app.networks,
        "partitions": app.partitions,
        "naive": naive,
        "ours": report.arena.head,
        "reduction": round(naive / report.arena.head, 1),
        "paper's reduction": round(before / after, 1),
        "MB of a buffer for each tensor": round(4 * (weights + naive) / 1e6, 2),
        "paper's MB without reduction": before,
        "MB": round(4 * (weights + report.arena.head) / 1e6, 2),
        "paper's MB": after,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--example", action="store_true", help="leave out Table 6.6, which takes minutes")
    parser.add_argument("--only", type=int, nargs="+", default=[*APPLICATIONS], metavar="N", help="these applications")
    args = parser.parse_args(arguments)
    found = example()
    if not args.example:
        found["table 6.6"] = {number: application(number) for number in args.only}
    print("\n".join(f"{name}: {value}" for name, value in found.items()))
    each = found.get("table 6.6", {}).values()
    return 0 if all(one["MB"] <= one["paper's MB"] for one in each) else 1


if __name__ == "__main__":
    sys.exit(main())
