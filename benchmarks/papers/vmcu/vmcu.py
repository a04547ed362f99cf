"""vMCU's evaluation, planned here: single layers, inverted bottlenecks, and how much larger they may grow.

    python benchmarks/papers/vmcu/vmcu.py [--json] [--update docs/benchmarks.md]

Bytes are in vMCU's convention: input, output and workspace of one layer or module, without loop counters; kB = 1000.
"Formula" is the paper's closed form (section 4), "paper" a figure that its text gives. Bottlenecks have the least bytes
without recomputation, and with as much as in vMCU, whose kernel recomputes each pixel of the depthwise layer's window
(section 5.2).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tables import markdown, update

from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import UNIT, RowOp, Rows, Window
from tflm_memopt.plan.iteration.liveness import constraints, live_ranges, most_alive
from tflm_memopt.plan.layout import offsets as layout
from tflm_memopt.plan.plan import Role
from tflm_memopt.plan.search import groups
from tflm_memopt.plan.search.groups import Candidate, Chain
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE, Settings

UNLIMITED = 1 << 40
SECONDS = 1.0
"""Limit of a layout's search."""
SETTINGS = (Settings(), NO_RECOMPUTE)
FIGURE_1C = (2, 3, 2)
"""M, K, N in segments: rows, input and output segments of a row."""
NAMED_CASE = (80, 16, 16)
"""Height and width, C, K of the layer that section 7.2 names. The other layers are only in its figure."""
PUBLISHED_KB = {"B1": 102.7}
"""Section 7.3: the bottleneck of MCUNet-320KB-ImageNet."""


@dataclass(frozen=True, slots=True)
class Module:
    """A row of vMCU's Table 2: expand, depthwise, project, and an add where input and output have one shape."""

    name: str
    size: int
    c_in: int
    c_mid: int
    c_out: int
    kernel: int
    strides: tuple[int, int, int]

    @property
    def residual(self) -> bool:
        return self.strides == (1, 1, 1) and self.c_in == self.c_out

    @property
    def stem(self) -> bool:
        """The network's first layer has stride 2: no expansion, but its 3x3 convolution."""
        return self.strides[0] > 1


TABLE_2 = tuple(
    Module(name, *sizes, strides)
    for name, *sizes, strides in (
        ("S1", 20, 16, 48, 16, 3, (1, 1, 1)), ("S2", 20, 16, 48, 16, 3, (1, 1, 1)),
        ("S3", 10, 24, 144, 16, 3, (1, 1, 1)), ("S4", 10, 24, 120, 24, 3, (1, 1, 1)),
        ("S5", 5, 40, 240, 40, 3, (1, 1, 1)), ("S6", 5, 48, 192, 48, 3, (1, 1, 1)),
        ("S7", 3, 96, 480, 96, 3, (1, 1, 1)), ("S8", 3, 96, 384, 96, 3, (1, 1, 1)),
        ("B1", 176, 3, 16, 8, 3, (2, 1, 1)), ("B2", 88, 8, 24, 16, 7, (1, 2, 1)),
        ("B3", 44, 16, 80, 16, 3, (1, 1, 1)), ("B4", 44, 16, 80, 16, 7, (1, 1, 1)),
        ("B5", 44, 16, 64, 24, 5, (1, 1, 1)), ("B6", 44, 16, 80, 24, 5, (1, 2, 1)),
        ("B7", 22, 24, 120, 24, 5, (1, 1, 1)), ("B8", 22, 24, 120, 24, 5, (1, 1, 1)),
        ("B9", 22, 24, 120, 40, 3, (1, 2, 1)), ("B10", 11, 40, 240, 40, 7, (1, 1, 1)),
        ("B11", 11, 40, 160, 40, 5, (1, 1, 1)), ("B12", 11, 40, 200, 48, 7, (1, 2, 1)),
        ("B13", 11, 48, 240, 48, 7, (1, 1, 1)), ("B14", 11, 48, 240, 48, 3, (1, 1, 1)),
        ("B15", 11, 48, 288, 96, 3, (1, 2, 1)), ("B16", 6, 96, 480, 96, 7, (1, 1, 1)),
        ("B17", 6, 96, 384, 96, 3, (1, 1, 1)),
    )
)  # fmt: skip


# ---- what this planner makes of a module ----


def chain(layers: Sequence[tuple[Kind, int, int, int, tuple[int, ...]]], size: tuple[int, int], c_in: int) -> Chain:
    """Layers (kind, channels, kernel, stride, more inputs) on a map of this size; tensor i is what layer i reads."""
    ops, rows = [], Rows(*size, c_in)
    for i, (kind, channels, kernel, stride, more) in enumerate(layers):
        out = Rows(-(-rows.h // stride), -(-rows.w // stride), channels)
        pads = [max(0, (o - 1) * stride + kernel - n) // 2 for o, n in ((out.h, rows.h), (out.w, rows.w))]
        window = UNIT if kind is Kind.ADD else Window(kernel, kernel, stride, stride, 1, 1, *pads)
        taps = {Kind.CONV: kernel * kernel * rows.c, Kind.DEPTHWISE: kernel * kernel}.get(kind, 0)
        inputs = (i, *more)
        ops.append(
            RowOp(
                kind=kind, name=kind.name, sources=(i,), inputs=inputs, output=i + 1, reads=(rows,) * len(inputs),
                writes=out, input_zero_points=(0,) * len(inputs), output_zero_point=0, window=window,
                macs=out.nbytes * taps,
            )
        )  # fmt: skip
        rows = out
    return Chain(tuple(range(len(ops))), tuple(ops), frozenset({len(ops)}), 0)


def bottleneck(m: Module) -> Chain:
    first, middle, last = m.strides
    layers: list[tuple[Kind, int, int, int, tuple[int, ...]]] = [
        (Kind.CONV, m.c_mid, m.kernel if m.stem else 1, first, ()),
        (Kind.DEPTHWISE, m.c_mid, m.kernel, middle, ()),
        (Kind.CONV, m.c_out, 1, last, ()),
    ]
    if m.residual:
        layers.append((Kind.ADD, m.c_out, 1, 1, (0,)))
    return chain(layers, (m.size, m.size), m.c_in)


def least(net: Chain, settings: Settings) -> tuple[int, float]:
    """Bytes of the best single group of all layers, its buffers placed one by one; and its F."""
    last, macs = len(net.ops), sum(op.macs for op in net.ops)
    found = [*groups.candidates(net, last, UNLIMITED), *tiled_candidates(net, settings, UNLIMITED)[last]]
    whole = sorted((c for c in found if c.first == 0), key=lambda c: c.nbytes)
    best = UNLIMITED, 0.0
    for candidate in whole:
        if candidate.nbytes - 8 * last >= best[0]:  # counters are left out
            break
        best = min(best, (placed(net, candidate), candidate.macs / macs))
    return best


def placed(net: Chain, group: Candidate) -> int:
    """Bytes of a group's layout, from the constraints of its buffers; without loop counters, and unaligned."""
    border = groups.border(net, group.first, group.last)
    ranges = live_ranges(*groups.rebuild(net, group), border, net.sizes)
    ranges = tuple(r for r in ranges if r.buffer.role is not Role.COUNTERS)
    align = tuple(4 if r.buffer.role is Role.ACCUMULATOR else 1 for r in ranges)
    problem = layout.LayoutProblem(
        tuple(r.buffer.nbytes for r in ranges), align, constraints(ranges), most_alive(ranges)
    )
    return layout.place(problem, seconds=SECONDS).top


# ---- single layers ----


def formula(rows: int, k: int, n: int) -> int:
    """vMCU, section 4: segments of In[M, K] and Out[M, N] together."""
    return max(rows * n, rows * k) + min(n, k) - 1


@dataclass(frozen=True, slots=True)
class Layer:
    """A pointwise or dense layer."""

    name: str
    separate: int
    formula: int
    """Bytes by vMCU's formula with segments of one byte, its best case."""
    ours: int
    saved: float


def layer(name: str, size: tuple[int, int], c: int, k: int) -> Layer:
    net = chain([(Kind.CONV, k, 1, 1, ())], size, c)
    pixels = size[0] * size[1]
    ours, separate = least(net, NO_RECOMPUTE)[0], pixels * (c + k)
    return Layer(name, separate, formula(pixels, c, k), ours, 1 - ours / separate)


def layers() -> list[Layer]:
    """The named case, and all pointwise layers of Table 2; then two dense ones."""
    cases = dict.fromkeys([NAMED_CASE, *(case for m in TABLE_2 for case in _pointwise(m))])
    found = [layer(f"{size}x{size}, {c} to {k}", (size, size), c, k) for size, c, k in cases]
    return [*found, layer("dense, 640 to 128", (1, 1), 640, 128), layer("dense, 8 to 128", (1, 1), 8, 128)]


def _pointwise(m: Module) -> list[tuple[int, int, int]]:
    expanded = -(-m.size // m.strides[0])
    inner = -(-expanded // m.strides[1])
    return [*([] if m.stem else [(m.size, m.c_in, m.c_mid)]), (inner, m.c_mid, m.c_out)]


def figure_1c() -> dict[str, int]:
    """The motivational example: 2 rows of 3 segments make 2 rows of 2; a segment is a byte."""
    m, k, n = FIGURE_1C
    found = layer("Figure 1c", (m, 1), k, n)
    return {"separate": found.separate, "formula": found.formula, "ours": found.ours}


# ---- bottlenecks ----


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """Bytes of one module."""

    name: str
    tinyengine: int
    """Tensors whole, depthwise in place: input + expanded tensor, and the output where the input must wait."""
    vmcu: int
    """Input and output overlapped pixel by pixel (Equation 2), and 11 segments (section 5.2)."""
    paper: float | None
    """kB that the text states."""
    once: int
    """Our bytes without recompute."""
    again: int
    """Our bytes with recompute."""
    overhead: float
    """F with recompute."""


def tinyengine(m: Module) -> int:
    """The value for B2 is the 247.8 kB that section 7.3 states for the network."""
    before, expanded, after = _sizes(m)
    return max(before + expanded, expanded + after) + (after if m.residual else 0)


def vmcu(m: Module) -> int:
    """Its kernel makes one output pixel at a time from a window of the input; its workspace: k x k + 1 pixels of the
    expanded tensor, 1 of the output.
    """
    first, middle, last = m.strides
    out = -(-m.size // (first * middle * last))
    stride, pad = first * middle * last, (m.kernel - 1) // 2 * (first + 1 if m.stem else first)
    distance = 0
    for y in range(out):
        top = max(0, y * stride - pad) * m.size
        for x in range(out):
            dead = top + max(0, x * stride - pad)
            distance = max(distance, (y * out + x + 1) * m.c_out - dead * m.c_in)
    before, _, after = _sizes(m)
    workspace = (m.kernel * m.kernel + 1) * m.c_mid + m.c_out
    return max(after, distance + before) + workspace


def _sizes(m: Module) -> tuple[int, int, int]:
    expanded = -(-m.size // m.strides[0])
    out = -(-expanded // (m.strides[1] * m.strides[2]))
    return m.size**2 * m.c_in, expanded**2 * m.c_mid, out**2 * m.c_out


def bottlenecks() -> list[Bottleneck]:
    found = []
    for m in TABLE_2:
        net = bottleneck(m)
        again, overhead = least(net, Settings())
        once = least(net, NO_RECOMPUTE)[0]
        if once <= again:
            again, overhead = once, 1.0
        found.append(Bottleneck(m.name, tinyengine(m), vmcu(m), PUBLISHED_KB.get(m.name), once, again, overhead))
    return found


# ---- section 7.4 ----


@dataclass(frozen=True, slots=True)
class Headroom:
    """Compute how many times larger a module of MCUNet-5fps-VWW can be in the RAM that TinyEngine needs."""

    name: str
    image: float
    """Height and width; with recompute, as vMCU."""
    channels: float
    """Input and output, the same."""
    image_once: float
    """Without recompute."""
    channels_once: float


def headroom() -> list[Headroom]:
    return [
        Headroom(m.name, *(_growth(m, settings, what) for settings in SETTINGS for what in ("size", "channels")))
        for m in TABLE_2[:8]
    ]


def _growth(m: Module, settings: Settings, what: str) -> float:
    start, ram = (m.size if what == "size" else m.c_in), tinyengine(m)

    def fits(n: int) -> bool:
        larger = _scaled(m, size=n) if what == "size" else _scaled(m, times=n / start)
        return least(bottleneck(larger), settings)[0] <= ram

    return _largest(start, fits) / start


def _scaled(m: Module, *, size: int = 0, times: float = 1.0) -> Module:
    return Module(m.name, size or m.size, round(m.c_in * times), m.c_mid, round(m.c_out * times), m.kernel, m.strides)


def _largest(start: int, fits: Callable[[int], bool]) -> int:
    """The largest number for which it holds; `start` is the smallest tried, and larger numbers never fit better."""
    low, high = start, 2 * start
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


# ---- the tables ----


def everything() -> dict[str, Any]:
    return {
        "figure_1c": figure_1c(),
        "layers": [asdict(x) for x in layers()],
        "bottlenecks": [asdict(x) for x in bottlenecks()],
        "headroom": [asdict(x) for x in headroom()],
    }


def tables(found: Mapping[str, Any]) -> dict[str, str]:
    """Tables by name."""
    modules = ["module", "TinyEngine", "vMCU by formula", "vMCU, published", "ours, F = 1", "ours", "at F"]
    return {
        "vmcu-bottlenecks": markdown(
            modules,
            (
                [
                    x["name"], f"{x['tinyengine']:,}", f"{x['vmcu']:,}", f"{x['paper']} kB" if x["paper"] else "",
                    f"{x['once']:,}", f"{x['again']:,}", f"{x['overhead']:.2f}",
                ]
                for x in found["bottlenecks"]
            ),
        ),
        "vmcu-headroom": markdown(
            ["module", *(f"{what}{how}" for how in ("", ", F = 1") for what in ("height and width", "channels"))],
            (
                [x["name"], *(f"{x[key]:.2f} x" for key in ("image", "channels", "image_once", "channels_once"))]
                for x in found["headroom"]
            ),
        ),
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output instead of the tables")
    parser.add_argument("--update", type=Path, metavar="FILE.md", help="write the tables between their marks in a page")
    args = parser.parse_args(arguments)
    found = everything()
    print(json.dumps(found, indent=2) if args.json else "\n\n".join(tables(found).values()))
    for name, table in tables(found).items() if args.update else ():
        update(args.update, name, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
