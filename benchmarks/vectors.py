"""Instructions of whole models on RISC-V with vectors (TMO_RVV), against the library's own C on the same core without.

    python benchmarks/vectors.py MODELS [--update docs/kernel-language.md]

RV32IMAC runs a model converted for any core. With vectors of each length run the same program, and one that is packed
for them; in QEMU, of 64 bits in Spike. Every byte is compared.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tables import markdown, update

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import Case, model_cases, run
from cores.core import CORES, Core, in_spike, vectors

import tflm_memopt

PACKED = "rv32-v"
SHORT, VLENS = 64, (128, 256, 512)
MODELS = ("kws_dscnn", "ic_resnet8", "vww_96", "ad_autoencoder")
"""Parts of the names of MLPerf Tiny's models."""


def counted(core: Core, cases: Sequence[Case]) -> int:
    """Return the instructions. Raises RuntimeError where a byte differs."""
    outcomes = run(core, cases)
    if not all(one.right for one in outcomes):
        raise RuntimeError(f"{core.name}: bytes differ")
    return sum(one.instructions for one in outcomes)


def row(path: Path) -> list[str]:
    """The figures of a model in the table."""
    plain, packed = (tflm_memopt.optimize(path.read_bytes(), target=target) for target in ("generic", PACKED))
    cases, core = model_cases(packed.model), CORES["rv32v"]
    scalar, as_it_is = (counted(one, model_cases(plain.model)) for one in (CORES["rv32"], core))
    with_vectors = [in_spike(core, SHORT), *(replace(core, options=vectors(vlen)) for vlen in VLENS)]
    spent = [counted(one, cases) for one in with_vectors]
    shares = as_it_is / scalar, spent[1] / scalar
    arenas = [one.report.arena.total for one in (plain, packed)]
    instructions = [f"{n:,}" for n in (scalar, as_it_is, *spent)]
    return [path.stem, *instructions, *(f"{share:.3f}" for share in shares), *(f"{n:,}" for n in arenas)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="MODELS")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the table in this file")
    arguments = parser.parse_args()
    rows = []
    for part in MODELS:
        (path,) = arguments.folder.glob(f"*{part}*.tflite")
        rows.append(row(path))
    lengths = (f"packed, VLEN {vlen}" for vlen in (SHORT, *VLENS))
    shares = ("generic of scalar", "packed of scalar")
    titles = ["model", "scalar", "generic, VLEN 128", *lengths, *shares, "arena, generic", "arena, packed"]
    table = markdown(titles, rows)
    print(table)
    if arguments.update:
        update(arguments.update, "vectors", table)


if __name__ == "__main__":
    main()
