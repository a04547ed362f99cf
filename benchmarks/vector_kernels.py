"""Instructions of kernels that are written from descriptions: RISC-V without and with vectors, counted in QEMU.

    python benchmarks/vector_kernels.py [--json] [--update docs/kernel-language.md]

Each layer is run as C for any core on RV32IMAC, and vectorised on RV32 with Zve32x at each length of vectors; every
byte is compared with the NumPy reading first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tables import markdown, update

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.generated import Call, run
from kernels_cases import SCHEDULES, draw, laid_out, vectorised
from papers.vmcu.bottleneck import bottleneck_without_add, inverted_bottleneck

from tflm_memopt.kernels import meaning
from tflm_memopt.kernels.access import accesses, footprint, segments
from tflm_memopt.kernels.instructions import REF, RVV

VLENS = (128, 256, 512)
SAME = {"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_top": 1, "pad_left": 1}
ONE = {"kernel_h": 1, "kernel_w": 1, "stride_h": 1, "stride_w": 1, "pad_top": 0, "pad_left": 0}
LAYERS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "dense 640 -> 128": ("dense", {"rows": 1, "depth": 640, "units": 128}),
    "dense 64 -> 12": ("dense", {"rows": 1, "depth": 64, "units": 12}),
    "pointwise 64 -> 64, 5 x 5": ("conv", {**ONE, "height": 5, "width": 5, "channels": 64, "filters": 64}),
    "conv 3x3, 16 -> 16, 8 x 8": ("conv", {**SAME, "height": 8, "width": 8, "channels": 16, "filters": 16}),
    "conv 3x3, 3 -> 8, 16 x 16": ("conv", {**SAME, "height": 16, "width": 16, "channels": 3, "filters": 8}),
    "depthwise 3x3, 64, 5 x 5": ("depthwise", {**SAME, "height": 5, "width": 5, "channels": 64}),
    "max pool 3x3, 64, 8 x 8": ("max_pool", {**SAME, "height": 8, "width": 8, "channels": 64}),
    "add, 4096": ("add", {"n": 4096}),
}


def counted() -> dict[str, dict[str, int]]:
    """Return the instructions of each variant for each layer. Raises RuntimeError where a byte differs."""
    found: dict[str, dict[str, int]] = {layer: {} for layer in LAYERS}
    for layer, (name, extents) in LAYERS.items():
        description, wide = SCHEDULES[name][0], vectorised(name)
        values, arrays = draw(name, 1, **extents)
        expected = meaning.run(wide, values, laid_out(wide, values, arrays), lanes=4096)
        plain = Call(description, values, arrays, expected)
        vector = Call(wide, values, laid_out(wide, values, arrays), expected)
        ran = {"scalar": run([plain], REF)[0], **{str(vlen): run([vector], RVV, vlen)[0] for vlen in VLENS}}
        if any(one.wrong for one in ran.values()):
            raise RuntimeError(f"{layer}: bytes differ")
        found[layer] = {reading: one.instructions for reading, one in ran.items()}
    return found


MODULES = {
    "S1": (20, 16, 48, 16, 16), "S3": (10, 24, 144, 16, 8), "S4": (10, 24, 120, 24, 24), "B14": (11, 48, 240, 48, 48),
}  # fmt: skip
"""Layers of vMCU's Table 2, with a 3x3 window of stride 1: height and width, channels in, between, out,
segment bytes.
"""


def bottleneck(size: int, c_in: int, c_mid: int, c_out: int, segment: int) -> int:
    """Return the bytes of input, output and workspace together, from the description's accesses."""
    module = inverted_bottleneck if c_in == c_out else bottleneck_without_add
    whole = {**SAME, "dilation_h": 1, "dilation_w": 1, "height": size, "width": size, "out_h": size, "out_w": size}
    whole |= {"c_in": c_in, "c_mid": c_mid, "c_out": c_out}
    values = {**whole, "c_in": c_in // segment, "c_mid": 1, "c_out": c_out // segment}
    trace = list(accesses(module, values))
    workspace = sum(module.tensor(name).elements.at(whole) for name in "bcd")
    return footprint(trace, "a", "e", segments(module, values)) * segment + workspace


def modules() -> str:
    """Their bytes, for the page."""
    return markdown(["module", *MODULES], [["bytes", *(f"{bottleneck(*sizes):,}" for sizes in MODULES.values())]])


def table(found: Mapping[str, Mapping[str, int]]) -> str:
    """For the page."""
    titles = ["layer", "scalar", *(f"VLEN {vlen}" for vlen in VLENS), "of scalar, 128"]
    rows = [
        [layer, *(f"{n:,}" for n in spent.values()), f"{spent[str(VLENS[0])] / spent['scalar']:.3f}"]
        for layer, spent in found.items()
    ]
    return markdown(titles, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--update", type=Path)
    arguments = parser.parse_args()
    found = counted()
    if arguments.update:
        update(arguments.update, "kernels-rvv", table(found))
        update(arguments.update, "kernels-vmcu", modules())
    print(json.dumps(found) if arguments.json else f"{table(found)}\n\n{modules()}")


if __name__ == "__main__":
    main()
