"""Instructions of whole models on RISC-V with vectors (TMO_RVV), against the library's own C, counted in QEMU.

    python benchmarks/vectors.py MODELS [--update docs/kernel-language.md]

The same programs, converted as for any core; RV32IMAC without and with vectors of each length. Every byte is compared.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tables import markdown, update

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import model_cases, run
from cores.core import CORES, vectors

import tflm_memopt

VLENS = (128, 256, 512)
MODELS = ("kws_dscnn", "ic_resnet8", "vww_96", "ad_autoencoder")
"""Parts of the names of MLPerf Tiny's models."""


def counted(model: bytes) -> list[int]:
    """Instructions without vectors, and with those of each length. Raises RuntimeError where a byte differs."""
    cases = model_cases(model)
    cores = [CORES["rv32"], *(replace(CORES["rv32v"], options=vectors(vlen)) for vlen in VLENS)]
    outcomes = [run(core, cases) for core in cores]
    if not all(one.right for each in outcomes for one in each):
        raise RuntimeError("bytes differ")
    return [sum(one.instructions for one in each) for each in outcomes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="MODELS")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the table in this file")
    arguments = parser.parse_args()
    rows = []
    for part in MODELS:
        (path,) = arguments.folder.glob(f"*{part}*.tflite")
        spent = counted(tflm_memopt.optimize(path.read_bytes()).model)
        rows.append([path.stem, *(f"{n:,}" for n in spent), f"{spent[1] / spent[0]:.3f}"])
    table = markdown(["model", "scalar", *(f"VLEN {vlen}" for vlen in VLENS), "of scalar, 128"], rows)
    print(table)
    if arguments.update:
        update(arguments.update, "vectors", table)


if __name__ == "__main__":
    main()
