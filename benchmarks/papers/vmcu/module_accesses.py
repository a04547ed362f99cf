"""Bytes of vMCU's modules, from the accesses of the inverted bottleneck's description.

    python benchmarks/papers/vmcu/module_accesses.py [--update docs/kernel-language.md]

Bytes are those of input, output and workspace, as in vMCU.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from papers.vmcu.access import accesses, footprint, segments
from papers.vmcu.inverted_bottleneck import bottleneck_without_add, inverted_bottleneck
from tables import markdown, page_parser, publish

WINDOW = {
    "kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_top": 1, "pad_left": 1, "dilation_h": 1,
    "dilation_w": 1,
}  # fmt: skip
MODULES = {
    "S1": (20, 16, 48, 16, 16), "S3": (10, 24, 144, 16, 8), "S4": (10, 24, 120, 24, 24), "B14": (11, 48, 240, 48, 48),
}  # fmt: skip
"""Layers of vMCU's Table 2, with a 3x3 window of stride 1: size, channels in, between, out, segment bytes."""


def bottleneck(size: int, c_in: int, c_mid: int, c_out: int, segment: int) -> int:
    """Return the bytes of input, output and workspace together, from the description's accesses."""
    module = inverted_bottleneck if c_in == c_out else bottleneck_without_add
    whole = {**WINDOW, "height": size, "width": size, "out_h": size, "out_w": size}
    whole |= {"c_in": c_in, "c_mid": c_mid, "c_out": c_out}
    values = {**whole, "c_in": c_in // segment, "c_mid": 1, "c_out": c_out // segment}
    trace = list(accesses(module, values))
    workspace = sum(module.tensor(name).elements.at(whole) for name in "bcd")
    return footprint(trace, "a", "e", segments(module, values)) * segment + workspace


def table() -> str:
    return markdown(["module", *MODULES], [["bytes", *(f"{bottleneck(*sizes):,}" for sizes in MODULES.values())]])


def main() -> None:
    parser = page_parser(__doc__)
    arguments = parser.parse_args()
    publish(arguments.update, "kernels-vmcu", table())


if __name__ == "__main__":
    main()
