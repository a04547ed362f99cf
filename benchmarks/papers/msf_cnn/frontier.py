"""Compare the RAM that msf-CNN (Huang and Baccelli) publishes for three networks with arenas of tflm-memopt.

DIR is the folder with the layer lists of the networks. The RAM sizes that msf-CNN publishes do not include the
network's input and output. The RAM of tflm-memopt is the size of a whole arena, and the model's input is outside the
arena. 1 kB is 1000 B.

Usage: python benchmarks/papers/msf_cnn/frontier.py DIR docs/frontier.svg, to draw MobileNetV2-0.35
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))
import int8_models
from tables import markdown

import tflm_memopt
from tflm_memopt.report import figures, svg

ANY = float("inf")
BUDGETS = (1.0, 1.05, 1.1, 1.2, 1.3, 1.5, ANY)
"""Limits of the compute factor F (docs/glossary.md)."""
PUBLISHED: Mapping[str, Sequence[tuple[float, float]]] = {
    "mbv2-w035": (
        (7.887, 1.68), (15.34, 1.38), (21.288, 1.3), (25.674, 1.25), (63.741, 1.23), (67.905, 1.1), (83.065, 1.02),
        (181.44, 1),
    ),
    "mn2-vww5": (
        (12, 1.96), (13.376, 1.35), (17.76, 1.3), (26.128, 1.11), (32.792, 1.04), (38.576, 1.02), (89.6, 1),
    ),
    "mn2-320k": (
        (42.643, 2.69), (62.88, 2.02), (94.184, 1.45), (156.672, 1.37), (186.032, 1.25), (186.736, 1.19),
        (190.096, 1.04), (247.808, 1),
    ),
}  # fmt: skip
"""Each plan in Table 1 of msf-CNN has a RAM size in kB and a compute factor F. The script
ignores the rows "Vanilla" and "Heuristic" of the paper's table.
"""
MEASURED: Mapping[str, Mapping[float, float]] = {
    "mbv2-w035": {1.1: 67.996, ANY: 8.56},
    "mn2-vww5": {1.1: 45.283, ANY: 15.368},
    "mn2-320k": {1.1: 217.891, ANY: 51.164},
}
"""For each limit of F, the peak of RAM in kB that msf-CNN's authors measured on boards.

The peaks are the fields `peak_mem_usage` in the files result.json of the repository TinyPART/msf-CNN (commit fd74a7c).
"""

Points = Sequence[tuple[float, float]]
"""RAM size in kB and compute factor F of each plan, beginning with the smallest plan."""


def ours(nets: Path, name: str) -> Points:
    layers = json.loads((nets / f"{name}_residual_tail.json").read_text(encoding="utf-8"))
    found = tflm_memopt.explore(int8_models.from_layers(layers), input="external").points
    return [(point.arena.total / 1000, point.overhead) for point in reversed(found)]


def least(points: Points, overhead: float) -> str:
    return next((f"{kb:.1f}" for kb, f in points if f <= overhead + 1e-9), "-")


def table(nets: Path) -> str:
    rows = []
    for name, published in PUBLISHED.items():
        measured = (f"{MEASURED[name][f]:.1f}" if f in MEASURED[name] else "" for f in BUDGETS)
        rows.append([f"{name}, msf-CNN, Table 1", *(least(published, f) for f in BUDGETS)])
        rows.append([f"{name}, msf-CNN, measured", *measured])
        plans = ours(nets, name)
        rows.append([f"{name}, here", *(least(plans, f) for f in BUDGETS)])
    return markdown(["kB at F ≤", *("any" if f == ANY else f"{f:g}" for f in BUDGETS)], rows)


def plot(nets: Path, path: Path, name: str = "mbv2-w035") -> None:
    drawn = {"tflm-memopt, whole arena": ours(nets, name), "msf-CNN, Table 1": PUBLISHED[name]}
    lines = [figures.Series(title, [(round(1000 * kb), f) for kb, f in points]) for title, points in drawn.items()]
    path.write_text(svg.document(figures.plot(lines, title=name, ram="RAM")), encoding="utf-8")


if __name__ == "__main__":
    plot(Path(sys.argv[1]), Path(sys.argv[2]))
