"""Compare msf-CNN's formulas and its Table 1 with tflm-memopt's plans, whose bytes are counted as in msf-CNN.

    python benchmarks/papers/msf_cnn/frontier.py DIR docs/frontier.svg    draw MobileNetV2-0.35

DIR is the folder with the layer lists of the networks. The formulas are Equations 5 to 15 and section 6.3 of msf-CNN
(Huang and Baccelli). A fusion group needs input + output + sum(t k c_in) bytes of RAM, with t rows of a tile, kernel
height k and c_in channels. The network's input and output are not counted. 1 kB is 1000 B. The paper's F is too low,
because Equation 12 counts tiles without the padding at a layer's end. By the paper's formulas, the script computes the
bytes of Table 1 within 1.4 %, and F exactly.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))
from papers.msf_cnn.nets import BUDGETS, Layers, chain, read, settings, tiled_front
from tables import markdown

from tflm_memopt.report import figures, svg

Layer = Mapping[str, Any]
P1 = (1.1, 1.2, 1.3, 1.4, 1.5, float("inf"))
"""Limits of F, the ratio of multiply-accumulates to those of the original network."""
P2 = (16, 32, 64, 128, 256)
PUBLISHED: Mapping[str, Mapping[str, tuple[float, float] | None]] = {
    "mbv2-w035_chain": {
        "vanilla": (194.44, 1), "heuristic": (32.076, 1.59), "F <= 1.1": (67.905, 1.1), "F <= 1.3": (21.288, 1.3),
        "F <= 1.4": (15.34, 1.38), "F <= inf": (7.887, 1.68), "16 kB": (15.34, 1.38), "32 kB": (25.674, 1.25),
        "64 kB": (63.741, 1.23), "128 kB": (83.065, 1.02), "256 kB": (181.44, 1),
    },
    "mn2-vww5_chain": {
        "vanilla": (96, 1), "heuristic": (24, 1.56), "F <= 1.1": (32.792, 1.04), "F <= 1.2": (26.128, 1.11),
        "F <= 1.3": (17.76, 1.3), "F <= 1.4": (13.376, 1.35), "F <= inf": (12, 1.96), "16 kB": (13.376, 1.35),
        "32 kB": (26.128, 1.11), "64 kB": (38.576, 1.02), "128 kB": (89.6, 1),
    },
    "mn2-320k_chain": {
        "vanilla": (309.76, 1), "heuristic": (90.307, 3.25), "F <= 1.1": (190.096, 1.04), "F <= 1.2": (186.736, 1.19),
        "F <= 1.3": (186.032, 1.25), "F <= 1.4": (156.672, 1.37), "F <= 1.5": (94.184, 1.45),
        "F <= inf": (42.643, 2.69), "16 kB": None, "64 kB": (62.88, 2.02), "128 kB": (94.184, 1.45),
        "256 kB": (247.808, 1),
    },
}  # fmt: skip
"""Cells of Table 1 of msf-CNN, as kB and F, where None stands for "no solution".

Two cells of the row "Heuristic", which the paper exchanges, are in their right places.
"""

MEASURED: Mapping[str, Mapping[float, float]] = {
    "mbv2-w035": {1.1: 67.996, float("inf"): 8.56},
    "mn2-vww5": {1.1: 45.283, float("inf"): 15.368},
    "mn2-320k": {1.1: 217.891, float("inf"): 51.164},
}
"""For each limit of F, the peak of RAM in kB that msf-CNN's authors measured on boards.

The peaks are `peak_mem_usage` in the files result.json of the repository TinyPART/msf-CNN (commit fd74a7c).
"""


class Cost(NamedTuple):
    nbytes: int
    macs: int


def single(layers: Sequence[Layer], i: int) -> Cost:
    """Return the cost of a layer that is not fused."""
    layer = layers[i]
    (kernel_h, kernel_w), deep = layer["k"], 1 if layer["type"] == "dw" else layer["cin"]
    macs = layer["ho"] * layer["wo"] * layer["cout"] * kernel_h * kernel_w * deep
    return Cost(_ends(layers, i, i + 1), macs)


def group(layers: Sequence[Layer], first: int, last: int) -> Cost | None:
    """Return the cost of a fusion group, or None if an output element needs more rows than the input has."""
    rows, tile_stride, buffers, macs = 1, 1, 0, 0
    for layer in reversed(layers[first:last]):
        k, stride, pad = layer["k"][0], layer["s"][0], layer["p"][0]
        rows, tile_stride = (rows - 1) * stride + k, tile_stride * stride
        if rows > layer["h"]:
            return None
        buffers += rows * k * layer["cin"]  # Equation 11.
        tiles = ((layer["h"] + 2 * pad - rows) // tile_stride + 1) * (
            (layer["w"] + 2 * pad - k) // stride + 1
        )  # Equation 12.
        out = ((rows - k) // stride + 1) * layer["cout"]  # Equation 13.
        macs += tiles * out * k * k * (1 if layer["type"] == "dw" else layer["cin"])  # Equation 14.
    return Cost(_ends(layers, first, last) + buffers, macs)


def _ends(layers: Sequence[Layer], first: int, last: int) -> int:
    """Return the bytes of a group's input and output (I + O of Equation 5)."""
    before, behind = layers[first], layers[last - 1]
    source = before["h"] * before["w"] * before["cin"] if first else 0
    return int(source + (behind["ho"] * behind["wo"] * behind["cout"] if last < len(layers) else 0))


def msf_frontier(layers: Sequence[Layer]) -> list[Cost]:
    """Return the Pareto front of bytes and F in msf-CNN's search space."""
    fronts: list[list[Cost]] = [[Cost(0, 0)]]
    for last in range(1, len(layers) + 1):
        edges = [(first, group(layers, first, last)) for first in range(last - 1)]
        edges.append((last - 1, single(layers, last - 1)))
        fronts.append(_pareto(
            Cost(max(before.nbytes, edge.nbytes), before.macs + edge.macs)
            for first, edge in edges if edge for before in fronts[first]
        ))  # fmt: skip
    return fronts[-1]


def _pareto(costs: Iterable[Cost]) -> list[Cost]:
    kept: list[Cost] = []
    for cost in sorted(costs):
        if not kept or cost.macs < kept[-1].macs:
            kept.append(cost)
    return kept


def table1(layers: Sequence[Layer]) -> dict[str, tuple[int, float] | None]:
    plain = [single(layers, i) for i in range(len(layers))]
    original, front = sum(cost.macs for cost in plain), msf_frontier(layers)
    heads = [(depth, cost) for depth in range(2, len(layers) + 1) if (cost := group(layers, 0, depth))]
    heuristic = min(
        Cost(max(x.nbytes for x in (cost, *plain[depth:])), sum(x.macs for x in (cost, *plain[depth:])))
        for depth, cost in heads
    )
    rows: dict[str, Cost | None] = {
        "vanilla": Cost(max(cost.nbytes for cost in plain), original),
        "heuristic": heuristic,
        **{f"F <= {f:g}": next((cost for cost in front if cost.macs <= f * original), None) for f in P1},
        **{f"{kb} kB": next((cost for cost in reversed(front) if cost.nbytes <= 1000 * kb), None) for kb in P2},
    }
    return {name: (cost.nbytes, cost.macs / original) if cost else None for name, cost in rows.items()}


def ours(name: str, layers: Layers) -> list[tuple[int, float]]:
    net = chain(layers)
    macs = sum(op.macs for op in net.ops)
    return [(point.nbytes, point.macs / macs) for point in tiled_front(net, settings(name))]


def least(points: Sequence[tuple[int, float]], overhead: float) -> str:
    return next((f"{nbytes / 1000:.1f}" for nbytes, f in points if f <= overhead + 1e-9), "-")


def published(name: str) -> list[tuple[int, float]]:
    rows = (v for k, v in PUBLISHED.get(name, {}).items() if v and k not in ("vanilla", "heuristic"))
    return sorted({(round(1000 * kb), f) for kb, f in rows})


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
