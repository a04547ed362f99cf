"""Measure the benefit of each technique of the search: bytes of msf-CNN's networks without it, and with it alone.

    python benchmarks/papers/msf_cnn/ablation.py --nets DIR [--max-macs 1.1] [--json] [--update FILE.md]

Bytes in msf-CNN's convention (nets.py), F exact.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from papers.msf_cnn.nets import Layers, chain, read, settings
from papers.msf_cnn.tiled_front import tiled_front
from rich.console import Console
from rich.progress import track
from tables import markdown, require, update

from tflm_memopt.convert.frontier import FULL_WIDTH
from tflm_memopt.plan.search.tiles_plan import Settings

OFF: Mapping[str, Mapping[str, Any]] = {
    "stripes": {"stripe_rows": (1,), "whole_map": 0},
    "windows": {"tile": FULL_WIDTH},
    "cache": {"cache": False},
    "recompute": {"recompute": False, "max_overhead": 1.0},
    "groups": {"group_channels": 0},
    "overlap": {"overlap": False},
}
"""Settings that switch off each technique."""
ADDED = ("overlap", "cache", "windows", "stripes", "groups")
"""Techniques from msf-CNN's space (tiles of one output element, recompute) to ours, added one by one."""


def variants() -> dict[str, Mapping[str, Any]]:
    """Name -> settings: everything; everything but one; and step by step from one to all."""
    steps: dict[str, Mapping[str, Any]] = {}
    for count in range(len(ADDED) + 1):
        name = f"+ {ADDED[count - 1]}" if count else "recompute alone"
        steps[name] = {key: value for off in ADDED[count:] for key, value in OFF[off].items()}
    return {"everything": {}, **{f"without {name}": off for name, off in OFF.items()}, **steps}


def least(layers: Layers, chosen: Settings, overhead: float) -> int | None:
    """Return the bytes within a compute budget, or None if no plan computes so little."""
    net = chain(layers)
    macs = sum(op.macs for op in net.ops)
    return next((point.nbytes for point in tiled_front(net, chosen) if point.macs <= overhead * macs), None)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", type=Path, required=True, metavar="DIR", help="the folder of layer lists")
    parser.add_argument("--max-macs", type=float, default=1.1, metavar="F", help="compute budget (default: 1.1)")
    parser.add_argument("--json", action="store_true", help="{variant: {file stem: bytes}} instead of the table")
    parser.add_argument("--update", type=Path, metavar="FILE.md", help="write the table between its marks in a page")
    args = parser.parse_args(arguments)
    nets = {name: layers for name, layers in read(args.nets).items() if name.endswith("_chain")}
    if not nets:
        parser.error(f"no *_chain.json files in {args.nets}")
    if args.update:
        require(args.update, "ablation")
    console = Console(stderr=True)
    result: dict[str, dict[str, int | None]] = {}
    for name, off in track(variants().items(), "searching", console=console, disable=not console.is_terminal):
        result[name] = {}
        for net, layers in nets.items():
            base = replace(settings(net), max_overhead=args.max_macs)
            result[name][net] = least(layers, replace(base, **off), args.max_macs)
    titles = [f"bytes at F ≤ {args.max_macs:g}", *nets]
    cells = ([name, *("-" if n is None else f"{n:,}" for n in row.values())] for name, row in result.items())
    table = markdown(titles, cells)
    print(json.dumps(result, indent=2) if args.json else table)
    if args.update:
        update(args.update, "ablation", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
