"""What the library spends on programs, against what it spent when all of its kernels were written by hand.

    python benchmarks/kernels_before.py --models DIR [--only STEM ...] [--before COMMIT] [--update FILE.md]

Both run the same programs, those that are made of the models today, with the same inputs, in QEMU: instructions on
Cortex-M4 and M55, and the cycles that cycles.py models of M4, without waiting for flash. The library of another
commit, with its runner, comes from git.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cycles_trace
import tables
from cycles_rules import M4

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import blob, model_cases, outcomes_of
from cores.core import CORES, ROOT, Core, missing_tools, runner

import tflm_memopt
from tflm_memopt.analysis.timing import NO_WAIT

BY_HAND = "076732d"
"""The last commit without a kernel from a description."""
TITLES = ("model", "M4, instructions", "M4, cycles", "M55, instructions")


def tree_of(commit: str, folder: Path) -> Path:
    """The library of a commit, and what runs it, unpacked."""
    command = ["git", "-C", str(ROOT), "archive", commit, "custom_ops", "tests/cores"]
    packed = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def spent(path: Path, core: Core, tree: Path) -> list[int]:
    """Instructions of a model's regions on a tree's library, on M4 cycles as well. RuntimeError if a byte is wrong."""
    known = re.search(r"^CASE_WORDS, IO_WORDS = (\d+),", (tree / "tests/cores/cases.py").read_text(), re.MULTILINE)
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=core.target)
    image, total = runner(core, tree), cycles_trace.Cycles(stalls=(cycles_trace.Stalls(),))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "cases.bin"
        for case in model_cases(result.model):
            data.write_bytes(blob([case], words=int(known[1]) if known else 0))
            said, runs = cycles_trace.trace(core, image, M4, [NO_WAIT], data)
            if not all(outcome.right for outcome in outcomes_of(said)):
                raise RuntimeError(f"{path.name} on {core.name}, {tree}: wrong bytes")
            total += runs[-1].whole
    return [total.instructions, *([total.total()] if core.name == "m4" else [])]


def rows(models: Sequence[Path], before: Path) -> Iterator[list[str]]:
    """Of each model: today's, those of before, their quotient."""
    for path in models:
        cells = [path.stem]
        for core in (CORES["m4"], CORES["m55"]):
            pairs = zip(spent(path, core, ROOT), spent(path, core, before), strict=True)
            cells += [f"{now:,} / {then:,} = {now / then:.3f}" for now, then in pairs]
        yield cells


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, metavar="DIR", required=True, help="where the .tflite files are")
    parser.add_argument("--only", nargs="+", metavar="STEM", help="these models of the folder only")
    parser.add_argument("--before", metavar="COMMIT", default=BY_HAND, help="whose library is compared")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the table in this document")
    args = parser.parse_args(arguments)
    if reason := missing_tools(CORES["m55"]):
        parser.error(reason)
    if args.update:
        tables.require(args.update, "kernels-before")
    paths = [path for path in sorted(args.models.glob("*.tflite")) if not args.only or path.stem in args.only]
    with tempfile.TemporaryDirectory() as folder:
        table = tables.markdown(TITLES, rows(paths, tree_of(args.before, Path(folder))))
    print(table)
    if args.update:
        tables.update(args.update, "kernels-before", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
