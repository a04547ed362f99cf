"""Compare Table 1 of msf-CNN (Huang and Baccelli) with tflm-memopt's plans, whose bytes are counted as in msf-CNN.

    python benchmarks/papers/msf_cnn/frontier.py DIR docs/frontier.svg    draw MobileNetV2-0.35

DIR is the folder with the layer lists of the networks. The network's input and output are not counted. 1 kB is 1000 B.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from papers.msf_cnn.nets import BUDGETS, Layers, chain, read, settings, tiled_front
from tables import markdown

from tflm_memopt.report import figures, svg

PUBLISHED: Mapping[str, Sequence[tuple[float, float]]] = {
    "mbv2-w035_chain": (
        (7.887, 1.68), (15.34, 1.38), (21.288, 1.3), (25.674, 1.25), (63.741, 1.23), (67.905, 1.1), (83.065, 1.02),
        (181.44, 1),
    ),
    "mn2-vww5_chain": (
        (12, 1.96), (13.376, 1.35), (17.76, 1.3), (26.128, 1.11), (32.792, 1.04), (38.576, 1.02), (89.6, 1),
    ),
    "mn2-320k_chain": (
        (42.643, 2.69), (62.88, 2.02), (94.184, 1.45), (156.672, 1.37), (186.032, 1.25), (186.736, 1.19),
        (190.096, 1.04), (247.808, 1),
    ),
}  # fmt: skip
"""Table 1 of msf-CNN without the rows "Vanilla" and "Heuristic": the kB and the F of each plan."""

MEASURED: Mapping[str, Mapping[float, float]] = {
    "mbv2-w035": {1.1: 67.996, float("inf"): 8.56},
    "mn2-vww5": {1.1: 45.283, float("inf"): 15.368},
    "mn2-320k": {1.1: 217.891, float("inf"): 51.164},
}
"""For each limit of F, the peak of RAM in kB that msf-CNN's authors measured on boards.

The peaks are `peak_mem_usage` in the files result.json of the repository TinyPART/msf-CNN (commit fd74a7c).
"""


def ours(name: str, layers: Layers) -> list[tuple[int, float]]:
    net = chain(layers)
    macs = sum(op.macs for op in net.ops)
    return [(point.nbytes, point.macs / macs) for point in tiled_front(net, settings(name))]


def least(points: Sequence[tuple[int, float]], overhead: float) -> str:
    return next((f"{nbytes / 1000:.1f}" for nbytes, f in points if f <= overhead + 1e-9), "-")


def published(name: str) -> list[tuple[int, float]]:
    return [(round(1000 * kb), f) for kb, f in PUBLISHED.get(name, ())]


def table(nets: Path) -> str:
    rows = []
    for name, layers in read(nets).items():
        for who, found in (("msf-CNN", published(name)), ("here", ours(name, layers))):
            if found:
                rows.append([f"{name}, {who}", *(least(found, f) for f in BUDGETS)])
    budgets = ("any" if f == float("inf") else f"{f:g}" for f in BUDGETS)
    return markdown(["kB at F ≤", *budgets], rows)


def plot(nets: Path, path: Path, name: str = "mbv2-w035_chain") -> None:
    lines = [
        figures.Series("tflm-memopt, F exact", ours(name, read(nets)[name])),
        figures.Series("msf-CNN, Table 1", published(name)),
    ]
    ram = "RAM, msf-CNN's convention: input and final output not counted"
    drawing = figures.plot(lines, title=name.removesuffix("_chain"), ram=ram)
    path.write_text(svg.document(drawing), encoding="utf-8")


if __name__ == "__main__":
    plot(Path(sys.argv[1]), Path(sys.argv[2]))
