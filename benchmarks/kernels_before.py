"""Compare the instructions of the library with those of its last version with handwritten kernels only.

    python benchmarks/kernels_before.py --models DIR [--only STEM ...] [--before COMMIT] [--update FILE.md]
    python benchmarks/kernels_before.py --layers [--before COMMIT] [--update FILE.md]

Both run the same programs, those that are made of the models today, with the same inputs, in QEMU: instructions on
Cortex-M4 and M55, and the cycles that cycles.py models of M4, without waiting for flash. --layers: instructions of one
layer each, of programs for any core. The library of another commit, with its runner, comes from git.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import cycles_trace
import tables
from cycles_rules import M4

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import blob, model_cases, outcomes_of
from cores.core import CORES, MEASURED, ROOT, Core, emulate, missing_tools, runner
from models import Net

import tflm_memopt
from tflm_memopt.analysis.timing import NO_WAIT

BY_HAND = "076732d"
"""The last commit without a kernel from a description."""
TITLES = ("model", "M4, instructions", "M4, cycles", "M55, instructions")
ANY_CORE = {"rv32": "RV32", "m33": "M33", "m4": "M4", "m0": "M0"}
"""Cores on which layers are counted."""
LAYERS: Mapping[str, Callable[[Net], int]] = {
    "dense 640 -> 128": lambda net: net.fully_connected(net.input((1, 640)), 128),
    "dense 64 -> 12": lambda net: net.fully_connected(net.input((1, 64)), 12),
    "pointwise 64 -> 64, 5 x 5": lambda net: net.conv2d(net.input((1, 5, 5, 64)), 64),
    "conv 3x3, 16 -> 16, 8 x 8": lambda net: net.conv2d(net.input((1, 8, 8, 16)), 16, kernel=(3, 3)),
    "conv 3x3, 3 -> 8, 16 x 16": lambda net: net.conv2d(net.input((1, 16, 16, 3)), 8, kernel=(3, 3)),
    "conv 3x3, 1 -> 8, 16 x 16": lambda net: net.conv2d(net.input((1, 16, 16, 1)), 8, kernel=(3, 3)),
    "depthwise 3x3, 64, 5 x 5": lambda net: net.depthwise_conv2d(net.input((1, 5, 5, 64))),
    "depthwise 3x3, 6 -> 12, 8 x 8": lambda net: net.depthwise_conv2d(net.input((1, 8, 8, 6)), multiplier=2),
    "max pool 3x3, 64, 8 x 8": lambda net: _pool(net, "MAX_POOL_2D"),
    "average pool 3x3, 64, 8 x 8": lambda net: _pool(net, "AVERAGE_POOL_2D"),
    "add, 4096": lambda net: net.add(net.input((1, 1, 1, 4096)), net.input((1, 1, 1, 4096))),
    "softmax, 64": lambda net: net.softmax(net.input((1, 64))),
    "int16: conv 3x3, 8 -> 8, 6 x 6": lambda net: net.conv2d(net.input((1, 6, 6, 8)), 8, kernel=(3, 3)),
    "int16: depthwise 3x3, 8, 6 x 6": lambda net: net.depthwise_conv2d(net.input((1, 6, 6, 8))),
    "int16: dense 64 -> 16": lambda net: net.fully_connected(net.input((1, 64)), 16),
}


def _pool(net: Net, kind: str) -> int:
    return net.pool(net.input((1, 8, 8, 64)), kind=kind, kernel=(3, 3), stride=(1, 1), padding="SAME")


def tree_of(commit: str, folder: Path) -> Path:
    """The library of a commit with its runner, unpacked."""
    command = ["git", "-C", str(ROOT), "archive", commit, "custom_ops", "tests/cores"]
    packed = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def blobs(model: bytes, tree: Path) -> Iterator[bytes]:
    """Write a converted model's regions, one by one, in the form of a tree's runner."""
    known = re.search(r"^CASE_WORDS, IO_WORDS = (\d+),", (tree / "tests/cores/cases.py").read_text(), re.MULTILINE)
    for case in model_cases(model):
        yield blob([case], words=int(known[1]) if known else 0)


def spent(path: Path, core: Core, tree: Path) -> list[int]:
    """Return instructions, on M4 also cycles, of a model's regions with a tree's library.

    Raises RuntimeError if a byte is wrong.
    """
    result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=core.target)
    image, total = runner(core, tree), cycles_trace.Cycles(stalls=(cycles_trace.Stalls(),))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "cases.bin"
        for case in blobs(result.model, tree):
            data.write_bytes(case)
            said, runs = cycles_trace.trace(core, image, M4, [NO_WAIT], data)
            if not all(outcome.right for outcome in outcomes_of(said)):
                raise RuntimeError(f"{path.name} on {core.name}, {tree}: wrong bytes")
            total += runs[-1].whole
    return [total.instructions, *([total.total()] if core.name == "m4" else [])]


def rows(models: Sequence[Path], before: Path) -> Iterator[list[str]]:
    """Return for each model the instructions today, those before, and their quotient."""
    for path in models:
        cells = [path.stem]
        for core in (CORES["m4"], CORES["m55"]):
            pairs = zip(spent(path, core, ROOT), spent(path, core, before), strict=True)
            cells += [f"{now:,} / {then:,} = {now / then:.3f}" for now, then in pairs]
        yield cells


def layer_rows(before: Path) -> Iterator[list[str]]:
    """Return for each layer the ratio of instructions today and before, on each core."""
    for layer, of in LAYERS.items():
        net = Net(1, activations="INT16" if layer.startswith("int16") else "INT8")
        model = tflm_memopt.optimize(net.model(of(net))).model
        yield [layer, *(f"{_counted(model, MEASURED[name], before):.2f}" for name in ANY_CORE)]


def _counted(model: bytes, core: Core, before: Path) -> float:
    spent_by = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "cases.bin"
        for tree in (ROOT, before):
            (case,) = blobs(model, tree)
            data.write_bytes(case)
            (outcome,) = outcomes_of(emulate(core, runner(core, tree), data))
            if not outcome.right:
                raise RuntimeError(f"{core.name}, {tree}: {outcome}")
            spent_by.append(outcome.instructions)
    return spent_by[0] / spent_by[1]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--models", type=Path, metavar="DIR", help="where the .tflite files are")
    what.add_argument("--layers", action="store_true", help="one layer each, for any core")
    parser.add_argument("--only", nargs="+", metavar="STEM", help="these models of the folder only")
    parser.add_argument("--before", metavar="COMMIT", default=BY_HAND, help="whose library is compared")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the table in this document")
    args = parser.parse_args(arguments)
    cores = [MEASURED[name] for name in ANY_CORE] if args.layers else [CORES["m55"]]
    if reason := next(filter(None, map(missing_tools, cores)), ""):
        parser.error(reason)
    name, titles = ("kernels-layers", ("layer", *ANY_CORE.values())) if args.layers else ("kernels-before", TITLES)
    if args.update:
        tables.require(args.update, name)
    with tempfile.TemporaryDirectory() as folder:
        before = tree_of(args.before, Path(folder))
        paths = [] if args.layers else sorted(args.models.glob("*.tflite"))
        wanted = [path for path in paths if not args.only or path.stem in args.only]
        table = tables.markdown(titles, layer_rows(before) if args.layers else rows(wanted, before))
    print(table)
    if args.update:
        tables.update(args.update, name, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
